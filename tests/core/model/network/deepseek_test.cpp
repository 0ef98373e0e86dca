// Compares a DeepSeek-MoE checkpoint with its publisher's definition of the model, which is written
// out here for the tensors as the files name them. The definition shares only the file with the
// runtime.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/model/network/decoder.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/json.h"
#include "tests/support/max_difference.h"
#include "tests/support/run_model.h"

namespace reprise::model {
namespace {

using reprise::testing::all_logits;
using reprise::testing::max_difference;
using Row = std::vector<double>;

constexpr int kVocab = 61, kHidden = 48, kLayers = 4, kHeads = 4, kHeadDim = 12, kDense = 40,
              kExpert = 24;

// The differences between variants of a file.
struct Shape {
  int experts = 6, per_token = 3, shared = 2, first_expert_layer = 1, frequency = 1;
  bool normalized = false;

  [[nodiscard]] bool has_experts(int layer) const {
    return layer >= first_expert_layer && layer % frequency == 0;
  }
};

struct Tensor2 {
  int rows, cols;
  std::vector<float> values;
};
using Tensors = std::map<std::string, Tensor2>;

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  void matrix(const std::string& name, int rows, int cols) {
    std::normal_distribution<float> normal(0.0f, 1.0f / std::sqrt(static_cast<float>(cols)));
    fill(name, rows, cols, [&] { return normal(random_); });
  }
  void norm(const std::string& name) {
    std::uniform_real_distribution<float> uniform(0.5f, 1.5f);
    fill(name, 1, kHidden, [&] { return uniform(random_); });
  }
  void mlp(const std::string& name, int width) {
    matrix(name + ".gate_proj", width, kHidden);
    matrix(name + ".up_proj", width, kHidden);
    matrix(name + ".down_proj", kHidden, width);
  }
  [[nodiscard]] Tensors tensors() && { return std::move(tensors_); }

 private:
  template <typename Draw>
  void fill(const std::string& name, int rows, int cols, Draw&& draw) {
    Tensor2& tensor = tensors_[name + ".weight"];
    tensor = {rows, cols, std::vector<float>(static_cast<size_t>(rows * cols))};
    for (float& value : tensor.values) value = draw();
  }

  std::mt19937_64 random_;
  Tensors tensors_;
};

Tensors make_tensors(const Shape& shape, uint64_t seed) {
  Maker make(seed);
  make.matrix("model.embed_tokens", kVocab, kHidden);
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::string at = "model.layers." + std::to_string(layer) + ".";
    make.norm(at + "input_layernorm");
    make.norm(at + "post_attention_layernorm");
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
      make.matrix(at + "self_attn." + name, kHidden, kHidden);
    if (!shape.has_experts(layer)) {
      make.mlp(at + "mlp", kDense);
      continue;
    }
    make.matrix(at + "mlp.gate", shape.experts, kHidden);
    for (int e = 0; e < shape.experts; ++e)
      make.mlp(at + "mlp.experts." + std::to_string(e), kExpert);
    if (shape.shared > 0) make.mlp(at + "mlp.shared_experts", shape.shared * kExpert);
  }
  make.norm("model.norm");
  make.matrix("lm_head", kVocab, kHidden);
  return std::move(make).tensors();
}

std::string file_of(const Tensors& tensors) {
  Json header = Json::object();
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    const size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(tensor.values.data()),
                tensor.values.size() * sizeof(float));
    Json& entry = header[name];
    entry["dtype"] = "F32";
    entry["shape"] =
        tensor.rows == 1 ? Json::array({tensor.cols}) : Json::array({tensor.rows, tensor.cols});
    entry["data_offsets"] = {begin, data.size()};
  }
  return safetensors_bytes(header.dump(), data);
}

Json config_of(const Shape& shape) {
  return {{"architectures", {"DeepseekForCausalLM"}},
          {"model_type", "deepseek"},
          {"vocab_size", kVocab},
          {"hidden_size", kHidden},
          {"intermediate_size", kDense},
          {"moe_intermediate_size", kExpert},
          {"num_hidden_layers", kLayers},
          {"num_attention_heads", kHeads},
          {"num_key_value_heads", kHeads},
          {"n_routed_experts", shape.experts},
          {"n_shared_experts", shape.shared},
          {"num_experts_per_tok", shape.per_token},
          {"first_k_dense_replace", shape.first_expert_layer},
          {"moe_layer_freq", shape.frequency},
          {"norm_topk_prob", shape.normalized},
          {"scoring_func", "softmax"},
          {"aux_loss_alpha", 0.001},
          {"seq_aux", true},
          {"max_position_embeddings", 128},
          {"rms_norm_eps", 1e-6},
          {"rope_theta", 10000.0},
          {"hidden_act", "silu"},
          {"bos_token_id", 0},
          {"eos_token_id", 1}};
}

