#include "experiments/kinds/sentences/prefill.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/base/problems.h"
#include "core/device/buffer.h"
#include "core/device/memory.h"
#include "core/model/network/encoder.h"
#include "experiments/framework/shared_info.h"
#include "experiments/kinds/sentences/prefill_lane.h"
#include "experiments/kinds/shared/costs.h"
#include "methods/prompt_setup.h"
#include "methods/registry.h"

namespace reprise::experiments {
namespace {

const MetricInfo kMaxDifference = {
    "max_difference", "value",
    "of the first prompt: largest difference of this method's hidden states and the first "
    "method's; 0: the same bits"};

const MetricInfo kParameters = {"parameters", "parameters", "weights of the model"};
const MetricInfo kWeightMb = {"weight_mb", "MB", "of the weights as they are held in memory"};

constexpr const char* kTogether = "together";
constexpr const char* kApart = "apart";

struct PrefillAxes : PromptAxes {
  int64_t asked_texts = 2;
  int64_t database_texts = 4;
  int64_t training_texts = 0;
  double stored_share = 1;
  std::string operations = kTogether;

  void visit(AxisVisitor& visitor) {
    visit_prompt_tokens(visitor);
    visit_shared_tokens(visitor);
    visitor.integer({"asked_texts", "texts", "prompts that each repetition computes, one a step"},
                    {1, 1 << 16}, asked_texts);
    visitor.integer(
        {"database_texts", "texts", "prompts for methods that store what they have seen"},
        {0, 1 << 20}, database_texts);
    visitor.integer(
        {"training_texts", "texts", "other prompts, for methods that learn before they store"},
        {0, 1 << 20}, training_texts);
    visitor.real({"stored_share", "ratio",
                  "of the texts, those that are in the database: hits by construction"},
                 {0, 1}, stored_share);
    visitor.word({"operations", "",
                  "apart: each repetition takes a further turn, in which the operations of "
                  "attention are computed and timed one by one [AttnCache table 4]",
                  /*came_later=*/true},
                 {{kTogether, kApart}}, operations);
  }
};

constexpr int64_t kTrainingItem = int64_t{1} << 32;  // number of the first training item

// Numbers of the workload's items that are queries, stored texts and training texts. The first
// queries are also stored; later queries are not.
struct PromptItems {
  explicit PromptItems(const PrefillAxes& axes)
      : queries(axes.asked_texts),
        database(axes.database_texts),
        training(axes.training_texts),
        stored_queries(
            database == 0 ? 0 : std::llround(axes.stored_share * static_cast<double>(queries))) {}

  [[nodiscard]] int64_t query(int64_t index) const {
    return index < stored_queries ? index : database + index;
  }

  int64_t queries, database, training, stored_queries;
};

void check_items(const PrefillAxes& axes) {
  const PromptItems items(axes);
  if (items.stored_queries > items.database)
    raise(
        "stored_share {} of {} texts are {} stored ones, and database_texts is {}: store as many, "
        "or ask fewer",
        axes.stored_share, items.queries, items.stored_queries, items.database);
  if (axes.shared_tokens > axes.prompt_tokens)
    raise("shared_tokens is {}, but a prompt has {} tokens: the shared ones are among them",
          axes.shared_tokens, axes.prompt_tokens);
}

// One method's turns, and the hidden states of the first query from its latest turn.
struct TurnLane {
  PrefillLane turns;
  std::vector<std::vector<int32_t>> queries;  // in the form that the method wants
  std::vector<float> hidden;
};

class PrefillRun {
 public:
  PrefillRun(const Group& group, model::Decoder& decoder, Bench& bench)
      : group_(group), decoder_(decoder), encoder_(decoder), items_(group.axes_as<PrefillAxes>()) {
    const auto axes = group.axes_as<PrefillAxes>();
    times_operations_ = axes.operations == kApart;
    for (int64_t i = 0; i < items_.queries; ++i)
      queries_.push_back(bench.prompt(group, axes, items_.query(i)));
    for (int64_t i = 0; i < items_.database; ++i) database_.push_back(bench.prompt(group, axes, i));
    for (int64_t i = 0; i < items_.training; ++i)
      training_.push_back(bench.prompt(group, axes, kTrainingItem + i));
  }

  void prepare(const Context& context, const std::atomic<bool>& stop) {
    methods::Setup setup =
        methods::prompt_setup(decoder_, context, group_.model.model, group_.seeds.weights);
    setup.between = [&stop] {
      if (stop) throw Interrupted{};
    };
    setup.run = [&](std::span<const int32_t> ids, model::LayerPolicy* policy) {
      setup.between();
      std::vector<float> hidden;
      compute(ids, policy, hidden);
      return hidden;
    };
    setup.database = database_;
    setup.training = training_;
    for (const MethodChoice& method : group_.methods) {
      if (stop) throw Interrupted{};
      add_lane(PrefillLane(method, setup, group_.repetitions));
    }
  }

  void take(size_t index, bool is_warmup) {
    TurnLane& lane = lanes_[index];
    lane.turns.take(items_.queries, is_warmup, [&](int64_t step, model::LayerPolicy* policy) {
      compute(lane.queries[static_cast<size_t>(step)], policy, step == 0 ? lane.hidden : hidden_);
    });
    if (times_operations_ && !is_warmup)
      lane.turns.take_operations(items_.queries, [&](int64_t step, model::LayerPolicy* policy) {
        compute(lane.queries[static_cast<size_t>(step)], policy, hidden_);
      });
  }

