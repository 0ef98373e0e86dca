// Converts eight-bit codes to bf16 by byte permutations that look up 64 codes at once. Two tables
// have the lower and the upper byte of the bf16 of 0 to 127; the sign bit of the code becomes the
// sign bit of the number. This takes 16 instructions for 128 weights; widening to f32 takes 28.
#include <immintrin.h>

#include <array>

#include "core/base/dtype.h"
#include "core/kernels/linear/cpu/quantized_panel.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx2,fma")

namespace reprise::kernels::cpu {
namespace {

inline __m512i load(const void* at) { return _mm512_loadu_si512(at); }

struct alignas(64) Tables {
  // The lower and the upper byte of the bf16 of 0 to 127.
  std::array<uint8_t, 128> low, high;
  // A permutation for each half of the outputs ([0, 32) and [32, 64)). For output after output it
  // selects the code of an input (index 0 to 63) and the code of the next input (index 64 on). The
  // first 16 of these 32 outputs go to the lower halves of the four 128-bit lanes, the last 16 to
  // the upper halves, because unpacking makes one register of all lower halves and another of all
  // upper halves.
  std::array<std::array<uint8_t, 64>, 2> order;
};

Tables make_tables() {
  Tables tables;
  for (size_t i = 0; i < tables.low.size(); ++i) {
    const uint16_t bits = bf16(static_cast<float>(i)).bits;
    tables.low[i] = static_cast<uint8_t>(bits & 0xff);
    tables.high[i] = static_cast<uint8_t>(bits >> 8);
  }
  for (size_t half = 0; half < 2; ++half)
    for (size_t i = 0; i < 64; ++i) {
      const size_t lane = i / 16, upper = i / 8 % 2, output = i / 2 % 4, input = i % 2;
      tables.order[half][i] =
          static_cast<uint8_t>(64 * input + 32 * half + 16 * upper + 4 * lane + output);
    }
  return tables;
}

}  // namespace

void decode_bytes_avx512_vbmi(const void* codes, int64_t steps, void* out) {
  static const Tables tables = make_tables();
  const __m512i low0 = load(tables.low.data()), low1 = load(tables.low.data() + 64);
  const __m512i high0 = load(tables.high.data()), high1 = load(tables.high.data() + 64);
  const __m512i order[] = {load(tables.order[0].data()), load(tables.order[1].data())};
  const __m512i sign = _mm512_set1_epi8(static_cast<char>(0x80));
  const char* at = static_cast<const char*>(codes);
  char* to = static_cast<char*>(out);
  for (int64_t pair = 0; pair < steps * kStepInputs / 2; ++pair, at += 128) {
    _mm_prefetch(at + kFetchBytes, _MM_HINT_T1);
    _mm_prefetch(at + kFetchBytes + 64, _MM_HINT_T1);
    const __m512i even = load(at), odd = load(at + 64);
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half, to += 128) {
      const __m512i code = _mm512_permutex2var_epi8(even, order[half], odd);
      const __m512i magnitude = _mm512_abs_epi8(code);
      const __m512i low = _mm512_permutex2var_epi8(low0, magnitude, low1);
      // upper byte | (code & sign)
      const __m512i high = _mm512_ternarylogic_epi64(
          _mm512_permutex2var_epi8(high0, magnitude, high1), code, sign, 0xf8);
      _mm512_storeu_si512(to, _mm512_unpacklo_epi8(low, high));
      _mm512_storeu_si512(to + 64, _mm512_unpackhi_epi8(low, high));
    }
  }
}

}  // namespace reprise::kernels::cpu

#pragma GCC pop_options
