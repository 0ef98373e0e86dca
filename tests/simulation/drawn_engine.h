// An engine drawn from a seed: method, pool, scheduler, preemption, and prompts that share
// prefixes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/simulation/disk.h"
#include "tests/simulation/scenario.h"

namespace reprise::simulation {

// Thrown by a step that fails because the simulation says so.
class StepLost : public Error {
 public:
  using Error::Error;
};

// The engine, and everything that it works on.
class DrawnEngine {
 public:
  static constexpr int32_t kMostPrompt = 40, kMostNew = 24, kMostPrefix = 20, kMostPrefixes = 3;

  // Steps fail `rarity` times as rarely as by default.
  DrawnEngine(Random& random, Canary canary, int32_t rarity = 1);

  [[nodiscard]] engine::Engine& engine() { return *engine_; }
  [[nodiscard]] const std::vector<Text>& texts() const { return texts_; }
  [[nodiscard]] const std::vector<std::vector<int32_t>>& prefixes() const { return prefixes_; }
  [[nodiscard]] const std::string& method() const { return method_; }

  // Called in the middle of each step that does not fail: a test does here what may happen during a
  // step.
  std::function<void()> within_step;
  int64_t now_ns = 0;  // the engine's clock

  // Calls `action`, which runs at most one step. Files and the model may fail meanwhile. Throws
  // what `action` throws and what check() throws.
  void disturbed(Counts& counts, const std::function<void()>& action);
  // Runs a step under disturbed(). Returns nothing if the step failed.
  std::optional<engine::StepReport> step(Counts& counts);
  // Causes faults that happen outside of steps: a swapped file is damaged, or free blocks lose
  // their contents.
  void disturb(Counts& counts);
  // Throws Broken unless every block is either free or in use, and swapped states are within their
  // budget.
  void check() const;
  // Called when all requests have ended. Throws Broken if anything is left of them.
  void check_end();

 private:
  void fail(StepPlace place, std::span<const engine::TokenDraw> draws);
  void draw_texts();
  [[nodiscard]] engine::EngineOptions options(
      const std::function<std::unique_ptr<reuse::SequenceCache>()>& make);

  Random& random_;
  int32_t rarity_;
  model::TempDir folder_;
  Disk disk_;
  std::string method_;
  std::vector<std::vector<int32_t>> prefixes_;
  std::vector<Text> texts_;
  std::unique_ptr<engine::Engine> engine_;
  int64_t damaged_ = 0;
  Counts* counts_ = nullptr;  // during a step
};

}  // namespace reprise::simulation