  [[nodiscard]] Measurement measurement_of(size_t index) const {
    const TurnLane& lane = lanes_[index];
    for (const float value : lane.hidden)
      if (!std::isfinite(value))
        raise(
            "method {}: the hidden states of the first prompt are not finite; the model's weights "
            "or inputs are corrupt",
            label_of(group_.methods[index]));
    Measurement out;
    out.resolved = {{"layers", decoder_.config().layers},
                    {"weight_bytes", decoder_.weight_bytes()},
                    {"weight_format", name_of(decoder_.weight_format())},
                    {"stored_texts_asked", items_.stored_queries}};
    std::vector<int64_t> lengths;
    int64_t cut = 0;
    for (size_t i = 0; i < lane.queries.size(); ++i) {
      lengths.push_back(std::ssize(lane.queries[i]));
      cut += lane.queries[i].size() < queries_[i].size() ? 1 : 0;
    }
    out.resolved["cut_texts"] = cut;
    lane.turns.report(lanes_.front().turns,
                      {.config = decoder_.config(), .tokens = lengths, .is_one_a_step = true}, out);
    out.set(kParameters, static_cast<double>(decoder_.config().parameters()));
    out.set(kWeightMb, static_cast<double>(decoder_.weight_bytes()) * 1e-6);
    if (index > 0 && lane.hidden.size() == lanes_.front().hidden.size())
      out.set(kMaxDifference, max_difference(lane.hidden, lanes_.front().hidden));
    out.memory = {{"buffers_peak_bytes", AlignedBuffer::peak_bytes()},
                  {"process_peak_bytes", peak_resident_bytes()}};
    return out;
  }

 private:
  void compute(std::span<const int32_t> ids, model::LayerPolicy* policy,
               std::vector<float>& hidden) {
    hidden.resize(ids.size() * static_cast<size_t>(decoder_.config().hidden));
    const model::EncoderText text{.ids = ids, .token_types = {}};
    encoder_.encode({.texts = {&text, 1}, .policy = policy}, hidden);
  }

  void add_lane(PrefillLane turns) {
    TurnLane lane{.turns = std::move(turns), .queries = {}, .hidden = {}};
    for (const std::vector<int32_t>& ids : queries_) lane.queries.push_back(lane.turns.formed(ids));
    lanes_.push_back(std::move(lane));
  }

  static double max_difference(std::span<const float> a, std::span<const float> b) {
    double most = 0;
    for (size_t i = 0; i < a.size(); ++i)
      most = std::max(most, std::abs(double{a[i]} - double{b[i]}));
    return most;
  }

  const Group& group_;
  model::Decoder& decoder_;
  model::Encoder encoder_;
  PromptItems items_;
  bool times_operations_ = false;
  std::vector<std::vector<int32_t>> queries_, database_, training_;
  std::vector<TurnLane> lanes_;
  std::vector<float> hidden_;  // scratch for queries whose hidden states are not compared
};

}  // namespace

KindInfo PrefillKind::info() {
  std::vector<MetricInfo> metrics = {kMaxDifference, kParameters, kWeightMb};
  for (const MetricInfo& more : prefill_lane_metrics()) metrics.push_back(more);
  for (const MetricInfo& more : operation_metrics()) metrics.push_back(more);
  return {.name = "prefill",
          .summary =
              "time of prompts that nothing is generated behind, and where it goes, by what "
              "layers compute and reuse",
          .axes = list_axes<PrefillAxes>(),
          .metrics = std::move(metrics),
          .method_use = MethodUse::kPrefill};
}

std::string PrefillKind::missing(const MethodChoice& method) const { return missing_for(method); }

void PrefillKind::check(const Group& group) {
  const auto axes = group.axes_as<PrefillAxes>();
  Problems problems;
  for (const MethodChoice& method : group.methods)
    problems.collect([&] { (void)methods::make_method(method.name, method.options); });
  problems.collect([&] { check_items(axes); });
  problems.collect([&] {
    (void)Bench::check_loadable(group, bench_.context());
    if (!group.model.random_weights) check_positions(Bench::config(group), axes.prompt_tokens);
  });
  problems.raise_if_any();
}

MemoryNeed PrefillKind::memory_need(const Group& group) {
  return memory_of_model(Bench::config(group), group.weight_type(), group.dtype,
                         group.axes_as<PrefillAxes>().prompt_tokens);
}

std::vector<Measurement> PrefillKind::measure(const Group& group, const Machine& machine,
                                              const std::atomic<bool>& stop) {
  AlignedBuffer::reset_peak();
  bench_.use_calibration(machine);
  PrefillRun run(group, bench_.decoder(group), bench_);
  run.prepare(bench_.context(), stop);
  for (int64_t r = -group.warmup; r < group.repetitions; ++r)
    for (size_t m = 0; m < group.methods.size(); ++m) {
      begin_turn(group, r, m, stop);
      run.take(m, /*is_warmup=*/r < 0);
    }
  std::vector<Measurement> measurements;
  for (size_t m = 0; m < group.methods.size(); ++m) measurements.push_back(run.measurement_of(m));
  return measurements;
}

}  // namespace reprise::experiments
