#include "experiments/kinds/attention/torch_operator.h"

#include <algorithm>

#include "core/base/error.h"

namespace reprise::experiments {
namespace {

const baselines::TorchBaseline* find_torch_baseline(const std::string& name) {
  for (const baselines::TorchBaseline& method : baselines::torch_baselines())
    if (method.name == name) return &method;
  return nullptr;
}

baselines::TorchKernel kernel_of(const MethodChoice& method) {
  const baselines::TorchBaseline* known = find_torch_baseline(method.name);
  REPRISE_CHECK(known != nullptr, "{} is no baseline of libtorch", method.name);
  return known->kernel;
}

size_t half_bytes(const AttentionProblem& problem) {
  return static_cast<size_t>(PrivateCache::bytes(problem) / 2);
}

}  // namespace

bool is_torch_baseline(const std::string& name) { return find_torch_baseline(name) != nullptr; }

DeviceHandle torch_device(const Context& context) {
  return context.runtime != nullptr ? context.runtime->handle() : DeviceHandle();
}

void check_torch_baseline(const MethodChoice& method, const AttentionProblem& problem,
                          const Context& context) {
  const std::vector<float> token(static_cast<size_t>(problem.head_dim));
  (void)baselines::TorchAttention({.kernel = kernel_of(method),
                                   .dtype = problem.kv_dtype,
                                   .batch = 1,
                                   .heads = 1,
                                   .kv_heads = 1,
                                   .tokens = 1,
                                   .head_dim = problem.head_dim,
                                   .keys = token.data(),
                                   .values = token.data(),
                                   .device = torch_device(context)});
}

PrivateCache::PrivateCache(const AttentionProblem& problem, const TokenValues& values,
                           const Context& context)
    : problem_(problem),
      tokens_(values),
      context_(context),
      keys_(context.runtime, half_bytes(problem)),
      values_(context.runtime, half_bytes(problem)) {
  if (context.runtime == nullptr) return;
  const auto batch = static_cast<size_t>(problem.batch);
  sequence_keys_ = AlignedBuffer(half_bytes(problem) / batch);
  sequence_values_ = AlignedBuffer(half_bytes(problem) / batch);
  const size_t newest = half_bytes(problem) / static_cast<size_t>(problem.sequence_tokens());
  newest_keys_ = Buffer(context.runtime, newest);
  newest_values_ = Buffer(context.runtime, newest);
}

int64_t PrivateCache::bytes(const AttentionProblem& problem) {
  return problem.batch * problem.sequence_tokens() * kv_token_bytes(problem);
}

PrivateCache::Tokens PrivateCache::host_tokens(int64_t sequence) {
  if (context_.runtime != nullptr)
    return {sequence_keys_.as<char>(), sequence_values_.as<char>(), packed_tokens_};
  const int64_t bytes = packed_tokens_ * kv_token_bytes(problem_) / 2;
  return {keys_.as<char>() + sequence * bytes, values_.as<char>() + sequence * bytes,
          packed_tokens_};
}

void PrivateCache::pack(int64_t tokens) {
  if (packed_tokens_ == tokens) return;
  packed_tokens_ = tokens;
  if (context_.runtime != nullptr) return bring();
  parallel_for(context_, problem_.batch, [&](int64_t sequence, int) {
    const Tokens host = host_tokens(sequence);
    for (int64_t token = 0; token < tokens; ++token) store(sequence, token, host, token);
  });
}

void PrivateCache::bring() {
  const auto bytes = static_cast<size_t>(packed_tokens_ * kv_token_bytes(problem_) / 2);
  for (int64_t sequence = 0; sequence < problem_.batch; ++sequence) {
    const Tokens host = host_tokens(sequence);
    parallel_for(context_, packed_tokens_,
                 [&](int64_t token, int) { store(sequence, token, host, token); });
    const size_t to = static_cast<size_t>(sequence) * bytes;
    keys_.write(to, host.keys, bytes);
    values_.write(to, host.values, bytes);
  }
  bring_newest();
}

void PrivateCache::bring_newest() {
  const auto bytes = static_cast<size_t>(kv_token_bytes(problem_) / 2);
  for (int64_t sequence = 0; sequence < problem_.batch; ++sequence) {
    Tokens host = host_tokens(sequence);
    host.tokens = 1;
    store(sequence, packed_tokens_ - 1, host, 0);
    const size_t to = static_cast<size_t>(sequence) * bytes;
    newest_keys_.write(to, host.keys, bytes);
    newest_values_.write(to, host.values, bytes);
  }
}

void PrivateCache::store_newest() {
  if (context_.runtime == nullptr)
    return parallel_for(context_, problem_.batch, [&](int64_t sequence, int) {
      store(sequence, packed_tokens_ - 1, host_tokens(sequence), packed_tokens_ - 1);
    });
  const size_t row = static_cast<size_t>(problem_.head_dim) * size_of(problem_.kv_dtype);
  const size_t step = static_cast<size_t>(packed_tokens_) * row;
  const auto rows = static_cast<size_t>(problem_.batch * problem_.kv_heads);
  context_.runtime->copy_within(keys_.as<char>() + (step - row), step, newest_keys_.data(), row,
                                row, rows);
  context_.runtime->copy_within(values_.as<char>() + (step - row), step, newest_values_.data(), row,
                                row, rows);
}

void PrivateCache::store(int64_t sequence, int64_t token, const Tokens& to, int64_t at) const {
  const std::span<const float> k = tokens_.key(sequence, token);
  const std::span<const float> v = tokens_.value(sequence, token);
  const auto dim = static_cast<size_t>(problem_.head_dim);
  for (int64_t head = 0; head < problem_.kv_heads; ++head) {
    const auto row = static_cast<size_t>(head * to.tokens + at);
    const size_t offset = row * dim * size_of(problem_.kv_dtype);
    const size_t from = static_cast<size_t>(head) * dim;
    convert(k.data() + from, DType::kF32, to.keys + offset, problem_.kv_dtype, dim);
    convert(v.data() + from, DType::kF32, to.values + offset, problem_.kv_dtype, dim);
  }
}

TorchAttentionOperator::TorchAttentionOperator(const MethodChoice& method,
                                               const AttentionProblem& problem,
                                               const TokenValues& values,
                                               std::shared_ptr<PrivateCache> cache,
                                               const Context& context)
    : problem_(problem),
      values_(values),
      runtime_(context.runtime),
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
            .scale = score_scale(problem),
            .q_dtype = context.runtime != nullptr ? problem.kv_dtype : DType::kF32,
            .device = torch_device(context)},
      tokens_(problem.prompt_tokens),
      queries_(context.runtime,
               static_cast<size_t>(problem.batch * problem.q_dim()) * size_of(step_.q_dtype)) {}

