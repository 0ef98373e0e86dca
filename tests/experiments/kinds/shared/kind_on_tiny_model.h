// Tests of kinds that measure a model of random weights, which runs in microseconds.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>

#include "experiments/framework/sweep.h"
#include "experiments/kinds/registry.h"
#include "tests/experiments/kinds/shared/tiny_model.h"
#include "tests/support/json.h"

namespace reprise::experiments {

class KindOnTinyModel : public ::testing::Test {
 protected:
  void SetUp() override { write_tiny_model(dir_); }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  // The first group of an experiment file, to which name, title and models are added if it lacks
  // them.
  Group group_of(const Json& given) const {
    Json file = {{"name", "t"},
                 {"title", "t"},
                 {"models", {{{"model", dir_.string()}, {"weights", "random"}}}}};
    file.update(given);
    const Experiment experiment = parse_experiment(file, "t.json", "desk", {}, known_vocabulary());
    return expand(experiment, {.context = context_, .device = Device::kCpu}).at(0);
  }

  const std::filesystem::path dir_ =
      std::filesystem::temp_directory_path() / fmt::format("reprise_kind_{}", ::getpid());
  const Context context_{.threads = 2, .isa = best_isa()};
  std::atomic<bool> stop_ = false;
};

}  // namespace reprise::experiments
