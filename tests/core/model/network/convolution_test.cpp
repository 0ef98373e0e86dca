// The convolution of DeBERTa's second version against its definition, between the layers of a
// model.
#include "core/model/network/convolution.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/model/checkpoint/tensor_names.h"
#include "core/model/network/encoder.h"
#include "core/model/network/layer_policy.h"
#include "tests/support/json.h"
#include "tests/support/max_difference.h"
#include "tests/support/tiny_models.h"

namespace reprise::model {
namespace {

using reprise::testing::max_difference;
using Floats = std::vector<float>;

Json config_json(int64_t kernel) {
  return {{"model_type", "deberta-v2"},
          {"vocab_size", 50},
          {"hidden_size", 24},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 3},
          {"intermediate_size", 40},
          {"max_position_embeddings", 64},
          {"relative_attention", true},
          {"max_relative_positions", 32},
          {"position_buckets", 8},
          {"norm_rel_ebd", "layer_norm"},
          {"share_att_key", true},
          {"pos_att_type", {"p2c", "c2p"}},
          {"position_biased_input", false},
          {"conv_kernel_size", kernel},
          {"conv_act", "gelu"}};
}

TensorSpec spec_of(const ModelConfig& config, const Role& role) {
  for (const TensorSpec& spec : canonical_tensors(config))
    if (spec.role == role) return spec;
  ADD_FAILURE() << to_string(role);
  return {};
}

Floats read(const WeightSource& source, const TensorSpec& spec) {
  Floats values(static_cast<size_t>(spec.rows * spec.cols));
  source.read_rows(spec, 0, spec.rows, DType::kF32, values.data());
  return values;
}

// Records the input and output of the first layer and the input of the second.
class Watch final : public LayerPolicy {
 public:
  LayerChoice choose(LayerInput& input) override {
    (input.layer() == 0 ? first : second) = values_of(input.residual());
    return {};
  }
  void passed(int64_t layer, BlockPoint point, const TensorView& residual) override {
    if (layer == 0 && point == BlockPoint::kDone) out_of_first = values_of(residual);
  }
  Floats first, out_of_first, second;

 private:
  static Floats values_of(const TensorView& tensor) {
    const auto* data = tensor.as<const float>();
    return {data, data + tensor.elements()};
  }
};

// norm(out + gelu(bias + W x)). The norm's weights are 1, and its biases are the model's.
std::vector<double> by_definition(const ModelConfig& config, const WeightSource& source,
                                  const Watch& seen, const std::vector<int64_t>& lengths) {
  const int64_t hidden = config.hidden, kernel = config.convolution.kernel;
  const Floats w = read(source, spec_of(config, {.part = Part::kConvolution}));
  const Floats bias = read(source, spec_of(config, {.part = Part::kConvolution, .is_bias = true}));
  const Floats shift =
      read(source, spec_of(config, {.part = Part::kConvolutionNorm, .is_bias = true}));
  std::vector<double> out;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    for (int64_t token = 0; token < length; ++token) {
      std::vector<double> row;
      double mean = 0, square = 0;
      for (int64_t o = 0; o < hidden; ++o) {
        double sum = bias[static_cast<size_t>(o)];
        for (int64_t c = 0; c < hidden; ++c)
          for (int64_t tap = 0; tap < kernel; ++tap) {
            const int64_t from = token + tap - kernel / 2;
            if (from < 0 || from >= length) continue;
            sum += double{w[static_cast<size_t>((o * hidden + c) * kernel + tap)]} *
                   double{seen.first[static_cast<size_t>((begin + from) * hidden + c)]};
          }
        row.push_back(0.5 * sum * (1 + std::erf(sum / std::sqrt(2.0))) +
                      seen.out_of_first[static_cast<size_t>((begin + token) * hidden + o)]);
        mean += row.back() / static_cast<double>(hidden);
      }
      for (const double x : row) square += (x - mean) * (x - mean) / static_cast<double>(hidden);
      for (size_t o = 0; o < row.size(); ++o)
        out.push_back((row[o] - mean) / std::sqrt(square + config.norm_epsilon) + double{shift[o]});
    }
    begin += length;
  }
  return out;
}

// Texts of one step do not see each other, and a text may be shorter than the kernel.
TEST(Convolution, IsItsDefinitionOverEachTextByItself) {
  const std::vector<int64_t> lengths = {1, 2, 7, 1, 4};
  std::vector<std::vector<int32_t>> ids;
  std::vector<EncoderText> texts;
  int32_t next = 0;
  for (const int64_t length : lengths) {
    ids.emplace_back();
    for (int64_t t = 0; t < length; ++t) ids.back().push_back(++next * 7 % 50);
  }
  for (const auto& one : ids) texts.push_back({.ids = one});
  for (const int64_t kernel : {1, 3, 5})
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      const Json json = config_json(kernel);
      const ModelConfig config = parse_config(json, "config.json");
      const auto model = reprise::testing::random_decoder(json, Context::machine(), dtype, 3);
      Watch seen;
      Floats hidden(15 * 24);
      Encoder(*model).encode({.texts = texts, .policy = &seen}, hidden);
      const auto want = by_definition(config, *random_weights(config, 3), seen, lengths);
      // In bf16, inputs of up to 3 are rounded with a relative error of up to 2^-8; the weights are
      // exact.
      EXPECT_LE(max_difference(seen.second, want), dtype == DType::kF32 ? 1e-5 : 0.03)
          << kernel << " " << name_of(dtype);
    }
}

TEST(Convolution, FilesHoldItAsTorchStoresIt) {
  const ModelConfig config = parse_config(config_json(3), "config.json");
  const StoredLayout weight = stored_layout(config, spec_of(config, {.part = Part::kConvolution}));
  ASSERT_EQ(weight.tensors.size(), 1u);
  EXPECT_EQ(weight.tensors[0].name, "deberta.encoder.conv.conv.weight");
  EXPECT_EQ(weight.tensors[0].shape, (std::vector<int64_t>{24, 24, 3}));
  const StoredLayout bias =
      stored_layout(config, spec_of(config, {.part = Part::kConvolution, .is_bias = true}));
  EXPECT_EQ(bias.tensors[0].name, "deberta.encoder.conv.conv.bias");
  EXPECT_EQ(bias.tensors[0].shape, (std::vector<int64_t>{24}));
  EXPECT_EQ(
      stored_layout(config, spec_of(config, {.part = Part::kConvolutionNorm})).tensors[0].name,
      "deberta.encoder.conv.LayerNorm.weight");
}

// A whole folder: each tensor has the shape that its layout says, and values that tell their place.
TEST(Convolution, AFolderWithItIsRead) {
  const Json json = config_json(3);
  const ModelConfig config = parse_config(json, "config.json");
  std::vector<TestTensor> tensors;
  for (const TensorSpec& spec : canonical_tensors(config))
    for (const StoredTensor& stored : stored_layout(config, spec).tensors)
      tensors.push_back({stored.name, stored.shape});
  const TempDir dir;
  dir.write("config.json", json.dump());
  dir.write("model.safetensors", safetensors_of(tensors));
  const auto source = open_checkpoint(dir.path(), config);
  const Floats w = read(*source, spec_of(config, {.part = Part::kConvolution}));
  ASSERT_EQ(w.size(), 24u * 24 * 3);
  for (size_t i = 0; i < w.size(); ++i) ASSERT_EQ(w[i], 0.5f + static_cast<float>(i) / 64.0f);
}

}  // namespace
}  // namespace reprise::model
