#include "core/device/context.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>

#include "core/base/error.h"

namespace reprise {
namespace {

template <typename Setting>
std::optional<Setting> given_by(const char* variable, Setting (*parse)(std::string_view)) {
  const char* given = std::getenv(variable);
  if (given == nullptr || *given == '\0') return std::nullopt;
  try {
    return parse(given);
  } catch (const Error& error) {
    raise("{}: {}", variable, error.what());
  }
}

}  // namespace

Context Context::machine() {
  Context context{.threads = std::max(1, cpu_facts().logical_cores), .isa = best_isa()};
  if (const auto given = given_fetch()) context.fetch_bf16 = context.fetch_f32 = *given;
  if (const auto given = given_weight_fetch())
    for (WeightFetch* fetch : {&context.weights_bf16, &context.weights_f32, &context.weights_codes,
                               &context.batch_bf16, &context.large_batch_bf16})
      *fetch = *given;
  return context;
}

std::optional<FetchSetting> given_fetch() { return given_by("REPRISE_FETCH", parse_fetch); }

std::optional<WeightFetch> given_weight_fetch() {
  return given_by("REPRISE_WEIGHT_FETCH", parse_weight_fetch);
}

bool wake_threads(const Context& context) {
  using Clock = std::chrono::steady_clock;
  const auto latest = Clock::now() + std::chrono::milliseconds(1);
  std::atomic<int> awake = 0;
  std::atomic<bool> gave_up = false;
  // Each thread holds one item until every thread has one.
  parallel_for(context, context.threads, [&](int64_t, int) {
    ++awake;
    while (awake < context.threads && !gave_up)
      if (Clock::now() >= latest) gave_up = true;
  });
  return !gave_up;
}

}  // namespace reprise
