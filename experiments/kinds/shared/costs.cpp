#include "experiments/kinds/shared/costs.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/device/cpu.h"
#include "core/model/checkpoint/weights.h"

namespace reprise::experiments {
namespace {

// Number of keys that each query at positions [first, first + tokens) sees, summed over the
// queries.
double visible_pairs(const model::ModelConfig& config, int64_t first, int64_t tokens) {
  const double n = static_cast<double>(tokens);
  const double all = n * static_cast<double>(first) + n * (n + 1) / 2;
  if (config.sliding_window <= 0) return all;
  double pairs = 0;
  for (int64_t i = first; i < first + tokens; ++i)
    pairs += static_cast<double>(std::min(i + 1, config.sliding_window));
  return pairs;
}

// Number of weights that are multiplied with one token, counting only the experts it is sent to.
int64_t active_parameters(const model::ModelConfig& config) {
  const model::ExpertsConfig& experts = config.experts;
  if (experts.count == 0) return config.parameters();
  const int64_t routed = config.expert_parameters();
  return config.parameters() - routed + routed / experts.count * experts.per_token;
}

double gib(double bytes) { return bytes / static_cast<double>(int64_t{1} << 30); }

}  // namespace

int64_t kv_bytes_per_token(const model::ModelConfig& config, DType kv_dtype) {
  return 2 * config.layers * config.kv_dim() * static_cast<int64_t>(size_of(kv_dtype));
}

int64_t streamed_weight_bytes(const model::ModelConfig& config, const WeightType& type,
                              int64_t touched_experts) {
  const auto bits_of = [&](model::Part part) {
    return bits_per_weight(model::held_type(part, type).format);
  };
  double unread = 0;  // bits
  if (!config.tied_embeddings)
    unread += static_cast<double>(config.vocab * config.hidden) * bits_of(model::Part::kEmbedding);
  if (const int64_t experts = config.expert_layers() * config.experts.count; experts > 0)
    unread +=
        static_cast<double>(config.expert_parameters() / experts * (experts - touched_experts)) *
        bits_of(model::Part::kExpertUp);
  return model::weight_bytes(config, type) - std::llround(unread / 8);
}

double product_flop(const model::ModelConfig& config, int64_t rows, int64_t logit_rows) {
  const int64_t table = config.vocab * config.hidden;
  const int64_t tables = config.tied_embeddings ? 1 : 2;
  const double body = static_cast<double>(active_parameters(config) - tables * table);
  // Weights of the last layer that a token without logits skips. It needs keys and values alone.
  const double spared = body / static_cast<double>(config.layers) -
                        2.0 * static_cast<double>(config.hidden * config.kv_dim());
  return 2.0 *
             (body * static_cast<double>(rows) - spared * static_cast<double>(rows - logit_rows)) +
         2.0 * static_cast<double>(table) * static_cast<double>(logit_rows);
}

double prefill_flop(const model::ModelConfig& config, int64_t first, int64_t tokens) {
  const double layer = 4.0 * static_cast<double>(config.q_dim());  // a pair's in one layer
  const double pairs =
      static_cast<double>(config.layers - 1) * visible_pairs(config, first, tokens) +
      visible_pairs(config, first + tokens - 1, 1);
  return product_flop(config, tokens, 1) + layer * pairs;
}

double decode_bytes(const model::ModelConfig& config, const WeightType& type, DType kv_dtype,
                    const DecodeStep& step) {
  const auto prefix = static_cast<double>(step.shared);
  const double first_seen =
      config.sliding_window > 0
          ? std::max(0.0, step.context - static_cast<double>(config.sliding_window))
          : 0;
  const double shared_seen = std::max(0.0, prefix - first_seen);
  const double private_seen = step.context - std::max(prefix, first_seen);
  return static_cast<double>(streamed_weight_bytes(config, type, step.touched_experts)) +
         (shared_seen + static_cast<double>(step.batch) * private_seen) *
             static_cast<double>(kv_bytes_per_token(config, kv_dtype));
}

double decode_flop(const model::ModelConfig& config, int64_t batch, double context) {
  return static_cast<double>(batch) * prefill_flop(config, std::llround(context), 1);
}

double gflop_limit(const Machine& machine, DType dtype) {
  if (machine.device) return dtype == DType::kF32 ? 0 : machine.device->limit("half_tflop_s") * 1e3;
  return machine.limit(dtype == DType::kBF16 ? "bf16_gflop_s" : "f32_gflop_s");
}

double dram_limit(const Machine& machine) {
  return machine.device ? machine.device->limit("read_gb_s") : machine.limit("dram_read_gb_s");
}

MemoryLimit memory_limit(const Machine& machine, double bytes) {
  if (machine.device) {
    if (bytes > static_cast<double>(machine.device->l2_bytes.value_or(0)))
      return {dram_limit(machine), "device"};
    return {std::max(dram_limit(machine), machine.device->limit("l2_read_gb_s")), "device_l2"};
  }
  // The sizes in the machine's record, or else those of this processor.
  const int64_t l3_bytes =
      machine.l3_bytes ? *machine.l3_bytes * machine.l3_instances.value_or(1)
                       : std::max<int64_t>(0, cpu_facts().l3_bytes) * cpu_facts().l3_instances;
  const double dram_gb_s = dram_limit(machine);
  if (bytes > static_cast<double>(l3_bytes)) return {dram_gb_s, "dram"};
  // A virtual machine's share of a large L3 may not be faster than its memory.
  return {std::max(dram_gb_s, machine.limit("l3_read_gb_s")), "l3"};
}

bool can_place(const model::ModelConfig& config, int64_t sequence_tokens) {
  return sequence_tokens <= config.position_limit();
}

void check_positions(const model::ModelConfig& config, int64_t sequence_tokens) {
  if (!can_place(config, sequence_tokens))
    raise(
        "model {} places at most {} tokens, prompt and generated tokens together are {}. Take a "
        "shorter prompt (of an experiment: --set sweep.prompt_tokens=[...]; of `bench`: "
        "--prompt-tokens or --depth) or fewer new tokens.",
        config.name, config.position_limit(), sequence_tokens);
}

MemoryNeed memory_of_model(const model::ModelConfig& config, const WeightType& type, DType kv_dtype,
                           int64_t tokens) {
  const auto weights = static_cast<double>(model::weight_bytes(config, type));
  const double cache =
      static_cast<double>(tokens) * static_cast<double>(kv_bytes_per_token(config, kv_dtype));
  return {
      .bytes = weights + cache,
      .of_what = fmt::format("{:.2f} GiB for weights of {} in {} and {:.2f} GiB for keys and "
                             "values of {} tokens",
                             gib(weights), config.name, name_of(type.format), gib(cache), tokens)};
}

}  // namespace reprise::experiments
