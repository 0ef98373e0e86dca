// Tests plans whose segments lie in several caches (other dtypes, other strides, a mapped file),
// and plans that several contributors write together.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/mapped_file.h"
#include "core/kernels/attention/attention.h"
#include "core/kernels/attention/reference/attention.h"
#include "core/kernels/kv_write/kv_write.h"
#include "core/kv/block_pool.h"
#include "tests/core/kernels/attention/attention_cases.h"
#include "tests/core/kernels/attention/explained.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using reprise::testing::available_isas;
using reprise::testing::random_values;
using testing::RandomCache;

constexpr DType kAllDtypes[] = {DType::kF32, DType::kBF16, DType::kF16};

std::vector<float> run(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
                       const AttentionParams& params, Isa isa) {
  std::vector<float> out(static_cast<size_t>(plan.rows() * q.heads * plan.head_dim()), 55.0f);
  AttentionWorkspace workspace;
  attention(plan, layer, q, params, {.data = out.data()}, workspace, {.threads = 2, .isa = isa});
  return out;
}

TEST(AttentionCaches, RandomPlansOverSeveralCachesMatchTheReference) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto pick = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(random);
    };
    const int64_t kv_heads = pick(1, 3), heads = kv_heads * pick(1, 9), head_dim = pick(1, 70);
    // Strides differ because the numbers of layers and the block sizes do.
    std::vector<RandomCache> caches;
    for (int count = pick(2, 3), i = 0; i < count; ++i)
      caches.emplace_back(kAllDtypes[(seed + static_cast<uint64_t>(i)) % 3], 16, pick(2, 4),
                          kv_heads, pick(1, 90), head_dim, seed * 10 + static_cast<uint64_t>(i));
    const kv::AttentionPlan plan = testing::random_plan_over(caches, pick);
    const int rows = plan.rows();
    AttentionParams params{.scale = 1.0f / std::sqrt(static_cast<float>(head_dim))};
    if (pick(0, 3) == 0) params.window = pick(1, 500);
    std::vector<float> slopes;
    for (int64_t head = 0; head < heads; ++head)
      slopes.push_back(0.5f / static_cast<float>(head + 1));
    if (pick(0, 3) == 0) params.alibi = {.slopes = slopes};
    const std::vector<float> q = testing::random_queries(rows * heads * head_dim, seed);
    const QueryView view{.data = q.data(), .row_stride = heads * head_dim, .heads = heads};
    const auto want = reference::attention_with_errors(plan, 1, view, params);
    for (Isa isa : available_isas())
      ASSERT_NO_FATAL_FAILURE(testing::expect_explained(run(plan, 1, view, params, isa), want,
                                                        testing::cpu_rounding(plan, isa),
                                                        std::string(name_of(isa))));
  }
}

// ---- contributions to one plan ----

constexpr int64_t kLayers = 2, kLayer = 1, kKvHeads = 2, kHeads = 4, kDim = 32;
constexpr int32_t kBlockTokens = 16;

// Keys and values of a run of tokens, [tokens, kv_heads, head_dim] each, rounded to bf16.
struct Tokens {
  int32_t count;
  std::vector<float> keys, values;
  Tokens(int32_t tokens, uint64_t seed)
      : count(tokens),
        keys(random_values(tokens * kKvHeads * kDim, seed, DType::kBF16)),
        values(random_values(tokens * kKvHeads * kDim, seed + 1, DType::kBF16)) {}
};

