#include "experiments/kinds/attention/attention_kind.h"

#include <algorithm>
#include <optional>

#include "core/base/problems.h"
#include "core/device/buffer.h"
#include "core/device/memory.h"
#include "core/kernels/attention/step_attention.h"
#include "core/kernels/calibration/calibration.h"
#include "experiments/framework/shared_info.h"
#include "experiments/kinds/attention/attention_clock.h"
#include "experiments/kinds/attention/attention_lanes.h"
#include "experiments/kinds/attention/attention_metrics.h"
#include "experiments/kinds/attention/attention_samples.h"
#include "experiments/kinds/attention/torch_operator.h"
#include "experiments/kinds/shared/bench.h"
#include "methods/registry.h"
#include "results/statistics.h"

namespace reprise::experiments {
namespace {

LayerWidth width_of(const Group& group, Device device) {
  const auto axes = group.axes_as<AttentionAxes>();
  const LayerWidth width{.hidden = axes.hidden, .intermediate = axes.intermediate};
  if ((width.hidden == 0) != (width.intermediate == 0))
    raise(
        "hidden is {} and intermediate is {}; set both to time the linear layers around the "
        "attention, or neither",
        width.hidden, width.intermediate);
  if (width.hidden > 0 && group.dtype == DType::kF16 && device == Device::kCpu)
    raise(
        "linear layers run in f32 or bf16 on a CPU, not in f16; set \"dtypes\" to one of them and "
        "\"kv_dtype\" to f16");
  return width;
}

double layer_bytes(const AttentionProblem& problem, const LayerWidth& width, DType dtype) {
  if (width.hidden == 0) return 0;
  return qkv_costs(problem, width, dtype).bytes + mlp_costs(problem, width, dtype).bytes;
}

// The measurement of one group.
class AttentionRun {
 public:
  AttentionRun(const Group& group, const Context& context, AttentionClock& clock,
               const std::atomic<bool>& stop)
      : group_(group),
        stop_(stop),
        problem_(attention_problem(group)),
        context_(context),
        clock_(clock),
        lanes_(group, problem_, context),
        samples_(group.methods.size()) {
    if (const auto shadow = finest_shadow(problem_, context.device))
      shadow_.emplace(group, *shadow, context);
    for (AttentionSamples& samples : samples_) samples.taking = Undisturbed(group.repetitions);
  }

  // Compares the methods' outputs with attention's definition, then warms up.
  void begin() {
    validate(0);
    for (int64_t r = 0; r < group_.warmup; ++r)
      for (size_t m = 0; m < lanes_.size(); ++m) {
        lanes_[m].append();
        lanes_[m].attend();
      }
    lanes_.settle();
  }

  // Takes sample number `sample` of each operator. Calls must have sample = 0, 1, 2, ...
  void take(int64_t sample) {
    if (lanes_.advance_to(step_of(sample))) lanes_.settle();
    for (size_t turn = 0; turn < lanes_.size(); ++turn)
      // The first operator changes from sample to sample, so that no operator always follows the
      // same one.
      take_turn((turn + static_cast<size_t>(sample)) % lanes_.size());
  }

  void finish() {
    if (problem_.completion_tokens > 1) validate(problem_.completion_tokens - 1);
    time_parts();
  }

  void time_layer(DType dtype, const Context& context) {
    layer_.width = width_of(group_, context.device);
    if (layer_.width.hidden == 0) return;
    LayerAround layer(problem_, layer_.width, dtype, context);
    for (int64_t r = -group_.warmup; r < group_.repetitions; ++r) {
      const double qkv_us = cold_us([&] { layer.project_qkv(); });
      const double mlp_us = cold_us([&] { layer.run_mlp(); });
      if (r < 0) continue;
      layer_.qkv_us.push_back(qkv_us);
      layer_.mlp_us.push_back(mlp_us);
    }
  }

  [[nodiscard]] std::vector<Measurement> measurements(const Machine& machine) const {
    std::vector<Measurement> all;
    for (size_t m = 0; m < lanes_.size(); ++m) {
      Measurement one;
      lanes_[m].report([&](std::string_view name, double value, std::string_view unit) {
        one.metrics[std::string(name)] = {.value = value, .unit = std::string(unit)};
      });
      add_layer_metrics(problem_, group_.dtype, layer_, one);
      add_attention_metrics(problem_, samples_, m, machine, one);
      one.set(kKvMb, static_cast<double>(lanes_[m].kv_peak_bytes()) * 1e-6);
      one.answers = answers_of(m);
      one.memory = {{"kv_peak_bytes", lanes_[m].kv_peak_bytes()},
                    {"buffers_peak_bytes", AlignedBuffer::peak_bytes()},
                    {"process_peak_bytes", peak_resident_bytes()}};
      one.resolved = resolved_of(lanes_[m]);
      all.push_back(std::move(one));
    }
    return all;
  }

