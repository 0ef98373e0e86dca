// Opens the stored decoders as they are, and tests that their rows are where the canonical layout
// says.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/base/error.h"
#include "core/model/checkpoint/safetensors.h"
#include "core/model/checkpoint/weights.h"
#include "tests/support/data.h"

namespace reprise::model {
namespace {

namespace fs = std::filesystem;

class GoldenCheckpoints : public ::testing::Test {
 protected:
  void SetUp() override {
    REPRISE_NEEDS_DATA();
    root_ = reprise::testing::data_dir() / "golden";
  }

  static TensorSpec spec_of(const ModelConfig& config, const Role& role) {
    for (const TensorSpec& tensor : canonical_tensors(config))
      if (tensor.role == role) return tensor;
    ADD_FAILURE() << "no such tensor";
    return {};
  }

  // The whole canonical tensor in f32.
  static std::vector<float> read(const WeightSource& source, const TensorSpec& tensor) {
    std::vector<float> values(static_cast<size_t>(tensor.rows * tensor.cols));
    source.read_rows(tensor, 0, tensor.rows, DType::kF32, values.data());
    return values;
  }

  // The whole stored tensor in f32, by name.
  static std::vector<float> stored(const fs::path& file, const std::string& name) {
    const SafetensorsFile opened(file);
    const SafetensorsEntry& entry = opened.entries().at(name);
    std::vector<float> values(static_cast<size_t>(entry.elements));
    opened.read(entry, 0, entry.elements, DType::kF32, values.data());
    return values;
  }

  // Compares our [all q; all k; all v] with Falcon's fused tensor, by plain index arithmetic.
  void expect_ungrouped(const std::string& model, bool is_bias) {
    const std::string suffix = is_bias ? "bias" : "weight";
    const ModelConfig config = load_config(root_ / model);
    const auto source = open_checkpoint(root_ / model, config);
    const std::vector<float> ours =
        read(*source, spec_of(config, {.part = Part::kQkv, .layer = 1, .is_bias = is_bias}));
    const std::vector<float> fused =
        stored(root_ / model / "model.safetensors",
               "transformer.h.1.self_attention.query_key_value." + suffix);
    ASSERT_EQ(ours.size(), fused.size());
    const int64_t row = is_bias ? 1 : config.hidden;
    const int64_t group = config.heads / config.kv_heads;
    for (int64_t r = 0; r < config.q_dim() + 2 * config.kv_dim(); ++r) {
      int64_t file_head = 0;
      const int64_t d = r % config.head_dim;
      if (r < config.q_dim()) {
        const int64_t head = r / config.head_dim;
        file_head = head / group * (group + 2) + head % group;
      } else {
        const int64_t head = (r - config.q_dim()) / config.head_dim % config.kv_heads;
        const bool is_value = r >= config.q_dim() + config.kv_dim();
        file_head = head * (group + 2) + group + (is_value ? 1 : 0);
      }
      for (int64_t c = 0; c < row; ++c)
        ASSERT_EQ(ours[static_cast<size_t>(r * row + c)],
                  fused[static_cast<size_t>((file_head * config.head_dim + d) * row + c)])
            << model << " row " << r << " column " << c;
    }
  }