// A contributor: a system prompt in blocks of the step's own pool, which every row reads.
class SystemPrompt {
 public:
  SystemPrompt(const Tokens& tokens, kv::BlockPool& pool) : tokens_(tokens.count) {
    kv::AttentionPlan plan;
    plan.begin(pool.view());
    for (int32_t t = 0; t < tokens_; ++t) {
      if (t % kBlockTokens == 0) blocks_.push_back(pool.offset_of(pool.take()));
      plan.row_positions.push_back(t);
      plan.row_lengths.push_back(tokens_);
      plan.row_slots.push_back(blocks_.back() + t % kBlockTokens * kDim);
    }
    plan.finish();
    write_kv(plan, kLayer, tokens.keys.data(), tokens.values.data(), kKvHeads * kDim, {});
  }
  void contribute(kv::AttentionPlan& plan, int32_t rows) const {
    const int32_t segment =
        plan.add_segment({.block_tokens = kBlockTokens, .tokens = tokens_}, blocks_);
    plan.add_item({.segment = segment, .first_row = 0, .end_row = rows});
  }

 private:
  int32_t tokens_;
  std::vector<int64_t> blocks_;
};

// Another contributor: a module that is encoded once into a file. The file is mapped and read in
// place.
//
//   keys, then values: [layers, kv_heads, tokens, head_dim] bf16
class ModuleFile {
 public:
  ModuleFile(const Tokens& tokens, const std::filesystem::path& path)
      : tokens_(tokens.count), file_(written(tokens, path)) {}
  void contribute(kv::AttentionPlan& plan, int32_t first_position, int32_t first_row,
                  int32_t end_row) const {
    auto* bytes = const_cast<std::byte*>(file_.bytes().data());
    const int32_t cache = plan.add_cache({.keys = bytes,
                                          .values = bytes + file_.bytes().size() / 2,
                                          .dtype = DType::kBF16,
                                          .layer_stride = kKvHeads * tokens_ * kDim,
                                          .head_stride = tokens_ * kDim,
                                          .kv_heads = kKvHeads,
                                          .head_dim = kDim});
    const int32_t segment = plan.add_segment({.cache = cache,
                                              .block_tokens = tokens_,
                                              .tokens = tokens_,
                                              .first_position = first_position},
                                             std::vector<int64_t>{0});
    plan.add_item({.segment = segment, .first_row = first_row, .end_row = end_row});
  }

 private:
  static const std::filesystem::path& written(const Tokens& tokens,
                                              const std::filesystem::path& path) {
    std::vector<bf16> data(static_cast<size_t>(2 * kLayers * kKvHeads * tokens.count * kDim));
    size_t at = 0;
    for (const std::vector<float>* rows : {&tokens.keys, &tokens.values})
      for (int64_t layer = 0; layer < kLayers; ++layer)
        for (int64_t head = 0; head < kKvHeads; ++head)
          for (int64_t t = 0; t < tokens.count; ++t)
            for (int64_t c = 0; c < kDim; ++c, ++at)
              if (layer == kLayer)
                data[at] = bf16((*rows)[static_cast<size_t>((t * kKvHeads + head) * kDim + c)]);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(data.data()),
               static_cast<std::streamsize>(data.size() * sizeof(bf16)));
    return path;
  }
  int32_t tokens_;
  MappedFile file_;
};

// The attention of a sequence, row by row, without plans. The sequence consists of `runs`, one
// after another; the last run holds the rows' own tokens.
reference::ExactRows expected(const std::vector<const Tokens*>& runs, std::span<const float> q,
                              const AttentionParams& params) {
  int32_t tokens = 0;
  for (const Tokens* run : runs) tokens += run->count;
  RandomCache cache(DType::kF32, 1, 1, kKvHeads, tokens, kDim, 1);
  int64_t token = 0;
  for (const Tokens* run : runs)
    for (int64_t t = 0; t < run->count; ++t, ++token)
      for (int64_t head = 0; head < kKvHeads; ++head)
        for (int64_t c = 0; c < kDim; ++c) {
          const int64_t to = (head * tokens + token) * kDim + c;
          const auto from = static_cast<size_t>((t * kKvHeads + head) * kDim + c);
          cache.keys.as<float>()[to] = run->keys[from];
          cache.values.as<float>()[to] = run->values[from];
        }
  const int32_t rows = runs.back()->count;
  return reference::attention_with_errors(
      testing::causal_plan(cache, tokens - rows, rows), 0,
      {.data = q.data(), .row_stride = kHeads * kDim, .heads = kHeads}, params);
}

