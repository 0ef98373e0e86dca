// Attention steps at the papers' sizes of known models. Tests compute rooflines of them, and
// benchmarks measure the kernels on them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/kv/plan.h"

namespace reprise::kernels::cuda::testing {

struct Heads {
  const char* model;
  int64_t heads, kv_heads, head_dim;
};
inline constexpr Heads kLlama2 = {"llama-2-7b", 32, 32, 128};
inline constexpr Heads kLlama3 = {"llama-3-8b", 32, 8, 128};
inline constexpr Heads kFalcon = {"falcon-7b", 71, 1, 64};

// Decode: `rows` sequences share `shared` tokens, and each has `own` tokens more, in blocks of 16.
// Prefill: the rows are one sequence's `own` tokens.
struct Step {
  const char* what;
  Heads heads;
  int32_t rows, shared, own;
  bool is_prefill = false;
  // If false, each sequence reads the shared blocks for itself, together with its own blocks, as
  // does paged attention that maps the same blocks several times (ChunkAttention's PagedAttn*).
  // Then `shared` must be a multiple of 16.
  bool reads_shared_once = true;
};
inline constexpr Step kSteps[] = {
    {"prefill of 2048 tokens", kLlama2, 2048, 0, 2048, true},
    {"prefill of 2048 tokens", kLlama3, 2048, 0, 2048, true},
    {"prefill of 256 tokens after 2048 cached ones", kLlama2, 256, 2048, 256, true},
    {"prefill of 256 tokens after 2048 cached ones, in one item", kLlama2, 256, 2048, 256, true,
     false},
    {"decode of 32 sequences, nothing shared", kLlama2, 32, 0, 4096},
    {"decode of 32 sequences, half of the prompt shared", kLlama2, 32, 2048, 2048},
    {"decode of 32 sequences, the prompt shared", kLlama2, 32, 4096, 64},
    {"decode of 32 sequences, nothing shared", kLlama3, 32, 0, 4096},
    {"decode of 32 sequences, the prompt shared", kLlama3, 32, 4096, 64},
    {"decode of 32 sequences, nothing shared", kFalcon, 32, 0, 2048},
    {"decode of one sequence", kLlama3, 1, 0, 32768},
    {"decode of 32 sequences that have just begun", kLlama2, 32, 0, 128},
};
inline constexpr int32_t kBlockTokens = 16;

// [ChunkAttention, table 3]: 32 sequences with prompts of 1024 to 4096 tokens, of which a part is
// shared, and one block of new tokens for each sequence. The steps with nothing shared stand for
// the paper's vLLM at that length.
inline std::vector<Step> table3_steps() {
  std::vector<Step> steps;
  for (const int32_t prompt : {1024, 2048, 4096})
    for (const int32_t percent : {0, 50, 75, 100})
      for (const bool once : {true, false}) {
        const int32_t shared = prompt * percent / 100;
        if (shared == 0 && !once) continue;
        steps.push_back({.what = "ChunkAttention table 3",
                         .heads = kLlama2,
                         .rows = 32,
                         .shared = shared,
                         .own = prompt - shared + kBlockTokens,
                         .reads_shared_once = once});
      }
  return steps;
}

// A name that tools/gpu_against_torch.py parses: "prefill/llama-2-7b/rows:2048/shared:0/own:2048".
inline std::string name_of(const Step& step) {
  return std::string(step.is_prefill ? "prefill/" : "decode/") + step.heads.model +
         "/heads:" + std::to_string(step.heads.heads) +
         "/kv_heads:" + std::to_string(step.heads.kv_heads) +
         "/head_dim:" + std::to_string(step.heads.head_dim) + "/rows:" + std::to_string(step.rows) +
         "/shared:" + std::to_string(step.shared) + "/own:" + std::to_string(step.own) +
         (step.reads_shared_once ? "" : "/paged");
}

// Elements of a block in a cache of one layer: [kv_heads, block_tokens, head_dim].
inline int64_t block_elements(const Step& step) {
  return step.heads.kv_heads * kBlockTokens * step.heads.head_dim;
}

inline int32_t blocks_of(int32_t tokens) { return (tokens + kBlockTokens - 1) / kBlockTokens; }

inline int32_t blocks_of(const Step& step) {
  return blocks_of(step.shared) + (step.is_prefill ? 1 : step.rows) * blocks_of(step.own);
}

// The pool whose blocks a step reads: [layers, blocks, ...] or [blocks, layers, ...].
struct Pool {
  int64_t layers = 1;
  bool blocks_first = false;
};

// The step's plan over `cache`. Its segments take the blocks_of(step) blocks in random order, like
// the blocks of a pool that has been in use.
inline kv::AttentionPlan plan_of(const Step& step, const kv::CacheView& cache,
                                 const Pool& pool = {}) {
  const int64_t block_stride = (pool.blocks_first ? pool.layers : 1) * block_elements(step);
  std::vector<int64_t> places(static_cast<size_t>(blocks_of(step)));
  std::iota(places.begin(), places.end(), 0);
  std::shuffle(places.begin(), places.end(), std::mt19937_64(1));
  auto next = places.begin();
  kv::AttentionPlan plan;
  plan.begin(cache);
  const auto take_blocks = [&](int32_t tokens) {
    std::vector<int64_t> offsets;
    for (int32_t i = 0; i < blocks_of(tokens); ++i) offsets.push_back(*next++ * block_stride);
    return offsets;
  };
  const auto add_segment = [&](int32_t tokens, int32_t first_position) {
    return plan.add_segment(
        {.block_tokens = kBlockTokens, .tokens = tokens, .first_position = first_position},
        take_blocks(tokens));
  };
  for (int32_t row = 0; row < step.rows; ++row) {
    const int32_t position = step.shared + (step.is_prefill ? row : step.own - 1);
    plan.row_positions.push_back(position);
    plan.row_lengths.push_back(position + 1);
    plan.row_slots.push_back(kv::kNoSlot);
  }
  if (!step.reads_shared_once) {
    const std::vector<int64_t> shared = take_blocks(step.shared);
    const auto add_whole_segment = [&] {
      std::vector<int64_t> offsets = shared;
      for (const int64_t offset : take_blocks(step.own)) offsets.push_back(offset);
      return plan.add_segment(
          {.block_tokens = kBlockTokens, .tokens = step.shared + step.own, .first_position = 0},
          offsets);
    };
    if (step.is_prefill)
      plan.add_item({.segment = add_whole_segment(),
                     .first_row = 0,
                     .end_row = step.rows,
                     .mask = kv::Mask::kCausal,
                     .visible = step.shared + 1});
    else
      for (int32_t row = 0; row < step.rows; ++row)
        plan.add_item({.segment = add_whole_segment(), .first_row = row, .end_row = row + 1});
    plan.finish();
    return plan;
  }
  if (step.shared > 0)
    plan.add_item({.segment = add_segment(step.shared, 0), .first_row = 0, .end_row = step.rows});
  if (step.is_prefill) {
    plan.add_item({.segment = add_segment(step.own, step.shared),
                   .first_row = 0,
                   .end_row = step.rows,
                   .mask = kv::Mask::kCausal,
                   .visible = 1});
  } else {
    for (int32_t row = 0; row < step.rows; ++row)
      plan.add_item(
          {.segment = add_segment(step.own, step.shared), .first_row = row, .end_row = row + 1});
  }
  plan.finish();
  return plan;
}

// A cache in memory that is laid out as plan_of() expects. The pointers may be null, because
// counting work needs no addresses.
inline kv::CacheView cache_of(const Step& step, void* keys = nullptr, void* values = nullptr,
                              const Pool& pool = {}) {
  return {.keys = keys,
          .values = values,
          .dtype = DType::kBF16,
          .device = Device::kCuda,
          .layer_stride = (pool.blocks_first ? 1 : blocks_of(step)) * block_elements(step),
          .head_stride = kBlockTokens * step.heads.head_dim,
          .kv_heads = step.heads.kv_heads,
          .head_dim = step.heads.head_dim};
}

}  // namespace reprise::kernels::cuda::testing
