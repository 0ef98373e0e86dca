// Models whose matrices are held as codes.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/kernels/weight.h"
#include "core/model/checkpoint/weights.h"
#include "core/model/network/decoder.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/max_difference.h"
#include "tests/support/reference_decoder.h"
#include "tests/support/run_model.h"
#include "tests/support/tiny_models.h"

namespace reprise::model {
namespace {

using reprise::testing::all_logits;
using reprise::testing::counted;
using reprise::testing::max_difference;
using reprise::testing::ReferenceDecoder;
using reprise::testing::scaled_down;

constexpr WeightFormat kFormats[] = {WeightFormat::kInt8, WeightFormat::kInt4, WeightFormat::kNf4,
                                     WeightFormat::kNf4Double};

std::vector<int32_t> some_ids(int32_t count) {
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < count; ++i) ids.push_back((i * i * 7 + 3) % 97);
  return ids;
}

// What a format holds of the weights of another source; quantized_linear_test.cpp holds that against
// its rule.
class HeldSource final : public WeightSource {
 public:
  HeldSource(const WeightSource& from, WeightFormat format) : from_(from), format_(format) {}

  void read_rows(const TensorSpec& spec, int64_t first, int64_t end, DType dtype,
                 void* out) const override {
    std::vector<float> all(static_cast<size_t>(spec.rows * spec.cols));
    from_.read_rows(spec, 0, spec.rows, DType::kF32, all.data());
    const bool is_coded = is_quantized(held_type(spec.role.part, format_).format);
    if (is_coded && !spec.role.is_bias) {
      const auto fill = [&](int64_t row, int64_t end_row, void* to) {
        std::copy(all.begin() + row * spec.cols, all.begin() + end_row * spec.cols,
                  static_cast<float*>(to));
      };
      const kernels::Weight held(spec.rows, spec.cols, format_, fill, {});
      std::vector<float> values(all.size());
      held.read_block(0, spec.rows, 0, spec.cols, values.data());
      all = std::move(values);
    }
    convert(all.data() + first * spec.cols, DType::kF32, out, dtype,
            static_cast<size_t>((end - first) * spec.cols));
  }
  void release(const TensorSpec&) const override {}