// One plan has two contributors and the own tokens of three sequences (one decodes, two prefill).
// Every row attends to what its sequence has. The system prompt and the module are read once for
// all sequences.
TEST(AttentionCaches, ContributorsWriteOnePlanTogether) {
  kv::BlockPool pool({.layers = kLayers,
                      .kv_heads = kKvHeads,
                      .head_dim = kDim,
                      .dtype = DType::kF32,
                      .block_tokens = kBlockTokens,
                      .num_blocks = 16});
  const Tokens system(37, 1), module(150, 3);
  const SystemPrompt system_prompt(system, pool);
  const std::filesystem::path path =
      ::testing::TempDir() + "reprise_module_" + std::to_string(::getpid());
  const ModuleFile module_file(module, path);
  std::filesystem::remove(path);  // the mapping keeps it

  std::vector<Tokens> own;
  for (int32_t rows : {1, 9, 4}) own.emplace_back(rows, 100 + static_cast<uint64_t>(rows));
  constexpr int32_t kImporting = 10;  // rows of the first two sequences, which import the module
  // The plan's rows and slots are set as an engine sets them; the sequences' own segments are added
  // here too.
  kv::AttentionPlan plan;
  plan.begin(pool.view());
  std::vector<float> keys, values;
  for (const Tokens& tokens : own) {
    const int32_t first_row = plan.rows(), end_row = first_row + tokens.count;
    const int32_t first = system.count + (first_row < kImporting ? module.count : 0);
    const int64_t block = pool.offset_of(pool.take());
    for (int32_t t = 0; t < tokens.count; ++t) {
      plan.row_positions.push_back(first + t);
      plan.row_lengths.push_back(first + tokens.count);
      plan.row_slots.push_back(block + t * kDim);
    }
    const int32_t segment = plan.add_segment(
        {.block_tokens = kBlockTokens, .tokens = tokens.count, .first_position = first},
        std::vector<int64_t>{block});
    plan.add_item({.segment = segment,
                   .first_row = first_row,
                   .end_row = end_row,
                   .mask = kv::Mask::kCausal,
                   .visible = 1});
    keys.insert(keys.end(), tokens.keys.begin(), tokens.keys.end());
    values.insert(values.end(), tokens.values.begin(), tokens.values.end());
  }
  system_prompt.contribute(plan, plan.rows());
  module_file.contribute(plan, system.count, 0, kImporting);
  plan.finish();

  const std::vector<float> slopes = {0.5f, 0.25f, 0.125f, 0.0625f};
  const AttentionParams params{.scale = 0.2f, .alibi = {.slopes = slopes}};
  const std::vector<float> q = testing::random_queries(plan.rows() * kHeads * kDim, 9);
  reference::ExactRows want;
  for (size_t i = 0, row = 0; i < own.size(); row += static_cast<size_t>(own[i++].count)) {
    std::vector<const Tokens*> runs = {&system, &module, &own[i]};
    if (row >= kImporting) runs.erase(runs.begin() + 1);
    const reference::ExactRows rows =
        expected(runs, std::span(q).subspan(row * kHeads * kDim), params);
    want.outputs.insert(want.outputs.end(), rows.outputs.begin(), rows.outputs.end());
    want.heads.insert(want.heads.end(), rows.heads.begin(), rows.heads.end());
  }
  for (Isa isa : available_isas()) {
    write_kv(plan, kLayer, keys.data(), values.data(), kKvHeads * kDim, {.threads = 2, .isa = isa});
    const QueryView view{.data = q.data(), .row_stride = kHeads * kDim, .heads = kHeads};
    ASSERT_NO_FATAL_FAILURE(testing::expect_explained(run(plan, kLayer, view, params, isa), want,
                                                      testing::cpu_rounding(plan, isa),
                                                      std::string(name_of(isa))));
  }
}

}  // namespace
}  // namespace reprise::kernels
