#include "workloads/random_tokens.h"

#include "core/base/error.h"

namespace reprise::workloads {
namespace {

// A bijection of 64-bit words whose output bits each depend on every input bit: odd multiplications
// and shifts; the constants are the usual ones of splitmix64.
uint64_t scramble(uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
  return word ^ (word >> 31);
}

}  // namespace

uint64_t stream_word(uint64_t seed, uint64_t item, uint64_t index) {
  constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;
  return scramble(scramble(scramble(seed + kStep) + item * kStep + 1) + index * kStep + 1);
}

std::vector<int32_t> random_tokens(uint64_t seed, int64_t request, int64_t tokens, int64_t vocab) {
  REPRISE_CHECK(vocab > 0 && vocab <= INT32_MAX && tokens >= 0, "vocab {}, tokens {}", vocab,
                tokens);
  std::vector<int32_t> ids(static_cast<size_t>(tokens));
  for (size_t t = 0; t < ids.size(); ++t) {
    // The upper half of word * vocab: uniform to within vocab / 2^32, without a division.
    const uint64_t high = stream_word(seed, static_cast<uint64_t>(request), t) >> 32;
    ids[t] = static_cast<int32_t>((high * static_cast<uint64_t>(vocab)) >> 32);
  }
  return ids;
}

}  // namespace reprise::workloads
