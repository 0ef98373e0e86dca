#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/device/cpu/probe.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "core/device/cpu/probe.h"

#include <cstring>

#include "core/device/cpu/tag-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = WholeTag<float>;
using Vec = hn::Vec<Tag>;
constexpr int kN = static_cast<int>(hn::MaxLanes(Tag()));

float ReadAll(const void* data, size_t bytes) {
  const Tag d;
  const auto* in = static_cast<const float*>(data);
  const size_t count = bytes / sizeof(float);
  constexpr size_t kAhead =
      1024;  // floats: one 4 KiB page ahead, where the hardware's prefetcher stops
  Vec sum[8];
  for (Vec& s : sum) s = hn::Zero(d);
  for (size_t i = 0; i < count; i += 8 * kN)
    for (int j = 0; j < 8; ++j) {
      const float* at = in + i + static_cast<size_t>(j * kN);
      __builtin_prefetch(at + kAhead);
      sum[j] = hn::Add(sum[j], hn::Load(d, at));
    }
  for (int j = 1; j < 8; ++j) sum[0] = hn::Add(sum[0], sum[j]);
  return hn::GetLane(sum[0]);
}

uint32_t SumWords(const void* data, size_t bytes) {
  const WholeTag<uint32_t> d;
  const size_t n = hn::Lanes(d);
  const auto* in = static_cast<const uint32_t*>(data);
  const size_t count = bytes / sizeof(uint32_t);
  hn::Vec<decltype(d)> sum[4];
  for (auto& s : sum) s = hn::Zero(d);
  size_t i = 0;
  for (; i + 4 * n <= count; i += 4 * n)
    for (size_t j = 0; j < 4; ++j) sum[j] = hn::Add(sum[j], hn::LoadU(d, in + i + j * n));
  for (int j = 1; j < 4; ++j) sum[0] = hn::Add(sum[0], sum[j]);
  // SumOfLanes is not used: GCC's reduction adds signed numbers, whose overflow is undefined.
  uint32_t lanes[16];
  hn::StoreU(sum[0], d, lanes);
  uint32_t total = 0;
  for (size_t lane = 0; lane < n; ++lane) total += lanes[lane];
  for (; i < count; ++i) {
    uint32_t word;
    std::memcpy(&word, in + i, sizeof word);
    total += word;
  }
  return total;
}

double MultiplyAdd(int64_t rounds) {
  const Tag d;
  constexpr int kChains = HWY_TARGET == HWY_AVX3 ? 24 : 12;
  const Vec factor = hn::Set(d, 0.999f), addend = hn::Set(d, 0.001f);
  Vec chain[kChains];
#pragma GCC unroll 24
  for (int c = 0; c < kChains; ++c) chain[c] = hn::Set(d, static_cast<float>(c));
  for (int64_t round = 0; round < rounds; ++round)
#pragma GCC unroll 24
    for (int c = 0; c < kChains; ++c) chain[c] = hn::MulAdd(chain[c], factor, addend);
  for (int c = 1; c < kChains; ++c) chain[0] = hn::Add(chain[0], chain[c]);
  volatile float kept = hn::GetLane(chain[0]);
  (void)kept;
  return 2.0 * kChains * kN * static_cast<double>(rounds);
}

}  // namespace reprise::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/device/cpu/hwy_dispatch.h"

namespace reprise::cpu {

HWY_EXPORT(ReadAll);
HWY_EXPORT(SumWords);
HWY_EXPORT(MultiplyAdd);

float read_all(const void* data, size_t bytes, Isa isa) {
  return REPRISE_DISPATCH(ReadAll, isa)(data, bytes);
}
uint32_t sum_words(const void* data, size_t bytes, Isa isa) {
  return REPRISE_DISPATCH(SumWords, isa)(data, bytes);
}

double multiply_add_f32(int64_t rounds, Isa isa) {
  return REPRISE_DISPATCH(MultiplyAdd, isa)(rounds);
}

}  // namespace reprise::cpu
#endif