 private:
  const WeightSource& from_;
  WeightFormat format_;
};

std::unique_ptr<Decoder> load_shape(const std::string& shape, const LoadOptions& options,
                                    const Context& context = Context::machine()) {
  const TempDir dir;
  dir.write("config.json", scaled_down(shape).dump());
  LoadOptions all = options;
  all.random_weights = true;
  all.seed = 1;
  return load_decoder(dir.path(), all, context);
}

// A dense model with fused q, k and v of several lengths, one with tied embeddings, and two with
// experts.
const char* const kShapes[] = {"llama-3.2-3b", "falcon-7b", "qwen1.5-moe-a2.7b",
                               "deepseek-moe-16b"};

// In f32, what is left is rounding: more than of plain weights (decoder_test.cpp), since codes of
// int4 are summed apart from their minimum.
TEST(QuantizedDecoder, LogitsAreThoseOfTheHeldWeights) {
  const std::vector<int32_t> ids = some_ids(19);
  for (const std::string shape : kShapes)
    for (const WeightFormat format : kFormats)
      for (const Isa isa : {Isa::kPortable, best_isa()}) {
        const auto decoder = load_shape(shape, {.weight_format = format}, {.threads = 2, .isa = isa});
        const auto random = random_weights(decoder->config(), 1);
        const HeldSource held(*random, format);
        const std::vector<double> want =
            ReferenceDecoder(decoder->config(), held).logits(ids, counted(19));
        for (const int32_t chunk : {19, 1})
          EXPECT_LE(max_difference(all_logits(*decoder, ids, chunk), want), 2e-4)
              << shape << " " << name_of(format) << " " << name_of(isa) << " chunk " << chunk;
      }
}

// Activations in bf16 round as they do beside plain weights: decoder_test.cpp's bound.
TEST(QuantizedDecoder, Bf16StaysNearTheHeldWeights) {
  const std::vector<int32_t> ids = some_ids(19);
  for (const WeightFormat format : kFormats) {
    const auto decoder =
        load_shape("llama-3.2-3b", {.dtype = DType::kBF16, .weight_format = format});
    const auto random = random_weights(decoder->config(), 1);
    const HeldSource held(*random, format);
    const std::vector<double> want =
        ReferenceDecoder(decoder->config(), held).logits(ids, counted(19));
    for (const int32_t chunk : {19, 1})
      EXPECT_LE(max_difference(all_logits(*decoder, ids, chunk, DType::kBF16), want), 0.28)
          << name_of(format) << " chunk " << chunk;
  }
}

TEST(QuantizedDecoder, FewerBitsTakeLessMemoryAndSayHowMuch) {
  for (const std::string shape : kShapes) {
    int64_t more = load_shape(shape, {.dtype = DType::kBF16})->weight_bytes();
    for (const WeightFormat format :
         {WeightFormat::kInt8, WeightFormat::kNf4, WeightFormat::kNf4Double}) {
      const auto decoder = load_shape(shape, {.dtype = DType::kBF16, .weight_format = format});
      EXPECT_LT(decoder->weight_bytes(), more) << shape << " " << name_of(format);
      more = decoder->weight_bytes();
      // As held, small matrices are padded to panels.
      EXPECT_LT(weight_bytes(decoder->config(), {format, DType::kBF16}), more) << shape;
    }
  }
  // Of 8.03 billion weights, the 1.05 of embedding and head stay in bf16.
  const ModelConfig llama = load_config("llama-3-8b");
  const auto gib = [&](WeightType type) {
    return static_cast<double>(weight_bytes(llama, type)) / 0x1p30;
  };
  EXPECT_NEAR(gib(DType::kBF16), 14.96, 0.01);
  EXPECT_NEAR(gib({WeightFormat::kNf4, DType::kBF16}), 5.61, 0.01);
}

TEST(QuantizedDecoder, EmbeddingsHeadsRoutersAndGatesStayPlain) {
  const WeightType type(WeightFormat::kInt4, DType::kBF16);
  for (const Part part : {Part::kEmbedding, Part::kHead, Part::kRouter, Part::kSharedGate,
                          Part::kNorm1, Part::kPositions, Part::kTokenTypes})
    EXPECT_EQ(held_type(part, type).format, WeightFormat::kBF16) << to_string({.part = part});
  for (const Part part : {Part::kQkv, Part::kAttentionOut, Part::kUp, Part::kDown, Part::kExpertUp,
                          Part::kExpertDown, Part::kSharedUp, Part::kSharedDown}) {
    EXPECT_EQ(held_type(part, type).format, WeightFormat::kInt4) << to_string({.part = part});
    EXPECT_EQ(held_type(part, DType::kF32).format, WeightFormat::kF32);
  }
}

TEST(QuantizedDecoder, NanInACheckpointIsRefusedWithItsTensor) {
  const TempDir dir;
  dir.write("config.json", tiny_llama_config().dump());
  std::vector<TestTensor> tensors = tiny_llama_tensors();
  for (TestTensor& tensor : tensors)
    if (tensor.name == "model.layers.0.mlp.down_proj.weight")
      tensor.first = std::numeric_limits<float>::infinity();
  dir.write("model.safetensors", safetensors_of(tensors));
  EXPECT_NO_THROW((void)load_decoder(dir.path(), {}, Context::machine()));
  for (const WeightFormat format : kFormats)
    expect_error(
        [&] { (void)load_decoder(dir.path(), {.weight_format = format}, Context::machine()); },
        {"down of layer 0", "row 0, column 0", std::string(name_of(format)), "--weight-format"});
}

}  // namespace
}  // namespace reprise::model
