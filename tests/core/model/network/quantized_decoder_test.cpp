// Models whose matrices are held as codes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <span>

#include "core/device/buffer.h"
#include "core/kernels/linear/weight.h"
#include "core/model/checkpoint/weights.h"
#include "core/model/network/decoder.h"
#include "core/model/network/encoder.h"
#include "core/model/network/transformer.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/core/model/network/two_layers.h"
#include "tests/support/data.h"
#include "tests/support/json.h"
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

// The weights of another source, rounded to the values that a format holds.
// quantized_linear_test.cpp compares these values with the format's rule.
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

// Mean over the rows of sum p log(p / q), where p and q are the softmax of a row of p_logits and of
// q_logits.
double mean_divergence(const std::vector<float>& p_logits, const std::vector<float>& q_logits,
                       size_t rows) {
  const size_t vocab = p_logits.size() / rows;
  const auto log_softmax = [&](const std::vector<float>& logits, size_t row) {
    const auto of_row = std::span(logits).subspan(row * vocab, vocab);
    const auto highest = static_cast<double>(*std::max_element(of_row.begin(), of_row.end()));
    double sum = 0.0;
    for (const float logit : of_row) sum += std::exp(static_cast<double>(logit) - highest);
    std::vector<double> logs;
    for (const float logit : of_row)
      logs.push_back(static_cast<double>(logit) - highest - std::log(sum));
    return logs;
  };
  double total = 0.0;
  for (size_t row = 0; row < rows; ++row) {
    const std::vector<double> p = log_softmax(p_logits, row), q = log_softmax(q_logits, row);
    for (size_t i = 0; i < vocab; ++i) total += std::exp(p[i]) * (p[i] - q[i]);
  }
  return total / static_cast<double>(rows);
}

// A dense model with fused q, k and v of several lengths, one with tied embeddings, and two with
// experts.
const char* const kShapes[] = {"llama-3.2-3b", "falcon-7b", "qwen1.5-moe-a2.7b",
                               "deepseek-moe-16b"};

// In f32 the error is only rounding. It is larger than with plain weights (decoder_test.cpp),
// because int4's codes and their minimum are summed separately.
TEST(QuantizedDecoder, LogitsAreThoseOfTheHeldWeights) {
  const std::vector<int32_t> ids = some_ids(19);
  for (const std::string shape : kShapes)
    for (const WeightFormat format : kFormats)
      for (const Isa isa : {Isa::kPortable, best_isa()}) {
        const auto decoder =
            load_shape(shape, {.weight_format = format}, {.threads = 2, .isa = isa});
        const auto random = random_weights(decoder->config(), 1);
        const HeldSource held(*random, format);
        const std::vector<double> want =
            ReferenceDecoder(decoder->config(), held).logits(ids, counted(19));
        for (const int32_t chunk : {19, 1})
          EXPECT_LE(max_difference(all_logits(*decoder, ids, chunk), want), 2e-4)
              << shape << " " << name_of(format) << " " << name_of(isa) << " chunk " << chunk;
      }
}

// Encoders, among them some that read parts of a matrix for relative positions: a model with codes
// is compared with a plain model whose weights are the values that the codes hold.
TEST(QuantizedDecoder, EncodersComputeWithTheHeldWeights) {
  REPRISE_NEEDS_DATA();
  const Context context = Context::machine();
  for (const char* name : {"bert", "roberta", "deberta-v1", "deberta-v3"}) {
    const std::filesystem::path folder = reprise::testing::data_dir() / "golden" / name;
    const std::vector<int32_t> ids = json_of(read_json(folder / "golden.json"))["a"];
    const auto hidden_of = [&](Decoder& model) {
      std::vector<float> hidden(ids.size() * static_cast<size_t>(model.config().hidden));
      Encoder(model).encode({.texts = std::vector<EncoderText>{{.ids = ids}}}, hidden);
      return hidden;
    };
    ModelConfig config = load_config(folder);
    adapt_to_checkpoint(folder, config);
    const auto source = open_checkpoint(folder, config);
    for (const WeightFormat format : kFormats) {
      const HeldSource held(*source, format);
      const auto want = make_transformer(config, DType::kF32,
                                         load_weights(config, held, DType::kF32, context), context);
      const auto coded = load_decoder(folder, {.weight_format = format}, context);
      EXPECT_LT(coded->weight_bytes(), want->weight_bytes()) << name << " " << name_of(format);
      EXPECT_LE(max_difference(hidden_of(*coded), hidden_of(*want)), 1e-4)
          << name << " " << name_of(format);
    }
  }
}