// The definition, a token at a time.
class Definition {
 public:
  Definition(const Shape& shape, const Tensors& tensors) : shape_(shape), tensors_(tensors) {}

  [[nodiscard]] std::vector<double> logits(const std::vector<int32_t>& ids) const {
    std::vector<Row> x;
    for (const int32_t id : ids) {
      const float* row = at("model.embed_tokens").values.data() + id * kHidden;
      x.emplace_back(row, row + kHidden);
    }
    for (int layer = 0; layer < kLayers; ++layer)
      run_layer("model.layers." + std::to_string(layer) + ".", layer, x);
    std::vector<double> all;
    for (const Row& row : x) {
      const Row y = product("lm_head", norm("model.norm", row));
      all.insert(all.end(), y.begin(), y.end());
    }
    return all;
  }

 private:
  [[nodiscard]] const Tensor2& at(const std::string& name) const {
    return tensors_.at(name + ".weight");
  }

  [[nodiscard]] Row product(const std::string& name, const Row& x) const {
    const Tensor2& w = at(name);
    Row y(static_cast<size_t>(w.rows), 0.0);
    for (size_t r = 0; r < y.size(); ++r)
      for (size_t c = 0; c < x.size(); ++c)
        y[r] += static_cast<double>(w.values[r * x.size() + c]) * x[c];
    return y;
  }

  [[nodiscard]] Row norm(const std::string& name, const Row& x) const {
    double square = 0.0;
    for (const double value : x) square += value * value / kHidden;
    Row y;
    for (size_t i = 0; i < x.size(); ++i)
      y.push_back(x[i] / std::sqrt(square + 1e-6) * static_cast<double>(at(name).values[i]));
    return y;
  }

  // Each pair (i, i + half) of a head turns by position * theta^(-2 i / dim).
  static void rotate(Row& heads, size_t position) {
    constexpr size_t kHalf = kHeadDim / 2;
    for (size_t head = 0; head < kHeads; ++head)
      for (size_t i = 0; i < kHalf; ++i) {
        const double angle = static_cast<double>(position) *
                             std::pow(10000.0, -2.0 * static_cast<double>(i) / kHeadDim);
        double &a = heads[head * kHeadDim + i], &b = heads[head * kHeadDim + kHalf + i];
        const double old = a;
        a = old * std::cos(angle) - b * std::sin(angle);
        b = b * std::cos(angle) + old * std::sin(angle);
      }
  }

  [[nodiscard]] std::vector<Row> attend(const std::string& name, const std::vector<Row>& x) const {
    std::vector<Row> q, k, v, out;
    for (size_t t = 0; t < x.size(); ++t) {
      q.push_back(product(name + "q_proj", x[t]));
      k.push_back(product(name + "k_proj", x[t]));
      v.push_back(product(name + "v_proj", x[t]));
      rotate(q.back(), t);
      rotate(k.back(), t);
    }
    for (size_t t = 0; t < x.size(); ++t) {
      Row mixed(kHidden, 0.0);
      for (size_t first = 0; first < kHidden; first += kHeadDim) {
        Row weights;
        double sum = 0.0;
        for (size_t j = 0; j <= t; ++j) {
          double score = 0.0;
          for (size_t c = first; c < first + kHeadDim; ++c) score += q[t][c] * k[j][c];
          weights.push_back(std::exp(score / std::sqrt(static_cast<double>(kHeadDim))));
          sum += weights.back();
        }
        for (size_t j = 0; j <= t; ++j)
          for (size_t c = first; c < first + kHeadDim; ++c) mixed[c] += weights[j] / sum * v[j][c];
      }
      out.push_back(product(name + "o_proj", mixed));
    }
    return out;
  }

