// A model in which every token proves which states were read. A token costs only some additions,
// because the simulation runs thousands of engines.
//
// It has two layers, as a decoder has them. The state of a token in layer 0 is a hash of the token
// and its position; in layer 1, of the sum of the states that its row reads in layer 0. The next
// token is a hash of the sum of the states that the row reads in layer 1. So one state that is
// missing, read twice, stale or another request's changes all later tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/engine/step_executor.h"

namespace reprise::simulation {

// Thrown when an invariant does not hold. Code under test neither throws this nor catches it by
// type.
struct Broken {
  std::string what;
};

// Throws Broken with the formatted text if `holds` is false.
template <typename... Args>
void demand(bool holds, fmt::format_string<Args...> text, Args&&... args) {
  if (!holds) throw Broken{fmt::format(text, std::forward<Args>(args)...)};
}

// The places of a step at which it can fail.
enum class StepPlace : uint8_t {
  kBefore,   // nothing is written
  kBetween,  // layer 0 is written
  kAfter     // everything is written, but no token is reported yet
};

// Called at each place of each step with the step's draws; it may throw, and the step then fails.
using StepFault = std::function<void(StepPlace, std::span<const engine::TokenDraw>)>;

// Computes a plan's rows. Throws Broken if a row reads memory that holds no state: a block that
// was freed (poison()) or never written.
class WitnessExecutor final : public engine::StepExecutor {
 public:
  static constexpr int32_t kVocab = 97;

  explicit WitnessExecutor(StepFault fault);

  [[nodiscard]] const model::ModelConfig& config() const override { return config_; }
  [[nodiscard]] bool uses_cache() const override { return true; }
  void execute(const engine::StepWork& work, std::span<int32_t> tokens) override;
  // Returns 1 for the token that follows and 0 for all others.
  [[nodiscard]] std::span<const float> logits(int32_t n) const override;

 private:
  void write(const kv::AttentionPlan& plan, int64_t layer, std::span<const uint32_t> states) const;
  // [rows]  the sum of the states that each row reads.
  [[nodiscard]] std::vector<uint32_t> read(const kv::AttentionPlan& plan, int64_t layer) const;

  StepFault fault_;
  model::ModelConfig config_;
  std::vector<float> logits_;  // [logit_rows, vocab]
};

// A prompt whose positions count up from 0, and the tokens that follow it.
struct Text {
  std::vector<int32_t> prompt, continuation;
  // [prompt + continuation]  the token that the model gives after each of these tokens
  std::vector<int32_t> followers;

  Text(std::vector<int32_t> tokens, int32_t new_tokens);
};

// Fills all free blocks of the pool with a value that is no token's state.
void poison_free_blocks(const kv::BlockPool& pool);

}  // namespace reprise::simulation
