#include "core/device/context.h"

#include <algorithm>
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

}  // namespace reprise