  [[nodiscard]] Row mlp(const std::string& name, const Row& x) const {
    const Row gate = product(name + ".gate_proj", x), up = product(name + ".up_proj", x);
    Row inner;
    for (size_t i = 0; i < gate.size(); ++i)
      inner.push_back(gate[i] / (1.0 + std::exp(-gate[i])) * up[i]);
    return product(name + ".down_proj", inner);
  }

  // The weighted sum of the experts that a softmax over all experts ranks highest, plus the shared
  // experts.
  [[nodiscard]] Row experts(const std::string& name, const Row& x) const {
    Row p = product(name + ".gate", x);
    double all = 0.0, chosen = 0.0;
    for (double& value : p) all += value = std::exp(value);
    std::vector<size_t> order;
    for (size_t e = 0; e < p.size(); ++e) order.push_back(e);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] > p[b]; });
    order.resize(static_cast<size_t>(shape_.per_token));
    for (const size_t e : order) chosen += p[e] / all;
    const double divisor = shape_.per_token > 1 && shape_.normalized ? chosen : 1.0;
    Row out(kHidden, 0.0);
    for (const size_t e : order)
      add(mlp(name + ".experts." + std::to_string(e), x), p[e] / all / divisor, out);
    if (shape_.shared > 0) add(mlp(name + ".shared_experts", x), 1.0, out);
    return out;
  }

  void run_layer(const std::string& name, int layer, std::vector<Row>& x) const {
    std::vector<Row> normed;
    for (const Row& row : x) normed.push_back(norm(name + "input_layernorm", row));
    const std::vector<Row> attended = attend(name + "self_attn.", normed);
    for (size_t t = 0; t < x.size(); ++t) {
      add(attended[t], 1.0, x[t]);
      const Row before = norm(name + "post_attention_layernorm", x[t]);
      add(shape_.has_experts(layer) ? experts(name + "mlp", before) : mlp(name + "mlp", before),
          1.0, x[t]);
    }
  }

  static void add(const Row& more, double weight, Row& to) {
    for (size_t i = 0; i < to.size(); ++i) to[i] += weight * more[i];
  }

  const Shape& shape_;
  const Tensors& tensors_;
};

std::vector<int32_t> ids_below_vocab(int32_t count) {
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < count; ++i) ids.push_back((i * i * 5 + 11 * i + 2) % kVocab);
  return ids;
}

// Logits of magnitude 4, as in two_layers.h; with four layers there are twice as many roundings.
constexpr double kFourLayersBound = 1.2e-4;

TEST(Deepseek, LogitsAreThoseOfTheDefinition) {
  const std::vector<int32_t> ids = ids_below_vocab(27);
  uint64_t seed = 1;
  for (const Shape& shape :
       {Shape{}, Shape{.normalized = true}, Shape{.per_token = 1, .normalized = true},
        Shape{.per_token = 6}, Shape{.shared = 0}, Shape{.first_expert_layer = 0, .frequency = 2},
        Shape{.first_expert_layer = 4}}) {
    const Tensors tensors = make_tensors(shape, ++seed);
    const TempDir dir;
    dir.write("config.json", config_of(shape).dump());
    dir.write("model.safetensors", file_of(tensors));
    const auto decoder = load_decoder(dir.path(), {}, Context::machine());
    const std::vector<double> want = Definition(shape, tensors).logits(ids);
    for (const int32_t chunk : {27, 5, 1})
      EXPECT_LE(max_difference(all_logits(*decoder, ids, chunk), want), kFourLayersBound)
          << config_of(shape) << " chunk " << chunk;
  }
}

TEST(Deepseek, TensorsThatAreMissingAreNamedAsTheFilesNameThem) {
  const Shape shape;
  for (const std::string name :
       {"model.layers.1.mlp.shared_experts.up_proj.weight", "model.layers.2.mlp.gate.weight",
        "model.layers.3.mlp.experts.5.down_proj.weight", "model.layers.0.mlp.gate_proj.weight"}) {
    Tensors tensors = make_tensors(shape, 1);
    ASSERT_EQ(tensors.erase(name), 1u) << name;
    const TempDir dir;
    dir.write("config.json", config_of(shape).dump());
    dir.write("model.safetensors", file_of(tensors));
    expect_error([&] { (void)load_decoder(dir.path(), {}, Context::machine()); }, {name});
  }
}

}  // namespace
}  // namespace reprise::model
