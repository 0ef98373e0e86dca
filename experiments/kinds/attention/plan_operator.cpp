#include "experiments/kinds/attention/plan_operator.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/kernels/attention/read_keys.h"
#include "experiments/kinds/shared/bench.h"
#include "methods/registry.h"
#include "results/statistics.h"

namespace reprise::experiments {
namespace {

constexpr int64_t kPrefillRows = 512;       // rows of one plan; the engine's default
constexpr reuse::RequestId kPrefixId = -2;  // the first id that Engine::declare_prefix() gives

reuse::EngineLimits limits_of(const AttentionProblem& problem) {
  // A sequence may have one token more than there are keys: the token that the last step would
  // generate.
  return {.max_batch = static_cast<int32_t>(problem.batch),
          .max_sequence_tokens = static_cast<int32_t>(problem.sequence_tokens()) + 1,
          .prefix_tokens = static_cast<int32_t>(problem.shared_tokens)};
}

kv::BlockPoolOptions pool_options(const reuse::SequenceCache& method,
                                  const AttentionProblem& problem,
                                  std::shared_ptr<DeviceRuntime> runtime) {
  const reuse::PoolNeed need = method.pool_need(limits_of(problem));
  return {.layers = 1,
          .kv_heads = problem.kv_heads,
          .head_dim = problem.head_dim,
          .dtype = problem.kv_dtype,
          .block_tokens = need.block_tokens,
          .num_blocks = static_cast<int32_t>(need.num_blocks),
          .runtime = std::move(runtime)};
}

// Token ids. The private tokens of two sequences never have the same id.
int32_t token_id(const AttentionProblem& problem, int64_t sequence, int64_t token) {
  constexpr int64_t kIds = int64_t{1} << 18;  // for each owner; the shared prefix is owner 0
  const int64_t owner = token < problem.shared_tokens ? 0 : sequence + 1;
  const uint64_t bits =
      random_bits(problem.seed, static_cast<uint64_t>(owner), static_cast<uint64_t>(token));
  return static_cast<int32_t>(owner * kIds + static_cast<int64_t>(bits % kIds));
}

std::vector<int32_t> token_ids(const AttentionProblem& problem, int64_t sequence, int64_t tokens) {
  std::vector<int32_t> ids;
  for (int64_t token = 0; token < tokens; ++token)
    ids.push_back(token_id(problem, sequence, token));
  return ids;
}

reuse::NewSequence new_sequence(int64_t id, std::span<const int32_t> tokens,
                                int64_t max_new_tokens) {
  return {.id = id,
          .tokens = tokens,
          .positions = {},
          .max_new_tokens = static_cast<int32_t>(max_new_tokens)};
}

// Copies `plan` to `out` with only those work items for which wanted(item) is true.
template <typename Wanted>
void keep_items(const kv::AttentionPlan& plan, kv::AttentionPlan& out, Wanted&& wanted) {
  out = plan;
  std::erase_if(out.items, [&](const kv::WorkItem& item) { return !wanted(item); });
  out.revision = 0;  // the method did not build this plan
  out.finish();
}

}  // namespace

float* HostRows::make_room(int64_t elements) {
  bytes_ = static_cast<size_t>(elements) * sizeof(float);
  if (host_.bytes() < bytes_) host_ = AlignedBuffer(bytes_);
  return host_.as<float>();
}

void HostRows::bring() {
  if (runtime_ == nullptr) return;
  if (on_device_.bytes() < bytes_) on_device_ = Buffer(runtime_, bytes_);
  on_device_.write(0, host_.data(), bytes_);
}

PlanOperator::PlanOperator(const MethodChoice& method, const AttentionProblem& problem,
                           const TokenValues& values, const Context& context)
    : problem_(problem),
      values_(values),
      context_(context),
      info_(methods::method_named(method.name).info),
      method_(methods::make_cache(method.name, method.options)),
      pool_(pool_options(*method_, problem, context.runtime)),
      step_(*method_, pool_),
      keys_(context.runtime),
      values_rows_(context.runtime),
      queries_(context.runtime),
      attention_(kernels::make_step_attention(context)) {
  method_->tune({.heads = problem.heads,
                 .kv_heads = problem.kv_heads,
                 .head_dim = problem.head_dim,
                 .kv_dtype = problem.kv_dtype,
                 .context = context});
  if (problem.shared_tokens > 0) declare_prefix();
  while (std::ssize(tokens_) < problem.batch) admit_some();
  // The prefills have used attention_. On the CPU it is made anew, so that the first plan_us
  // includes the allocation of a schedule.
  if (context.runtime == nullptr) attention_ = kernels::make_step_attention(context);
}

PlanOperator::~PlanOperator() {
  for (int64_t sequence = 0; sequence < std::ssize(tokens_); ++sequence)
    method_->retire(sequence, pool_);
}

void PlanOperator::declare_prefix() {
  const std::vector<int32_t> tokens = token_ids(problem_, 0, problem_.shared_tokens);
  reuse::PrefixKeeper* const keeper = method_->prefix_keeper();
  if (keeper == nullptr) return;
  keeper->declare_prefix(kPrefixId, tokens);
  const reuse::Admission admission = method_->admit(new_sequence(kPrefixId, tokens, 0), pool_);
  if (!admission.admitted)
    raise("{} has no room for the shared prefix of {} tokens in a cache of {} blocks of {}",
          info_.name, tokens.size(), pool_.options().num_blocks, pool_.options().block_tokens);
  prefill(kPrefixId, {.sequence = 0, .rows = static_cast<int32_t>(tokens.size())}, tokens);
  keeper->keep_prefix(kPrefixId, pool_);
}

// Admits as many sequences as the method accepts now, and runs their prefills. The method may make
// a sequence wait for states that another sequence computes.
void PlanOperator::admit_some() {
  const int64_t first = std::ssize(tokens_);
  std::vector<int32_t> reused;
  for (int64_t sequence = first; sequence < problem_.batch; ++sequence) {
    std::vector<int32_t> tokens = token_ids(problem_, sequence, problem_.prompt_tokens);
    const reuse::Admission admission =
        method_->admit(new_sequence(sequence, tokens, problem_.completion_tokens + 1), pool_);
    if (!admission.admitted) break;
    tokens_.push_back(std::move(tokens));
    reused.push_back(admission.reused_tokens);
  }
  if (reused.empty())
    raise("{} has no room for sequence {} of {} in a cache of {} blocks of {} tokens", info_.name,
          first + 1, problem_.batch, pool_.options().num_blocks, pool_.options().block_tokens);
  const auto prompt_tokens = static_cast<int32_t>(problem_.prompt_tokens);
  for (int64_t sequence = first; sequence < std::ssize(tokens_); ++sequence) {
    const int32_t computed =
        std::min(reused[static_cast<size_t>(sequence - first)], prompt_tokens - 1);
    prefill(sequence,
            {.sequence = sequence, .first_token = computed, .rows = prompt_tokens - computed},
            tokens_[static_cast<size_t>(sequence)]);
  }
}

void PlanOperator::prefill(reuse::RequestId id, const Part& part, std::span<const int32_t> tokens) {
  positions_.resize(tokens.size());
  std::iota(positions_.begin(), positions_.end(), 0);
  const int32_t end = part.first_token + part.rows;
  for (int32_t first = part.first_token; first < end;) {
    Part chunk = part;
    chunk.first_token = first;
    chunk.rows = std::min<int32_t>(kPrefillRows, end - first);
    step_.clear();
    step_.add({.id = id,
               .rows = chunk.rows,
               .first_token = first,
               .positions = positions_,
               .tokens = tokens,
               .length = static_cast<int32_t>(positions_.size())});
    begin_step();
    store_rows({&chunk, 1});
    append();
    step_.computed();
    first += chunk.rows;
  }
}

void PlanOperator::begin_step() {
  step_.arrange();
  // The pool was made large enough for all sequences.
  REPRISE_CHECK(step_.reserve(), "{} rows found no cache", step_.rows());
  plan_ = &step_.plan();
  attention_->begin(*plan_, problem_.heads, params());
}

void PlanOperator::store_rows(std::span<const Part> parts) {
  const int64_t kv_dim = problem_.kv_dim();
  float* const keys = keys_.make_room(plan_->rows() * kv_dim);
  float* const values = values_rows_.make_room(plan_->rows() * kv_dim);
  int64_t first_row = 0;
  for (const Part& part : parts) {
    parallel_for(context_, part.rows, [&](int64_t i, int) {
      const auto k = values_.key(part.sequence, part.first_token + i);
      const auto v = values_.value(part.sequence, part.first_token + i);
      std::copy(k.begin(), k.end(), keys + (first_row + i) * kv_dim);
      std::copy(v.begin(), v.end(), values + (first_row + i) * kv_dim);
    });
    first_row += part.rows;
  }
  keys_.bring();
  values_rows_.bring();
}

void PlanOperator::advance() {
  const auto cached = static_cast<int32_t>(positions_.size());
  positions_.push_back(cached);
  step_.clear();
  for (int64_t sequence = 0; sequence < problem_.batch; ++sequence) {
    std::vector<int32_t>& tokens = tokens_[static_cast<size_t>(sequence)];
    tokens.push_back(token_id(problem_, sequence, cached));
    const int32_t first = method_->cached_tokens(sequence, cached);
    step_.add({.id = sequence,
               .rows = cached + 1 - first,
               .first_token = first,
               .positions = positions_,
               .tokens = tokens,
               .length = cached + 1});
  }
  const int64_t start_ns = now_ns();
  begin_step();
  plan_us_.push_back(static_cast<double>(now_ns() - start_ns) * 1e-3);
  std::vector<Part> parts;
  newest_row_.resize(tokens_.size());
  for (const reuse::StepSequence& part : step_.batch()) {
    parts.push_back({.sequence = part.id, .first_token = part.first_token, .rows = part.rows});
    newest_row_[static_cast<size_t>(part.id)] = part.first_row + part.rows - 1;
  }
  store_rows(parts);
  store_queries(parts);
  append();
  step_.computed();
}

void PlanOperator::store_queries(std::span<const Part> parts) {
  const int64_t q_dim = problem_.q_dim();
  float* row = queries_.make_room(plan_->rows() * q_dim);
  for (const Part& part : parts)
    for (int64_t i = 0; i < part.rows; ++i, row += q_dim) {
      const auto q = values_.query(part.sequence, part.first_token + i);
      std::copy(q.begin(), q.end(), row);
    }
  queries_.bring();
  const size_t bytes = static_cast<size_t>(plan_->rows() * q_dim) * size_of(output().dtype);
  if (output_.bytes() < bytes) output_ = Buffer(context_.runtime, bytes);
}

void PlanOperator::append() {
  attention_->write_kv(0, keys_.data(), values_rows_.data(), problem_.kv_dim());
}

kernels::QueryView PlanOperator::queries() const {
  return {.data = queries_.data(), .row_stride = problem_.q_dim(), .heads = problem_.heads};
}

kernels::AttentionParams PlanOperator::params() const { return {.scale = score_scale(problem_)}; }

kernels::OutputView PlanOperator::output() {
  return {.data = output_.data(), .dtype = output_dtype(problem_)};
}

void PlanOperator::attend() { attention_->attend(0, queries(), output()); }

void PlanOperator::read_output(std::span<float> out) {
  const int64_t q_dim = problem_.q_dim();
  const DType dtype = output().dtype;
  std::vector<std::byte> copy(static_cast<size_t>(q_dim) * size_of(dtype));
  for (int64_t sequence = 0; sequence < problem_.batch; ++sequence) {
    const auto newest = static_cast<size_t>(newest_row_[static_cast<size_t>(sequence)]);
    const std::byte* row = output_.as<std::byte>() + newest * copy.size();
    if (context_.runtime != nullptr) {
      context_.runtime->copy_out(copy.data(), row, copy.size());
      row = copy.data();
    }
    convert(row, dtype, out.data() + sequence * q_dim, DType::kF32, static_cast<size_t>(q_dim));
  }
}

std::vector<OperatorPart> PlanOperator::parts() {
  const auto covers_several_sequences = [&](const kv::WorkItem& item) {
    const auto is_inside = [&](int64_t row) {  // the item has this row and the next sequence's
      return item.first_row <= row && row + 1 < item.end_row;
    };
    return std::any_of(newest_row_.begin(), newest_row_.end(), is_inside);
  };
  const auto rows = static_cast<size_t>(plan_->rows());
  bool is_merged = false;
  for (size_t row = 0; row < rows; ++row)
    is_merged = is_merged || plan_->row_begin[row + 1] - plan_->row_begin[row] > 1;
  const bool is_shared =
      std::any_of(plan_->items.begin(), plan_->items.end(), covers_several_sequences);
  if (!is_merged && !is_shared) return {{"private_us", [this] { attend(); }, /*is_whole=*/true}};

  keep_items(*plan_, shared_plan_, covers_several_sequences);
  keep_items(*plan_, private_plan_,
             [&](const kv::WorkItem& item) { return !covers_several_sequences(item); });
  part_attentions_.clear();
  std::vector<OperatorPart> parts;
  for (const auto& [metric, plan] :
       {std::pair{"shared_us", &shared_plan_}, std::pair{"private_us", &private_plan_}}) {
    if (plan->items.empty()) continue;
    kernels::StepAttention& attention = attention_of(*plan);
    parts.push_back({metric, [this, &attention] { attention.attend_parts(0, queries()); }});
  }
  if (is_merged) {
    kernels::StepAttention& attention = attention_of(*plan_);
    attention.attend_parts(0, queries());
    parts.push_back({"merge_us", [this, &attention] { attention.merge_parts(output()); }});
  }
  return parts;
}

std::function<void()> PlanOperator::stream() {
  if (context_.runtime != nullptr) return {};
  kernels::AttentionSchedule schedule;
  schedule.build(*plan_, problem_.heads, params(), context_);
  return [this, schedule = std::move(schedule)] {
    (void)kernels::read_keys({.plan = *plan_, .schedule = schedule, .params = params()}, 0,
                             context_);
  };
}

kernels::StepAttention& PlanOperator::attention_of(const kv::AttentionPlan& plan) {
  part_attentions_.push_back(kernels::make_step_attention(context_));
  part_attentions_.back()->begin_parts(plan, problem_.heads, params());
  return *part_attentions_.back();
}

void PlanOperator::report(const reuse::MetricSink& sink) const {
  method_->report(sink);
  if (!plan_us_.empty()) sink("plan_us", results::summarize(plan_us_).median, "us");
}

Fields PlanOperator::resolved() const {
  return {{"exactness", exactness() == methods::Exactness::kExact ? "exact" : "approximate"},
          {"block_tokens", pool_.options().block_tokens},
          {"num_blocks", pool_.options().num_blocks},
          {"work_items", plan_->items.size()},
          {"segments", plan_->segments.size()}};
}

double pool_bytes(const MethodChoice& method, const AttentionProblem& problem) {
  const reuse::PoolNeed need =
      methods::make_cache(method.name, method.options)->pool_need(limits_of(problem));
  return static_cast<double>(need.num_blocks) * static_cast<double>(need.block_tokens) *
         static_cast<double>(kv_token_bytes(problem));
}

}  // namespace reprise::experiments
