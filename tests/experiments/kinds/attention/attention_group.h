// Makes groups of kind "attention" as an experiment file does.
#pragma once

#include "experiments/framework/experiment_file.h"
#include "experiments/framework/sweep.h"
#include "experiments/kinds/registry.h"
#include "tests/support/json.h"

namespace reprise::experiments {

inline const Context kTwoThreads{.threads = 2, .isa = best_isa()};

// `metrics` is the list of metrics that the experiment shows; null: all.
inline Group attention_group(const Json& settings, const Json& methods = {"contiguous"},
                             const std::string& dtype = "f32", const Json& metrics = {},
                             const Json& series = Json::array()) {
  Json file = {{"name", "t"},          {"title", "t"},       {"kind", "attention"},
               {"dtypes", {dtype}},    {"methods", methods}, {"series", series},
               {"settings", settings}, {"repetitions", 3},   {"warmup", 1}};
  if (!metrics.is_null()) file["metrics"] = metrics;
  const Experiment experiment = parse_experiment(file, "t.json", "desk", {}, known_vocabulary());
  return expand(experiment, {.context = {.threads = 1, .isa = best_isa()}}).at(0);
}

}  // namespace reprise::experiments
