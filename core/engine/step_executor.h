// The interface that computes the engine's steps: with a network, or with a model of the network's
// run time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/device/context.h"
#include "core/engine/sampling.h"
#include "core/kernels/sampling/sampling.h"
#include "core/model/network/decoder.h"
#include "core/model/network/layer_policy.h"

namespace reprise::engine {

// A token to draw, and the row of logits from which it is drawn.
struct TokenDraw {
  int32_t wanted = 0;  // index in StepWork::logit_rows
  const SamplingOptions* options = nullptr;
  RequestId request = 0;
  int32_t index = 0;  // number of the token, see sample()
  // The prompt's tokens, imported ones included if `options` have a repetition penalty; and the
  // tokens generated so far.
  std::span<const int32_t> prompt = {}, generated = {};
};

// The work of one step. All references are valid during the call only.
struct StepWork {
  std::span<const int32_t> ids;         // [rows]  token of each row
  const kv::AttentionPlan& plan;        // finished; plan.rows() == rows
  std::span<const int32_t> logit_rows;  // rows whose logits are needed, ascending
  std::span<const TokenDraw> draws;
};

class StepExecutor {
 public:
  virtual ~StepExecutor() = default;
  // The model's config. It determines which requests are valid and which shape the cache has.
  [[nodiscard]] virtual const model::ModelConfig& config() const = 0;
  // False if the executor neither reads nor writes keys and values; the engine's cache then has no
  // memory.
  [[nodiscard]] virtual bool uses_cache() const = 0;
  // The device whose memory must hold the cache; null: the CPU.
  [[nodiscard]] virtual std::shared_ptr<DeviceRuntime> runtime() const { return nullptr; }
  // Computes all rows, then draws tokens [work.draws]. Throws Error on failure. Nothing may have
  // changed then, since the engine tries the step again or gives it up.
  virtual void execute(const StepWork& work, std::span<int32_t> tokens) = 0;
  // Returns the logits [vocab] of the n-th of the last execute()'s logit_rows, valid until the next
  // execute(). Throws Error if the executor has no logits.
  [[nodiscard]] virtual std::span<const float> logits(int32_t n) const = 0;
};

// Runs the network. On a device other than the CPU, tokens are drawn on the device, and logits are
// copied to the host only when logits() asks for them.
class DecoderExecutor final : public StepExecutor {
 public:
  // `decoder` must outlive this object. A null `policy` means that all layers compute.
  DecoderExecutor(const Context& context, model::Decoder& decoder,
                  std::shared_ptr<model::LayerPolicy> policy)
      : context_(context), decoder_(decoder), policy_(std::move(policy)) {}

  [[nodiscard]] const model::ModelConfig& config() const override { return decoder_.config(); }
  [[nodiscard]] bool uses_cache() const override { return true; }
  [[nodiscard]] std::shared_ptr<DeviceRuntime> runtime() const override {
    return decoder_.runtime();
  }
  // Throws Error if logits are NaN, too.
  void execute(const StepWork& work, std::span<int32_t> tokens) override;
  [[nodiscard]] std::span<const float> logits(int32_t n) const override;

 private:
  Context context_;
  model::Decoder& decoder_;
  std::shared_ptr<model::LayerPolicy> policy_;
  void sample_on_host(std::span<const TokenDraw> draws, std::span<int32_t> tokens);
  void sample_on_device(const StepWork& work, std::span<int32_t> tokens);
  [[noreturn]] void report_bad_logits(const TokenDraw& draw) const;

  mutable std::vector<float> logits_;       // [logit_rows, vocab]
  mutable bool is_copied_ = true;           // true if logits_ belongs to the latest step
  std::vector<SampleRow> sampled_;          // [draws]
  std::vector<kernels::SampleRule> rules_;  // [draws]
};

}  // namespace reprise::engine