 private:
  [[nodiscard]] int64_t step_of(int64_t sample) const {
    return step_of_sample(sample, group_.repetitions, problem_.completion_tokens);
  }

  // Compares the outputs of all methods, and of the finest_shadow() if there is one, with
  // attention's definition.
  void validate(int64_t step) {
    lanes_.advance_to(step);
    lanes_.validate();
    if (!shadow_) return;
    shadow_->advance_to(step);
    shadow_->validate();
  }

  [[nodiscard]] Fields answers_of(size_t m) const {
    const Deviation& deviation = lanes_.deviation(m);
    Fields answers = {{"relative_error", deviation.relative_error},
                      {"rounding_bound_share", deviation.bound_share},
                      {"max_difference", deviation.max_difference},
                      {"largest_output", deviation.largest_output}};
    if (shadow_)
      answers[context_.device == Device::kCpu ? "f32_shadow_bound_share"
                                              : "f16_shadow_bound_share"] =
          shadow_->deviation(m).bound_share;
    return answers;
  }

  void take_turn(size_t m) {
    if (stop_) throw Interrupted{};
    AttentionOperator& one = lanes_[m];
    AttentionTurn turn{.keys = lanes_.keys_at(lanes_.step()), .kv_bytes_read = one.kv_bytes_read()};
    const auto prepare = [&] { turn.beside = clock_.before(problem_.kv_dtype); };
    samples_[m].turns.push_back(samples_[m].taking.take(prepare, [&] {
      turn.append_us = clock_.us([&] { one.append(); });
      turn.latency_us = clock_.us([&] { one.attend(); });
      clock_.after(turn.beside);
      return turn;
    }));
  }

  double cold_us(const std::function<void()>& work) const {
    if (stop_) throw Interrupted{};
    return clock_.cold_us(work);
  }

  // Times the parts of a step that were asked for.
  void time_parts() {
    std::vector<std::vector<OperatorPart>> parts;
    for (size_t m = 0; m < lanes_.size(); ++m) {
      parts.push_back(wanted_parts(lanes_[m]));
      for (const OperatorPart& part : parts.back()) part.run();  // grows the buffers of the part
    }
    for (int64_t r = 0; r < group_.repetitions; ++r)
      for (size_t m = 0; m < lanes_.size(); ++m) {
        const double attend_us = time_each(parts[m], samples_[m].parts_us);
        time_stream(lanes_[m], attend_us, samples_[m].streams);
      }
  }

  [[nodiscard]] std::vector<OperatorPart> wanted_parts(AttentionOperator& one) const {
    if (!group_.asks_for(kSharedUs) && !group_.asks_for(kPrivateUs) && !group_.asks_for(kMergeUs))
      return {};
    std::vector<OperatorPart> parts = one.parts();
    std::erase_if(parts, [&](const OperatorPart& part) {
      return std::find(group_.asked_for.begin(), group_.asked_for.end(), part.metric) ==
             group_.asked_for.end();
    });
    return parts;
  }

  // Returns the time of the whole attention if it is one of the parts, otherwise 0.
  double time_each(const std::vector<OperatorPart>& parts,
                   std::map<std::string, std::vector<double>>& parts_us) const {
    double attend_us = 0;
    for (const OperatorPart& part : parts) {
      parts_us[part.metric].push_back(cold_us(part.run));
      if (part.is_whole) attend_us = parts_us[part.metric].back();
    }
    return attend_us;
  }

  // `attend_us` is the time of the attention that was run just before this call; 0 if not timed.
  void time_stream(AttentionOperator& one, double attend_us, std::vector<StreamTurn>& turns) const {
    const bool wants_ratio = group_.asks_for(kStreamRatio);
    if (!wants_ratio && !group_.asks_for(kStreamGbS)) return;
    const std::function<void()> stream = one.stream();
    if (!stream) return;
    StreamTurn turn{.kv_bytes_read = one.kv_bytes_read()};
    turn.stream_us = cold_us(stream);
    if (wants_ratio) turn.latency_us = attend_us > 0 ? attend_us : cold_us([&] { one.attend(); });
    turns.push_back(turn);
  }

