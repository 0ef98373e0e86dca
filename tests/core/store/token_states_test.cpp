#include "core/store/token_states.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "core/kv/block_pool.h"

namespace reprise::kv {
namespace {

// Fills a pool's memory with random bytes, so that each place can be recognized.
void fill(const BlockPool& pool, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto bytes = static_cast<size_t>(pool.block_bytes() / 2 * pool.options().num_blocks);
  for (void* half : {pool.view().keys, pool.view().values})
    std::generate_n(static_cast<uint8_t*>(half), bytes,
                    [&] { return static_cast<uint8_t>(random()); });
}

// One element of keys and of values, as bits.
std::pair<uint32_t, uint32_t> bits_at(const CacheView& cache, int64_t element) {
  const auto size = static_cast<int64_t>(size_of(cache.dtype));
  uint32_t key = 0, value = 0;
  std::copy_n(static_cast<const uint8_t*>(cache.keys) + element * size, size,
              reinterpret_cast<uint8_t*>(&key));
  std::copy_n(static_cast<const uint8_t*>(cache.values) + element * size, size,
              reinterpret_cast<uint8_t*>(&value));
  return {key, value};
}

// Tokens [0, tokens) cut into runs of random lengths, each in a block of its own.
std::vector<TokenRun> scattered(const BlockPool& pool, int32_t tokens, std::mt19937_64& random) {
  std::vector<int32_t> blocks(static_cast<size_t>(pool.options().num_blocks));
  std::iota(blocks.begin(), blocks.end(), 0);
  std::shuffle(blocks.begin(), blocks.end(), random);
  std::vector<TokenRun> runs;
  for (int32_t token = 0; token < tokens;) {
    const auto most = std::min(tokens - token, pool.options().block_tokens);
    const auto length = 1 + static_cast<int32_t>(random() % static_cast<uint64_t>(most));
    const auto in_block = static_cast<int32_t>(
        random() % static_cast<uint64_t>(pool.options().block_tokens - length + 1));
    runs.push_back({.first_token = token,
                    .tokens = length,
                    .offset = pool.offset_of(blocks[runs.size()], in_block)});
    token += length;
  }
  return runs;
}

TEST(TokenStates, GoOutAndComeBackToOtherPlacesBitForBit) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    for (uint64_t seed : {1, 2, 3, 4}) {
      std::mt19937_64 random(seed);
      const BlockPoolOptions shape{.layers = 1 + static_cast<int64_t>(seed % 3),
                                   .kv_heads = 1 + static_cast<int64_t>(seed % 2) * 2,
                                   .head_dim = 5,
                                   .dtype = dtype,
                                   .block_tokens = 7,
                                   .num_blocks = 60};
      const BlockPool from(shape), to(shape), untouched(shape);
      fill(from, seed);
      fill(to, seed + 1);
      fill(untouched, seed + 1);
      const Context context{.threads = 2};
      const int32_t tokens = seed == 1 ? 1 : 40;
      const std::vector<TokenRun> out = scattered(from, tokens, random);
      const SegmentBuffer states = copy_out(from.view(), shape.layers, out, context);
      EXPECT_EQ(states.shape.tokens, tokens);
      // Copies back only the last third of the tokens.
      const int32_t first = tokens * 2 / 3;
      std::vector<TokenRun> back = scattered(to, tokens, random);
      std::erase_if(back, [&](const TokenRun& run) { return run.first_token < first; });
      copy_back(states, 0, back, to.view(), context);

      const CacheView view = to.view();
      std::vector<bool> is_written(static_cast<size_t>(to.block_bytes() / 2 * shape.num_blocks) /
                                   size_of(dtype));
      for (const TokenRun& run : back)
        for (int64_t layer = 0; layer < shape.layers; ++layer)
          for (int64_t head = 0; head < shape.kv_heads; ++head)
            for (int64_t i = 0; i < run.tokens * shape.head_dim; ++i) {
              const int64_t place = layer * view.layer_stride + head * view.head_stride;
              const int32_t token = run.first_token + static_cast<int32_t>(i / shape.head_dim);
              const auto source = std::find_if(out.begin(), out.end(), [&](const TokenRun& o) {
                return o.first_token <= token && token < o.first_token + o.tokens;
              });
              const int64_t in_source =
                  (token - source->first_token) * shape.head_dim + i % shape.head_dim;
              ASSERT_EQ(bits_at(view, run.offset + place + i),
                        bits_at(from.view(), source->offset + place + in_source));
              is_written[static_cast<size_t>(run.offset + place + i)] = true;
            }
      for (size_t element = 0; element < is_written.size(); ++element)
        ASSERT_TRUE(is_written[element] ||
                    bits_at(view, static_cast<int64_t>(element)) ==
                        bits_at(untouched.view(), static_cast<int64_t>(element)));
    }
}

TEST(TokenStates, ABufferMayBeginAnywhereInTheSequence) {
  const BlockPoolOptions shape{
      .layers = 2, .kv_heads = 1, .head_dim = 3, .block_tokens = 8, .num_blocks = 4};
  const BlockPool pool(shape);
  fill(pool, 1);
  const TokenRun out{.first_token = 16, .tokens = 5, .offset = pool.offset_of(2)};
  const SegmentBuffer states = copy_out(pool.view(), 2, {&out, 1}, {});
  EXPECT_EQ(states.shape.tokens, 5);
  const TokenRun back{.first_token = 18, .tokens = 3, .offset = pool.offset_of(0, 4)};
  copy_back(states, 16, {&back, 1}, pool.view(), {});
  for (int64_t i = 0; i < 9; ++i)
    EXPECT_EQ(bits_at(pool.view(), pool.offset_of(0, 4) + i),
              bits_at(pool.view(), pool.offset_of(2, 2) + i));
}

}  // namespace
}  // namespace reprise::kv