// All rows of a step go through a few experts, so that each expert's product has tens to hundreds
// of rows. For so many rows, codes are expanded first.
TEST(QuantizedDecoder, ExpertsOfManyRowsAreThoseOfTheHeldWeights) {
  constexpr int32_t kRows = 400;
  const std::vector<int32_t> ids = some_ids(kRows);
  for (const WeightFormat format : kFormats) {
    const auto decoder = load_shape("deepseek-moe-16b", {.weight_format = format});
    const auto random = random_weights(decoder->config(), 1);
    const HeldSource held(*random, format);
    const std::vector<double> want =
        ReferenceDecoder(decoder->config(), held).logits(ids, counted(kRows));
    EXPECT_LE(max_difference(all_logits(*decoder, ids, kRows), want), 2e-4) << name_of(format);
  }
}

// bf16 activations round as with plain weights, so decoder_test.cpp's bound holds.
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
      // Small matrices are padded to panels in memory.
      EXPECT_LT(weight_bytes(decoder->config(), {format, DType::kBF16}), more) << shape;
    }
  }
  // Of 8.03 billion weights, the 1.05 billion of embedding and head stay in bf16.
  const ModelConfig llama = load_config("llama-3-8b");
  const auto gib = [&](WeightType type) {
    return static_cast<double>(weight_bytes(llama, type)) / 0x1p30;
  };
  EXPECT_NEAR(gib(DType::kBF16), 14.96, 0.01);
  EXPECT_NEAR(gib({WeightFormat::kNf4, DType::kBF16}), 5.61, 0.01);
}

// Codes are made tensor by tensor, 64 rows at a time for each thread. So a model that does not fit
// in bf16 can be loaded as codes.
TEST(QuantizedDecoder, LoadingTakesLittleBesideTheCodes) {
  constexpr int64_t kWidth = 1024, kWide = 2816, kThreads = 2;
  const TempDir dir;
  Json json = scaled_down("llama-2-7b");
  json.update({{"hidden_size", kWidth},
               {"intermediate_size", kWide},
               {"num_hidden_layers", 4},
               {"num_attention_heads", 16},
               {"num_key_value_heads", 16}});
  dir.write("config.json", json.dump());
  const int64_t plain = weight_bytes(load_config(dir.path()), DType::kBF16);
  EXPECT_NEAR(static_cast<double>(plain), 103e6, 1e6);
  // Each thread needs 64 rows in f32 and as bytes; nf4-double also needs the scales of one matrix
  // in f32.
  constexpr int64_t kBeside = kThreads * 64 * kWide * 5 + 2 * kWide * kWidth / 64 * 4;
  for (const WeightFormat format : kFormats) {
    AlignedBuffer::reset_peak();
    const int64_t before = AlignedBuffer::live_bytes();
    const auto decoder = load_decoder(
        dir.path(), {.dtype = DType::kBF16, .weight_format = format, .random_weights = true},
        {.threads = kThreads, .isa = best_isa()});
    const int64_t peak = AlignedBuffer::peak_bytes() - before;
    EXPECT_LE(peak, decoder->weight_bytes() + kBeside) << name_of(format);
    EXPECT_LT(peak, plain * (format == WeightFormat::kInt8 ? 55 : 35) / 100) << name_of(format);
  }
}

// Uses the shipped trained model on its own text, and measures the divergence of its next-token
// distributions, in nats. Formats of eight bits have steps 8 to 16 times finer than formats of four
// bits.
TEST(QuantizedDecoder, FewerBitsMoveTheAnswersOfATrainedModelFurther) {
  const std::filesystem::path folder =
      std::filesystem::path(REPRISE_SOURCE_DIR) / "models/quickstart";
  const Json golden = json_of(read_json(folder / "golden.json"))["greedy"];
  std::vector<int32_t> ids = golden["prompt_ids"];
  for (const int32_t id : golden["continuation_ids"]) ids.push_back(id);
  const auto logits_in = [&](std::optional<WeightFormat> format) {
    const auto decoder = load_decoder(folder, {.weight_format = format}, Context::machine());
    return all_logits(*decoder, ids, static_cast<int32_t>(ids.size()));
  };
  const std::vector<float> plain = logits_in(std::nullopt);
  const double of_int8 = mean_divergence(plain, logits_in(WeightFormat::kInt8), ids.size());
  EXPECT_GT(of_int8, 0.0);
  for (const WeightFormat format :
       {WeightFormat::kInt4, WeightFormat::kNf4, WeightFormat::kNf4Double}) {
    const double divergence = mean_divergence(plain, logits_in(format), ids.size());
    EXPECT_GT(divergence, 10 * of_int8) << name_of(format);
    EXPECT_LT(divergence, 0.1) << name_of(format);
  }
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
