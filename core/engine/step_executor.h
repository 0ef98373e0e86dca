// What computes a step that the engine has composed: a network, or a model of the time it takes.
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

// A token to be drawn, and from which logits.
struct TokenDraw {
  int32_t wanted = 0;  // index in StepWork::logit_rows
  const SamplingOptions* options = nullptr;
  RequestId request = 0;
  int32_t index = 0;  // of the token, see sample()
};

// Borrowed for the call.
struct StepWork {
  std::span<const int32_t> ids;         // [rows]  token of each row
  const kv::AttentionPlan& plan;        // finished; plan.rows() == rows
  std::span<const int32_t> logit_rows;  // rows whose logits are wanted, ascending
  std::span<const TokenDraw> draws;
};

class StepExecutor {
 public:
  virtual ~StepExecutor() = default;
  // Of the model: what requests are checked against, and what the cache is shaped by.
  [[nodiscard]] virtual const model::ModelConfig& config() const = 0;
  // Whether it reads and writes keys and values; else the engine's cache has no memory.
  [[nodiscard]] virtual bool uses_cache() const = 0;
  // Of the device whose memory the cache has to be in; null: the CPU.
  [[nodiscard]] virtual std::shared_ptr<DeviceRuntime> runtime() const { return nullptr; }
  // Computes all rows, then draws tokens [work.draws]. Throws Error where that fails: the step is
  // then tried again, or given up, as if nothing had happened.
  virtual void execute(const StepWork& work, std::span<int32_t> tokens) = 0;
  // [vocab] of the n-th of the logit_rows of the latest execute(), valid until the next. Throws
  // Error where there are none.
  [[nodiscard]] virtual std::span<const float> logits(int32_t n) const = 0;
};

// The network itself. Where it computes on another device than the CPU, tokens are drawn there too,
// and logits are copied when somebody looks at them.
class DecoderExecutor final : public StepExecutor {
 public:
  // `decoder` must outlive it. `policy` may be null: all layers compute.
  DecoderExecutor(const Context& context, model::Decoder& decoder,
                  std::shared_ptr<model::LayerPolicy> policy)
      : context_(context), decoder_(decoder), policy_(std::move(policy)) {}

  [[nodiscard]] const model::ModelConfig& config() const override { return decoder_.config(); }
  [[nodiscard]] bool uses_cache() const override { return true; }
  [[nodiscard]] std::shared_ptr<DeviceRuntime> runtime() const override {
    return decoder_.runtime();
  }
  // Throws Error also for logits that are NaN.
  void execute(const StepWork& work, std::span<int32_t> tokens) override;
  [[nodiscard]] std::span<const float> logits(int32_t n) const override;

 private:
  Context context_;
  model::Decoder& decoder_;
  std::shared_ptr<model::LayerPolicy> policy_;
  void sample_on_host(const StepWork& work, std::span<int32_t> tokens);
  void sample_on_device(const StepWork& work, std::span<int32_t> tokens);
  [[noreturn]] void report_bad_logits(const TokenDraw& draw) const;

  mutable std::vector<float> logits_;       // [logit_rows, vocab]
  mutable bool is_copied_ = true;           // logits_ are those of the latest step
  std::vector<SampleRow> sampled_;          // [draws]
  std::vector<kernels::SampleRule> rules_;  // [draws]
};

}  // namespace reprise::engine
