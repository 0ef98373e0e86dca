#include "core/device/context.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>

#include "core/base/error.h"

namespace reprise {

Context Context::machine() {
  Context context{.threads = std::max(1, cpu_facts().logical_cores), .isa = best_isa()};
  if (const auto given = given_fetch()) context.fetch_bf16 = context.fetch_f32 = *given;
  return context;
}

std::optional<FetchSetting> given_fetch() {
  const char* given = std::getenv("REPRISE_FETCH");
  if (given == nullptr || *given == '\0') return std::nullopt;
  try {
    return parse_fetch(given);
  } catch (const Error& error) {
    raise("REPRISE_FETCH: {}", error.what());
  }
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
