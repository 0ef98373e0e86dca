// An experiment that takes long enough to be killed or divided while it runs.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/json.h"
#include "tests/experiments/kinds/shared/tiny_model.h"
#include "tests/support/json.h"

namespace reprise::app {

// Writes a tiny model to `dir`/model and an experiment to `dir`/NAME.json. A group takes about a
// tenth of a second, so that signals arrive before, between and inside groups.
inline void write_slow_experiment(const std::filesystem::path& dir, const std::string& name) {
  experiments::write_tiny_model(dir / "model");
  const Json file = {{"name", name},
                     {"title", "Killed or divided"},
                     {"kind", "ttft"},
                     {"models", {{{"model", (dir / "model").string()}, {"weights", "random"}}}},
                     {"dtypes", {"f32"}},
                     {"methods", {"recompute", "contiguous"}},
                     {"settings", {{"new_tokens", 4}}},
                     {"sweep", {{"prompt_tokens", {5, 17, 33, 64, 65, 100, 128, 200}}}},
                     {"repetitions", 20},
                     {"warmup", 1}};
  std::ofstream(dir / (name + ".json")) << file.dump();
}

}  // namespace reprise::app
