#include "experiments/kinds/torch_operator.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace reprise::experiments {
namespace {

const baselines::TorchMethod* find_torch_method(const std::string& name) {
  for (const baselines::TorchMethod& method : baselines::torch_methods())
    if (method.name == name) return &method;
  return nullptr;
}

baselines::TorchKernel kernel_of(const MethodChoice& method) {
  const baselines::TorchMethod* known = find_torch_method(method.name);
  REPRISE_CHECK(known != nullptr, "{} is no method of libtorch", method.name);
  JsonObject options(method.options, "options of method \"" + method.name + "\"");
  options.reject_unknown();
  return known->kernel;
}

size_t half_bytes(const AttentionProblem& problem) {
  return static_cast<size_t>(PrivateCache::bytes(problem) / 2);
}

}  // namespace

bool is_torch_method(const std::string& name) { return find_torch_method(name) != nullptr; }

void check_torch_method(const MethodChoice& method, const AttentionProblem& problem) {
  const std::vector<float> token(static_cast<size_t>(problem.head_dim));
  (void)baselines::TorchAttention({.kernel = kernel_of(method),
                                   .dtype = problem.kv_dtype,
                                   .batch = 1,
                                   .heads = 1,
                                   .kv_heads = 1,
                                   .tokens = 1,
                                   .head_dim = problem.head_dim,
                                   .keys = token.data(),
                                   .values = token.data()});
}

PrivateCache::PrivateCache(const AttentionProblem& problem, const TokenValues& values,
                           const Context& context)
    : problem_(problem),
      tokens_(values),
      context_(context),
      keys_(half_bytes(problem)),
      values_(half_bytes(problem)) {}

int64_t PrivateCache::bytes(const AttentionProblem& problem) {
  return problem.batch * problem.sequence_tokens() * kv_token_bytes(problem);
}

void PrivateCache::pack(int64_t tokens) {
  if (packed_tokens_ == tokens) return;
  packed_tokens_ = tokens;
  parallel_for(context_, problem_.batch, [&](int64_t sequence, int) {
    for (int64_t token = 0; token < tokens; ++token) store(sequence, token);
  });
}

void PrivateCache::store_newest() {
  parallel_for(context_, problem_.batch,
               [&](int64_t sequence, int) { store(sequence, packed_tokens_ - 1); });
}

void PrivateCache::store(int64_t sequence, int64_t token) {
  const std::span<const float> k = tokens_.key(sequence, token);
  const std::span<const float> v = tokens_.value(sequence, token);
  const auto dim = static_cast<size_t>(problem_.head_dim);
  for (int64_t head = 0; head < problem_.kv_heads; ++head) {
    const int64_t row = (sequence * problem_.kv_heads + head) * packed_tokens_ + token;
    const size_t to = static_cast<size_t>(row) * dim * size_of(problem_.kv_dtype);
    const size_t from = static_cast<size_t>(head) * dim;
    convert(k.data() + from, DType::kF32, keys_.as<char>() + to, problem_.kv_dtype, dim);
    convert(v.data() + from, DType::kF32, values_.as<char>() + to, problem_.kv_dtype, dim);
  }
}

TorchAttentionOperator::TorchAttentionOperator(const MethodChoice& method,
                                               const AttentionProblem& problem,
                                               const TokenValues& values,
                                               std::shared_ptr<PrivateCache> cache,
                                               const Context& context)
    : problem_(problem),
      values_(values),
      cache_(std::move(cache)),
      step_{.kernel = kernel_of(method),
            .dtype = problem.kv_dtype,
            .batch = problem.batch,
            .heads = problem.heads,
            .kv_heads = problem.kv_heads,
            .head_dim = problem.head_dim,
            .keys = cache_->keys(),
            .values = cache_->values(),
            .threads = context.threads,
            .scale = score_scale(problem)},
      tokens_(problem.prompt_tokens),
      queries_(static_cast<size_t>(problem.batch * problem.q_dim())),
      output_(queries_.size()) {}

void TorchAttentionOperator::settle() {
  cache_->pack(tokens_);
  for (int64_t sequence = 0; sequence < problem_.batch; ++sequence) {
    const std::span<const float> q = values_.query(sequence, tokens_ - 1);
    std::copy(q.begin(), q.end(), queries_.begin() + sequence * problem_.q_dim());
  }
  step_.tokens = tokens_;
  attention_.emplace(step_);
}

void TorchAttentionOperator::attend() { attention_->run(queries_.data(), output_.data()); }

void TorchAttentionOperator::read_output(std::span<float> out) {
  std::copy(output_.begin(), output_.end(), out.begin());
}

double TorchAttentionOperator::kv_bytes_read() const {
  return static_cast<double>(problem_.batch * tokens_ * kv_token_bytes(problem_));
}

Rounding TorchAttentionOperator::rounding() const {
  return {.sums = problem_.kv_dtype == DType::kF32 ? 1e-4 : 4 * epsilon_of(problem_.kv_dtype)};
}

Json TorchAttentionOperator::resolved() const {
  return {{"exactness", "exact"},
          {"kernel", attention_->description()},
          {"kv_layout", "contiguous, one cache for all torch methods of the group"}};
}

}  // namespace reprise::experiments