  fs::path root_;
};

TEST_F(GoldenCheckpoints, EveryDecoderOpensAndEveryRowIsFinite) {
  for (const char* name : {"codellama",
                           "falcon-40b-style",
                           "falcon-7b-style",
                           "falcon-rw-style",
                           "llama-bf16",
                           "llama-bias",
                           "llama-fp16-sharded",
                           "llama-gqa",
                           "llama-mha",
                           "llama-mqa-tied",
                           "llama-rope-dynamic",
                           "llama-rope-linear",
                           "llama-rope-llama3",
                           "mistral",
                           "mpt-30b-style",
                           "mpt-7b-style",
                           "phi-2",
                           "qwen2-moe",
                           "bert",
                           "roberta",
                           "deberta-v1",
                           "deberta-v3",
                           "../models/stories260K",
                           "../models/llama2xs"}) {
    SCOPED_TRACE(name);
    const ModelConfig config = load_config(root_ / name);
    const auto source = open_checkpoint(root_ / name, config);
    int64_t elements = 0;
    for (const TensorSpec& tensor : canonical_tensors(config)) {
      double squares = 0.0;
      for (const float value : read(*source, tensor)) squares += double{value} * value;
      EXPECT_TRUE(std::isfinite(squares));
      EXPECT_GT(squares, 0.0);
      elements += tensor.rows * tensor.cols;
      source->release(tensor);
    }
    EXPECT_EQ(elements, config.parameters());
  }
}

// The first version of DeBERTa: the file has q, k and v of one head after another, and keys have no
// bias.
TEST_F(GoldenCheckpoints, DebertaFusedRowsAreUngroupedAndKeysGetNoBias) {
  const fs::path dir = root_ / "deberta-v1";
  const ModelConfig config = load_config(dir);
  const auto source = open_checkpoint(dir, config);
  const std::string layer = "encoder.layer.1.attention.self.";
  const std::vector<float> fused = stored(dir / "model.safetensors", layer + "in_proj.weight");
  const std::vector<float> ours = read(*source, spec_of(config, {.part = Part::kQkv, .layer = 1}));
  ASSERT_EQ(ours.size(), fused.size());
  const auto row = static_cast<size_t>(config.hidden);
  for (int64_t r = 0; r < 3 * config.hidden; ++r) {
    const int64_t which = r / config.hidden, head = r % config.hidden / config.head_dim;
    const int64_t file_row = (3 * head + which) * config.head_dim + r % config.head_dim;
    EXPECT_TRUE(std::equal(ours.begin() + r * config.hidden, ours.begin() + (r + 1) * config.hidden,
                           fused.begin() + file_row * config.hidden))
        << r;
  }
  std::vector<float> bias = stored(dir / "model.safetensors", layer + "q_bias");
  bias.resize(2 * row, 0.0f);
  for (const float value : stored(dir / "model.safetensors", layer + "v_bias"))
    bias.push_back(value);
  const TensorSpec spec = spec_of(config, {.part = Part::kQkv, .layer = 1, .is_bias = true});
  EXPECT_EQ(read(*source, spec), bias);
}

TEST_F(GoldenCheckpoints, FalconFusedRowsAreUngrouped) {
  expect_ungrouped("falcon-7b-style", /*is_bias=*/false);
  expect_ungrouped("falcon-40b-style", /*is_bias=*/false);
  expect_ungrouped("falcon-rw-style", /*is_bias=*/false);
  expect_ungrouped("falcon-rw-style", /*is_bias=*/true);
}

TEST_F(GoldenCheckpoints, SeparateLlamaTensorsAreStacked) {
  const fs::path dir = root_ / "llama-bias";
  const ModelConfig config = load_config(dir);
  const auto source = open_checkpoint(dir, config);
  const std::string layer = "model.layers.2.";
  for (const char* suffix : {"weight", "bias"}) {
    const bool is_weight = std::string(suffix) == "weight";
    std::vector<float> expected;
    for (const char* name : {"self_attn.q_proj.", "self_attn.k_proj.", "self_attn.v_proj."})
      for (const float value : stored(dir / "model.safetensors", layer + name + suffix))
        expected.push_back(value);
    EXPECT_EQ(
        read(*source, spec_of(config, {.part = Part::kQkv, .layer = 2, .is_bias = !is_weight})),
        expected);
    expected.clear();
    for (const char* name : {"mlp.gate_proj.", "mlp.up_proj."})
      for (const float value : stored(dir / "model.safetensors", layer + name + suffix))
        expected.push_back(value);
    EXPECT_EQ(
        read(*source, spec_of(config, {.part = Part::kUp, .layer = 2, .is_bias = !is_weight})),
        expected);
  }
}

TEST_F(GoldenCheckpoints, AnExpertsTensorsAreStackedAndReadByParts) {
  const fs::path dir = root_ / "qwen2-moe";
  const ModelConfig config = load_config(dir);
  const auto source = open_checkpoint(dir, config);
  std::vector<float> expected;
  for (const char* name : {"gate_proj", "up_proj"})
    for (const float value : stored(dir / "model.safetensors",
                                    fmt::format("model.layers.1.mlp.experts.5.{}.weight", name)))
      expected.push_back(value);
  const TensorSpec up = spec_of(config, {.part = Part::kExpertUp, .layer = 1, .expert = 5});
  EXPECT_EQ(read(*source, up), expected);
  // Reads some rows of gate and some of up, as a rank that holds a part of each expert does.
  std::vector<float> part(20 * 64);
  source->read_rows(up, 40, 60, DType::kF32, part.data());
  EXPECT_TRUE(std::equal(part.begin(), part.end(), expected.begin() + 40 * 64));
  EXPECT_EQ(read(*source, spec_of(config, {.part = Part::kSharedGate, .layer = 2})),
            stored(dir / "model.safetensors", "model.layers.2.mlp.shared_expert_gate.weight"));
}

TEST_F(GoldenCheckpoints, AnyRangeOfRowsEqualsThatPartOfTheWhole) {
  for (const char* name : {"falcon-40b-style", "llama-gqa", "llama-fp16-sharded", "mpt-7b-style"}) {
    const ModelConfig config = load_config(root_ / name);
    const auto source = open_checkpoint(root_ / name, config);
    const TensorSpec tensor = spec_of(config, {.part = Part::kQkv, .layer = 0});
    const std::vector<float> whole = read(*source, tensor);
    for (const int64_t first : {int64_t{0}, int64_t{1}, int64_t{17}, tensor.rows - 1})
      for (const int64_t end : {first, first + 1, tensor.rows}) {
        std::vector<float> part(static_cast<size_t>((end - first) * tensor.cols));
        source->read_rows(tensor, first, end, DType::kF32, part.data());
        EXPECT_TRUE(std::equal(part.begin(), part.end(),
                               whole.begin() + static_cast<ptrdiff_t>(first * tensor.cols)))
            << name << " rows " << first << " to " << end;
      }
  }
}

TEST_F(GoldenCheckpoints, ConversionEqualsTheDtypesOwn) {
  for (const char* name : {"llama-bf16", "llama-fp16-sharded", "llama-mha"}) {
    const ModelConfig config = load_config(root_ / name);
    const auto source = open_checkpoint(root_ / name, config);
    const TensorSpec tensor = spec_of(config, {.part = Part::kDown, .layer = 1});
    const std::vector<float> values = read(*source, tensor);
    std::vector<bf16> rounded(values.size());
    source->read_rows(tensor, 0, tensor.rows, DType::kBF16, rounded.data());
    for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(rounded[i].bits, bf16(values[i]).bits);
  }
}

TEST_F(GoldenCheckpoints, ConfigsSayWhatTheFilesSay) {
  const ModelConfig mpt = load_config(root_ / "mpt-30b-style");
  EXPECT_EQ(mpt.family, Family::kMpt);
  EXPECT_EQ(mpt.name, "mpt-30b-style");
  EXPECT_DOUBLE_EQ(mpt.clip_qkv, 1.5);
  EXPECT_DOUBLE_EQ(mpt.attention_scale, 0.2);
  EXPECT_FALSE(mpt.norm_bias);
  EXPECT_TRUE(mpt.tied_embeddings);
  EXPECT_TRUE(mpt.eos_ids.empty());

  const ModelConfig falcon = load_config(root_ / "falcon-40b-style");
  EXPECT_EQ(falcon.block, BlockStyle::kParallelTwoNorms);
  EXPECT_EQ(falcon.kv_heads, 2);
  EXPECT_EQ(load_config(root_ / "falcon-7b-style").kv_heads, 1);
  EXPECT_EQ(load_config(root_ / "falcon-7b-style").block, BlockStyle::kParallelOneNorm);
  const ModelConfig rw = load_config(root_ / "falcon-rw-style");
  EXPECT_EQ(rw.block, BlockStyle::kSequential);
  EXPECT_EQ(rw.position, PositionScheme::kAlibi);
  EXPECT_TRUE(rw.alibi.scaled_with_scores && rw.alibi.rounded_to_bf16 && rw.qkv_bias);

  const ModelConfig deberta = load_config(root_ / "deberta-v1");
  EXPECT_EQ(deberta.family, Family::kDeberta);
  EXPECT_EQ(deberta.position, PositionScheme::kNone);
  EXPECT_EQ(deberta.relative.span, 128);
  EXPECT_TRUE(deberta.relative.has_keys && deberta.relative.has_queries);
  EXPECT_FALSE(deberta.relative.shares_projections || deberta.relative.has_norm);
  EXPECT_NEAR(deberta.attention_scale, 1.0 / std::sqrt(3.0 * 16), 1e-15);
  const RelativeConfig third = load_config(root_ / "deberta-v3").relative;
  EXPECT_TRUE(third.shares_projections && third.has_norm);
  EXPECT_EQ(third.span, 32);
  EXPECT_EQ(third.buckets, 32);
  EXPECT_EQ(third.max_distance, 128);

  EXPECT_EQ(load_config(root_ / "mistral").sliding_window, 24);
  const ModelConfig qwen = load_config(root_ / "qwen2-moe");
  EXPECT_EQ(qwen.experts.count, 8);
  EXPECT_EQ(qwen.experts.shared_intermediate, 96);
  EXPECT_TRUE(qwen.qkv_bias && !qwen.attention_out_bias && !qwen.experts.norm_top_k);
  EXPECT_EQ(load_config(root_ / "llama-bf16").stored_dtype, DType::kBF16);
  const ModelConfig phi = load_config(root_ / "phi-2");
  EXPECT_EQ(phi.rotary.dims, 8);
  EXPECT_EQ(phi.activation, Activation::kGeluTanh);
  EXPECT_TRUE(phi.head_bias && phi.mlp_bias && phi.norm_bias);
  const RotaryConfig llama3 = load_config(root_ / "llama-rope-llama3").rotary;
  EXPECT_EQ(llama3.scaling, RopeScaling::kLlama3);
  EXPECT_EQ(llama3.original_max_positions, 64);
  EXPECT_DOUBLE_EQ(llama3.theta, 500000.0);
  const RotaryConfig dynamic = load_config(root_ / "llama-rope-dynamic").rotary;
  EXPECT_EQ(dynamic.scaling, RopeScaling::kDynamic);
  EXPECT_EQ(dynamic.original_max_positions, 48);
}

}  // namespace
}  // namespace reprise::model
