#include "experiments/bench.h"

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/memory.h"
#include "core/tokenizer/tokenizer.h"
#include "methods/registry.h"
#include "results/hash.h"
#include "workloads/random_tokens.h"

namespace reprise::experiments {

std::string resolve_path(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path in_tree = fs::path(REPRISE_SOURCE_DIR) / path;
  if (!fs::exists(path) && fs::exists(in_tree)) return in_tree.string();
  return path;
}

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

model::ModelConfig Bench::config(const Group& group) {
  return model::load_config(resolve_path(group.model.model));
}

model::Decoder& Bench::decoder(const Group& group) {
  const std::string wanted =
      fmt::format("{} {} {} {}", group.model.model, group.model.random_weights,
                  name_of(group.dtype), group.seeds.weights);
  if (decoder_ == nullptr || loaded_ != wanted) {
    decoder_.reset();
    decoder_ = model::load_decoder(resolve_path(group.model.model),
                                   {.dtype = group.dtype,
                                    .random_weights = group.model.random_weights,
                                    .seed = group.seeds.weights},
                                   context_);
    loaded_ = wanted;
  }
  return *decoder_;
}

std::unique_ptr<engine::Engine> Bench::make_engine(const Group& group, size_t index,
                                                   int64_t max_batch, int64_t tokens) {
  const MethodChoice& method = group.methods[index];
  engine::EngineOptions options;
  options.limits = {.max_batch = static_cast<int32_t>(max_batch),
                    .max_sequence_tokens = static_cast<int32_t>(tokens)};
  options.kv_dtype = group.kv_dtype;
  options.prefill_chunk = static_cast<int32_t>(group.axis("prefill_chunk"));
  options.clock_ns = now_ns;
  return std::make_unique<engine::Engine>(
      context_, decoder(group), methods::make_method(method.name, method.options), options);
}

std::vector<int32_t> Bench::prompt(const Group& group, int64_t request, int64_t tokens) {
  if (group.workload.name == "random_tokens")
    return workloads::random_tokens(group.seeds.prompts, request, tokens,
                                    decoder(group).config().vocab);
  REPRISE_CHECK(group.workload.name == "text_prompts", "workload {}", group.workload.name);
  const std::string wanted = group.model.model + " " + group.workload.file;
  if (texts_ == nullptr || tokenized_ != wanted) {
    const auto tokenizer = load_tokenizer(resolve_path(group.model.model));
    texts_ = std::make_unique<workloads::TextPrompts>(
        workloads::read_prompts(resolve_path(group.workload.file)),
        [&](const std::string& text) { return tokenizer->encode(text); });
    tokenized_ = wanted;
  }
  return texts_->prompt(group.seeds.prompts, request, tokens);
}

engine::Request make_request(const Group& group, int64_t id, std::vector<int32_t> prompt,
                             int64_t new_tokens) {
  engine::Request request;
  request.id = id;
  request.prompt = std::move(prompt);
  request.max_new_tokens = static_cast<int32_t>(new_tokens);
  request.sampling.seed = group.seeds.sampling;
  return request;
}

Json answers_of(const Group& group, size_t index,
                const std::vector<std::vector<int32_t>>& tokens_of_methods) {
  const std::vector<int32_t>& tokens = tokens_of_methods[index];
  const std::vector<int32_t>& first = tokens_of_methods[0];
  size_t equal = 0;
  for (size_t i = 0; i < std::min(tokens.size(), first.size()); ++i) equal += tokens[i] == first[i];
  const double share =
      tokens.empty() ? 1 : static_cast<double>(equal) / static_cast<double>(tokens.size());
  return {{"generated_tokens", tokens.size()},
          {"tokens_hash", results::hash_text(results::hash_ids(tokens))},
          {"compared_with", group.methods[0].name},
          {"equal_token_ratio", share}};
}

Json method_metrics(engine::Engine& engine) {
  Json metrics = Json::object();
  engine.method().report([&](std::string_view name, double value, std::string_view unit) {
    metrics[std::string(name)] = {{"value", value}, {"unit", std::string(unit)}};
  });
  return metrics;
}

Json resolved_settings(engine::Engine& engine, const model::Decoder& decoder) {
  const model::ModelConfig& config = decoder.config();
  const kv::BlockPoolOptions& pool = engine.pool().options();
  const bool is_exact = engine.method().info().exactness == engine::Exactness::kExact;
  return {{"model_shape",
           {{"type", config.model_type},
            {"parameters", config.parameters()},
            {"layers", config.layers},
            {"hidden", config.hidden},
            {"heads", config.heads},
            {"kv_heads", config.kv_heads},
            {"head_dim", config.head_dim},
            {"vocab", config.vocab}}},
          {"weight_bytes", decoder.weight_bytes()},
          {"exactness", is_exact ? "exact" : "approximate"},
          {"block_tokens", pool.block_tokens},
          {"num_blocks", pool.num_blocks}};
}

Json memory_of(const engine::Engine& engine) {
  return {{"kv_peak_bytes", engine.pool().peak_bytes()},
          {"buffers_peak_bytes", AlignedBuffer::peak_bytes()},
          {"process_peak_bytes", peak_resident_bytes()}};
}

}  // namespace reprise::experiments
