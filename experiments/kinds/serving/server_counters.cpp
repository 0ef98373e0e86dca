#include "experiments/kinds/serving/server_counters.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

namespace reprise::server {
namespace {

// The counters of all prompt tokens and of prompt tokens found in the cache, by server.
constexpr std::pair<std::string_view, std::string_view> kNames[] = {
    {"vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total"},
    {"vllm:gpu_prefix_cache_queries_total", "vllm:gpu_prefix_cache_hits_total"},  // before 0.10
    {"dynamo_frontend_input_sequence_tokens_sum", "dynamo_frontend_cached_tokens_sum"},
    {"sglang:prompt_tokens_total", "sglang:cached_tokens_total"},
    {"reprise_prompt_tokens_total", "reprise_cached_prompt_tokens_total"}};

// The value of a line "NAME{labels} VALUE [TIME]"; nullopt if the line is of another counter.
std::optional<double> value_in(std::string_view line, std::string_view name) {
  if (!line.starts_with(name)) return std::nullopt;
  line.remove_prefix(name.size());
  if (line.starts_with('{')) {
    const size_t end = line.rfind('}');  // texts of labels may hold braces
    if (end == std::string_view::npos) return std::nullopt;
    line.remove_prefix(end + 1);
  }
  if (!line.starts_with(' ')) return std::nullopt;
  const std::string number(line);
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  return end != number.c_str() && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<double> sum_of(std::string_view metrics, std::string_view name) {
  std::optional<double> sum;
  while (!metrics.empty()) {
    const size_t end = std::min(metrics.find('\n'), metrics.size());
    if (const auto value = value_in(metrics.substr(0, end), name)) sum = sum.value_or(0) + *value;
    metrics.remove_prefix(std::min(end + 1, metrics.size()));
  }
  return sum;
}

}  // namespace

std::optional<PromptCounters> prompt_counters(std::string_view metrics) {
  for (const auto& [all, cached] : kNames)
    if (const auto prompts = sum_of(metrics, all))
      return PromptCounters{.prompt_tokens = *prompts,
                            .cached_tokens = sum_of(metrics, cached).value_or(0)};
  return std::nullopt;
}

}  // namespace reprise::server