  [[nodiscard]] Fields resolved_of(const AttentionOperator& one) const {
    Fields resolved = one.resolved();
    update(resolved, {{"prompt_tokens", problem_.prompt_tokens},
                      {"shared_tokens", problem_.shared_tokens},
                      {"context_tokens", problem_.prompt_tokens - problem_.shared_tokens},
                      {"kv_heads", problem_.kv_heads},
                      {"caches", clock_.caches()}});
    return resolved;
  }

  const Group& group_;
  const std::atomic<bool>& stop_;
  AttentionProblem problem_;
  Context context_;
  AttentionClock& clock_;
  AttentionLanes lanes_;
  std::optional<AttentionLanes> shadow_;  // see finest_shadow()
  std::vector<AttentionSamples> samples_;
  LayerSamples layer_;
};

}  // namespace

int64_t step_of_sample(int64_t sample, int64_t samples, int64_t steps) {
  return (2 * sample + 1) * steps / (2 * samples);
}

std::string AttentionKind::missing(const MethodChoice& method) const {
  if (!is_torch_baseline(method.name)) return "";
  return baselines::torch_absence(torch_device(context_).memory);
}

void AttentionKind::check(const Group& group) {
  Problems problems;
  problems.collect([&] { kernels::require_kv_dtype(context_, group.kv_dtype); });
  problems.collect([&] { (void)width_of(group, context_.device); });  // throws if axes disagree
  problems.collect([&] {
    const AttentionProblem problem = attention_problem(group);
    problems.collect([&] { kernels::require_head_dim(context_, problem.head_dim); });
    for (const MethodChoice& method : group.methods)
      problems.collect([&] {
        if (is_torch_baseline(method.name))
          check_torch_baseline(method, problem, context_);
        else
          methods::make_method(method.name, method.options)->check({.device = context_.device});
      });
  });
  problems.raise_if_any();
}

MemoryNeed AttentionKind::memory_need(const Group& group) {
  const AttentionProblem problem = attention_problem(group);
  const auto shadow = finest_shadow(problem, context_.device);
  const double caches = least_cache_bytes(group.methods, problem, context_.device) +
                        (shadow ? least_cache_bytes(group.methods, *shadow, context_.device) : 0.0);
  const double weights = layer_bytes(problem, width_of(group, context_.device), group.dtype);
  return {
      .bytes = caches + weights,
      .of_what = fmt::format(
          "{:.2f} GiB for keys and values of {} sequences of {} tokens ({} of them shared) in {}{}",
          caches / 0x1p30, problem.batch, problem.sequence_tokens(), problem.shared_tokens,
          name_of(problem.kv_dtype),
          weights > 0
              ? fmt::format(" and {:.2f} GiB for the linear layers around them", weights / 0x1p30)
              : "")};
}

std::vector<Measurement> AttentionKind::measure(const Group& group, const Machine& machine,
                                                const std::atomic<bool>& stop) {
  const Group* const groups[] = {&group};
  return measure_in_turn(groups, machine, stop).front();
}

std::vector<std::vector<Measurement>> AttentionKind::measure_in_turn(
    std::span<const Group* const> groups, const Machine& machine, const std::atomic<bool>& stop) {
  AlignedBuffer::reset_peak();
  const Context context = kernels::with_calibration(context_, machine);
  const std::unique_ptr<AttentionClock> clock = make_attention_clock(context, machine);
  std::vector<std::unique_ptr<AttentionRun>> runs;
  int64_t samples = 0;
  for (const Group* group : groups) {
    if (stop) throw Interrupted{};
    runs.push_back(std::make_unique<AttentionRun>(*group, context, *clock, stop));
    runs.back()->begin();
    samples = std::max(samples, group->repetitions);
  }
  for (int64_t sample = 0; sample < samples; ++sample)
    for (size_t r = 0; r < runs.size(); ++r)
      if (sample < groups[r]->repetitions) runs[r]->take(sample);
  std::vector<std::vector<Measurement>> measured;
  for (size_t r = 0; r < runs.size(); ++r) {
    runs[r]->finish();
    runs[r]->time_layer(groups[r]->dtype, context);
    measured.push_back(runs[r]->measurements(machine));
    runs[r].reset();
  }
  return measured;
}

}  // namespace reprise::experiments
