// Seeded weights of any shape, computed when they are read.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/model/checkpoint/random_fill.h"
#include "core/model/checkpoint/weights.h"

namespace reprise::model {
namespace {

constexpr int64_t kElementsPerBlock = int64_t{1} << 33;  // one key is used for 2^32 pairs
// 4 KiB, which stays in the first-level cache
constexpr int64_t kChunkWords = 1024;
constexpr double kBiasDeviation = 0.02;

class RandomWeights final : public WeightSource {
 public:
  explicit RandomWeights(uint64_t seed) : seed_(seed), isa_(best_isa()) {}

  void read_rows(const TensorSpec& tensor, int64_t first_row, int64_t end_row, DType dtype,
                 void* out) const override;
  void release(const TensorSpec&) const override {}

 private:
  [[nodiscard]] uint64_t key_of(const TensorSpec& tensor, int64_t block) const {
    const Role& role = tensor.role;
    const uint64_t place = (number_of(role) << 48) +
                           (static_cast<uint64_t>(role.expert + 1) << 24) +
                           static_cast<uint64_t>(role.layer + 1);
    return mix_bits(mix_bits(mix_bits(seed_) ^ place) + static_cast<uint64_t>(block));
  }
  // Number of a tensor within its layer and expert. The embedding, which has no bias, is 0. Then
  // each part has one number for its weight and one for its bias.
  static uint64_t number_of(const Role& role) {
    const auto part = static_cast<uint64_t>(role.part);
    return part == 0 ? 0 : 2 * part - 1 + (role.is_bias ? 1 : 0);
  }

  uint64_t seed_;
  Isa isa_;
};

double deviation_of(const TensorSpec& tensor) {
  if (tensor.role.is_bias) return kBiasDeviation;
  if (kind_of(tensor.role.part) == PartKind::kTable) return 1.0;
  return 1.0 / std::sqrt(static_cast<double>(tensor.cols));
}

void fill_ones(int64_t count, DType dtype, void* out) {
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    std::fill_n(static_cast<T*>(out), count, static_cast<T>(1.0f));
  });
}

void RandomWeights::read_rows(const TensorSpec& tensor, int64_t first_row, int64_t end_row,
                              DType dtype, void* out) const {
  REPRISE_CHECK(0 <= first_row && first_row <= end_row && end_row <= tensor.rows,
                "rows [{}, {}) of {}", first_row, end_row, tensor.rows);
  const int64_t end = end_row * tensor.cols;
  int64_t at = first_row * tensor.cols;
  if (kind_of(tensor.role.part) == PartKind::kNorm && !tensor.role.is_bias)
    return fill_ones(end - at, dtype, out);
  const auto half_step = static_cast<float>(deviation_of(tensor) * std::sqrt(3.0) * 0x1p-16);
  alignas(64) std::array<uint32_t, kChunkWords> words;
  auto* target = static_cast<std::byte*>(out);
  while (at < end) {
    const int64_t block = at / kElementsPerBlock;
    const int64_t first_pair = at % kElementsPerBlock / 2;
    const int64_t skipped = at % 2;  // elements of the first word that are not wanted
    const int64_t block_end = std::min(end, (block + 1) * kElementsPerBlock);
    const int64_t count = std::min(block_end - at, 2 * kChunkWords - skipped);
    const auto used = static_cast<size_t>((skipped + count + 1) / 2);
    fill_uniform_bf16(key_of(tensor, block), static_cast<uint32_t>(first_pair), half_step,
                      std::span(words).first(used), isa_);
    const auto* values = reinterpret_cast<const std::byte*>(words.data()) + skipped * 2;
    convert(values, DType::kBF16, target, dtype, static_cast<size_t>(count));
    target += static_cast<size_t>(count) * size_of(dtype);
    at += count;
  }
}

}  // namespace

std::unique_ptr<WeightSource> random_weights(const ModelConfig& /*config*/, uint64_t seed) {
  return std::make_unique<RandomWeights>(seed);
}

}  // namespace reprise::model
