// A small valid experiment, and the vocabulary in which it is written.
#pragma once

#include <string>

#include "core/base/error.h"
#include "experiments/framework/experiment_file.h"
#include "experiments/kinds/registry.h"
#include "tests/support/json.h"

namespace reprise::experiments {

inline Vocabulary sample_vocabulary() { return known_vocabulary(); }

inline Json sample_file() {
  return Json::parse(R"({
    "name": "sample", "title": "A sample", "kind": "ttft",
    "models": ["models/a", {"model": "llama-2-7b", "weights": "random"}],
    "dtypes": ["f32", "bf16"],
    "methods": ["recompute", {"name": "contiguous", "options": {}}],
    "settings": {"new_tokens": 2},
    "sweep": {"prompt_tokens": [8, 16, 32]},
    "repetitions": 3, "warmup": 0,
    "seeds": {"prompts": 5},
    "scales": {"smoke": {"sweep": {"prompt_tokens": [8]}, "dtypes": ["f32"]}},
    "plot": {"x": "prompt_tokens", "y": "ttft_ms", "log_x": true}
  })");
}

inline Experiment parse_sample(const Json& file, const std::string& scale = "desk",
                               const std::vector<std::string>& overrides = {}) {
  return parse_experiment(file, "sample.json", scale, overrides, sample_vocabulary());
}

// The message of the Error that parsing throws, "" if it throws none.
inline std::string parse_message(const Json& file, const std::vector<std::string>& overrides = {}) {
  try {
    (void)parse_sample(file, "desk", overrides);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace reprise::experiments