void TorchAttentionOperator::settle() {
  cache_->pack(tokens_);
  const auto dim = static_cast<size_t>(problem_.q_dim());
  const size_t bytes = dim * size_of(step_.q_dtype);
  std::vector<std::byte> row(bytes);
  for (int64_t sequence = 0; sequence < problem_.batch; ++sequence) {
    const std::span<const float> q = values_.query(sequence, tokens_ - 1);
    convert(q.data(), DType::kF32, row.data(), step_.q_dtype, dim);
    queries_.write(static_cast<size_t>(sequence) * bytes, row.data(), bytes);
  }
  step_.tokens = tokens_;
  attention_.emplace(step_);
}

void TorchAttentionOperator::attend() {
  if (runtime_ == nullptr) return attention_->run(queries_.data());
  runtime_->call_library([&] { attention_->run(queries_.data()); });
}

void TorchAttentionOperator::read_output(std::span<float> out) { attention_->read(out.data()); }

double TorchAttentionOperator::kv_bytes_read() const {
  return static_cast<double>(problem_.batch * tokens_ * kv_token_bytes(problem_));
}

Rounding TorchAttentionOperator::rounding() const {
  return {.sums = problem_.kv_dtype == DType::kF32 ? 1e-4 : 4 * epsilon_of(problem_.kv_dtype)};
}

Fields TorchAttentionOperator::resolved() const {
  return {{"exactness", "exact"},
          {"kernel", attention_->description()},
          {"kv_layout", "contiguous, one cache for all torch methods of the group"}};
}

}  // namespace reprise::experiments
