// A sound record with made-up numbers, for tests of the store and the runner.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/base/json.h"
#include "results/record.h"

namespace reprise::results {

inline Json sample_record(const std::string& point, const std::string& group, int index, int of) {
  return {{"schema", kSchemaVersion},
          {"experiment", {{"name", "sample"}, {"kind", "ttft"}}},
          {"point", point},
          {"group", {{"id", group}, {"index", index}, {"of", of}}},
          {"config_hash", "00000000000000aa"},
          {"settings",
           {{"requested", {{"method", "contiguous"}, {"prompt_tokens", 8}}},
            {"resolved", {{"prompt_tokens", 8}}}}},
          {"seeds", {{"prompts", 1}}},
          {"samples", {{"ttft_ms", {2.0, 1.0}}, {"e2e_ms", {3.0, 1.0}}}},
          {"metrics", {{"ttft_ms", {{"value", 1.5}, {"unit", "ms"}}}}},
          {"answers", Json::object()},
          {"memory", Json::object()},
          {"machine", {{"cpu", "made up"}}},
          {"provenance", {{"revision", "unknown"}}},
          {"started_at", utc_now()},
          {"ended_at", utc_now()}};
}

}  // namespace reprise::results
