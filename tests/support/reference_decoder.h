// A decoder by its definition, in double precision and without a cache. It is the runtime's oracle
// where no other reference is available.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <vector>

#include "core/kernels/activation/reference/activation.h"
#include "core/model/checkpoint/weights.h"
#include "core/model/config/config.h"
#include "core/model/network/positions.h"

namespace reprise::testing {

class ReferenceDecoder {
 public:
  ReferenceDecoder(const model::ModelConfig& config, const model::WeightSource& source)
      : config_(config) {
    for (const model::TensorSpec& spec : model::canonical_tensors(config)) {
      Matrix& matrix = tensors_[spec.role];
      matrix = {.rows = spec.rows,
                .cols = spec.cols,
                .values = std::vector<float>(static_cast<size_t>(spec.rows * spec.cols))};
      source.read_rows(spec, 0, spec.rows, DType::kF32, matrix.values.data());
    }
  }

  // Roundings of the run to compare with. cache_dtype: keys and values are rounded to this type
  // when they are stored. bf16_products: queries (in units of log2) and the weights of the values
  // (relative to the row's largest) are rounded to bf16 before they are multiplied; weights are
  // summed before they are rounded.
  DType cache_dtype = DType::kF32;  // f32: nothing is rounded
  bool bf16_products = false;

  // [tokens], or empty. Tokens of a module see only that module; those of module -1 see all tokens
  // before them.
  std::vector<int32_t> module_of;

  // Layers that skip their attention, and layers that are skipped whole.
  std::set<int64_t> without_attention, without_block;

  // Hidden states [tokens, hidden] of every token, after the final norm.
  [[nodiscard]] std::vector<double> hidden(std::span<const int32_t> ids,
                                           std::span<const int32_t> positions) const {
    std::vector<double> out;
    for (const Row& row : final_rows(ids, positions)) out.insert(out.end(), row.begin(), row.end());
    return out;
  }

  // Logits [tokens, vocab] of every token.
  [[nodiscard]] std::vector<double> logits(std::span<const int32_t> ids,
                                           std::span<const int32_t> positions) const {
    using model::Part;
    const Matrix& head = at(config_.tied_embeddings ? Part::kEmbedding : Part::kHead, -1);
    std::vector<double> out;
    for (const Row& row : final_rows(ids, positions)) {
      const Row y = linear(head, bias(Part::kHead, -1), row);
      out.insert(out.end(), y.begin(), y.end());
    }
    return out;
  }

  // `count` greedy tokens after the prompt. They take the positions after the prompt's largest one.
  [[nodiscard]] std::vector<int32_t> greedy(std::vector<int32_t> ids,
                                            std::vector<int32_t> positions, int32_t count) const {
    std::vector<int32_t> tokens;
    while (static_cast<int32_t>(tokens.size()) < count) {
      const std::vector<double> all = logits(ids, positions);
      const auto last = all.end() - config_.vocab;
      tokens.push_back(static_cast<int32_t>(std::max_element(last, all.end()) - last));
      ids.push_back(tokens.back());
      positions.push_back(*std::max_element(positions.begin(), positions.end()) + 1);
    }
    return tokens;
  }

 private:
  static constexpr double kLog2E = 1.4426950408889634;
  using Row = std::vector<double>;
  struct Matrix {
    int64_t rows = 0, cols = 0;
    std::vector<float> values;
  };

  [[nodiscard]] std::vector<Row> final_rows(std::span<const int32_t> ids,
                                            std::span<const int32_t> positions) const {
    using model::Part;
    std::vector<Row> x;
    for (int32_t id : ids) x.push_back(row_of(at(Part::kEmbedding, -1), id));
    for (int64_t layer = 0; layer < config_.layers; ++layer) run_layer(layer, positions, x);
    for (Row& row : x) row = norm(row, at(Part::kFinalNorm, -1), bias(Part::kFinalNorm, -1));
    return x;
  }

  [[nodiscard]] const Matrix* bias(model::Part part, int64_t layer) const {
    const auto found = tensors_.find({.part = part, .layer = layer, .is_bias = true});
    return found == tensors_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] const Matrix& at(model::Part part, int64_t layer) const {
    return tensors_.at({.part = part, .layer = layer});
  }
  static Row row_of(const Matrix& w, int64_t row) {
    return {w.values.begin() + row * w.cols, w.values.begin() + (row + 1) * w.cols};
  }

  static Row linear(const Matrix& w, const Matrix* bias, const Row& x) {
    using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    Row y(static_cast<size_t>(w.rows));
    Eigen::Map<Eigen::VectorXd> out(y.data(), w.rows);
    out.noalias() = Eigen::Map<const RowMajor>(w.values.data(), w.rows, w.cols).cast<double>() *
                    Eigen::Map<const Eigen::VectorXd>(x.data(), std::ssize(x));
    if (bias != nullptr)
      out += Eigen::Map<const Eigen::VectorXf>(bias->values.data(), w.rows).cast<double>();
    return y;
  }

  [[nodiscard]] Row norm(const Row& x, const Matrix& weight, const Matrix* bias) const {
    const auto cols = static_cast<double>(x.size());
    double mean = 0.0, variance = 0.0;
    if (config_.norm == model::Norm::kLayer)
      for (double value : x) mean += value / cols;
    for (double value : x) variance += (value - mean) * (value - mean) / cols;
    Row y;
    for (size_t i = 0; i < x.size(); ++i)
      y.push_back((x[i] - mean) / std::sqrt(variance + config_.norm_epsilon) *
                      static_cast<double>(weight.values[i]) +
                  (bias != nullptr ? static_cast<double>(bias->values[i]) : 0.0));
    return y;
  }

  void run_layer(int64_t layer, std::span<const int32_t> positions, std::vector<Row>& x) const {
    using model::Part;
    if (without_block.contains(layer)) return;
    std::vector<Row> normed, qkv;
    for (const Row& row : x) {
      normed.push_back(norm(row, at(Part::kNorm1, layer), bias(Part::kNorm1, layer)));
      qkv.push_back(linear(at(Part::kQkv, layer), bias(Part::kQkv, layer), normed.back()));
      if (config_.clip_qkv > 0.0)
        for (double& value : qkv.back())
          value = std::clamp(value, -config_.clip_qkv, config_.clip_qkv);
    }
    if (config_.position == model::PositionScheme::kRotary) rotate(positions, qkv);
    const std::vector<Row> attended = attend(positions, qkv);
    for (size_t t = 0; t < x.size(); ++t) {
      const Row before = x[t];
      if (!without_attention.contains(layer))
        add(x[t],
            linear(at(Part::kAttentionOut, layer), bias(Part::kAttentionOut, layer), attended[t]));
      if (config_.block != model::BlockStyle::kParallelOneNorm)
        normed[t] = norm(config_.block == model::BlockStyle::kSequential ? x[t] : before,
                         at(Part::kNorm2, layer), bias(Part::kNorm2, layer));
      add(x[t], mlp(layer, normed[t]));
    }
  }

  [[nodiscard]] Row mlp(int64_t layer, const Row& x) const {
    using model::Part;
    if (config_.has_experts(layer)) return experts(layer, x);
    return feed_forward({.part = Part::kUp, .layer = layer}, {.part = Part::kDown, .layer = layer},
                        x);
  }

  // The experts' output by the router's formula, for one row. Ties of double logits do not occur
  // here.
  [[nodiscard]] Row experts(int64_t layer, const Row& x) const {
    using model::Part;
    const auto count = static_cast<size_t>(config_.experts.per_token);
    Row p = linear(at(Part::kRouter, layer), nullptr, x);
    double sum = 0.0, chosen_sum = 0.0;
    for (double& value : p) sum += value = std::exp(value);
    std::vector<size_t> order(p.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] > p[b]; });
    order.resize(count);
    for (const size_t e : order) chosen_sum += p[e];
    Row out(x.size(), 0.0);
    for (const size_t e : order) {
      const auto expert = static_cast<int64_t>(e);
      const Row y = feed_forward({.part = Part::kExpertUp, .layer = layer, .expert = expert},
                                 {.part = Part::kExpertDown, .layer = layer, .expert = expert}, x);
      const double weight = p[e] / (config_.experts.norm_top_k ? chosen_sum : sum);
      for (size_t c = 0; c < y.size(); ++c) out[c] += weight * y[c];
    }
    if (config_.experts.shared_intermediate == 0) return out;
    const Row shared = feed_forward({.part = Part::kSharedUp, .layer = layer},
                                    {.part = Part::kSharedDown, .layer = layer}, x);
    double weight = 1.0;
    if (config_.experts.shared_gate)
      weight /= 1.0 + std::exp(-linear(at(Part::kSharedGate, layer), nullptr, x).front());
    for (size_t c = 0; c < shared.size(); ++c) out[c] += weight * shared[c];
    return out;
  }

  [[nodiscard]] Row feed_forward(const model::Role& up_role, const model::Role& down_role,
                                 const Row& x) const {
    const Matrix& down = tensors_.at(down_role);
    const Row up = linear(tensors_.at(up_role), bias(up_role.part, up_role.layer), x);
    const auto kind =
        config_.activation == model::Activation::kSilu   ? kernels::ActivationKind::kSilu
        : config_.activation == model::Activation::kGelu ? kernels::ActivationKind::kGelu
                                                         : kernels::ActivationKind::kGeluTanh;
    const auto width = static_cast<size_t>(down.cols);
    Row hidden;
    for (size_t i = 0; i < width; ++i)
      hidden.push_back(kernels::reference::activate(kind, up[i]) *
                       (config_.gated_mlp ? up[width + i] : 1.0));
    return linear(down, bias(down_role.part, down_role.layer), hidden);
  }

  void rotate(std::span<const int32_t> positions, std::vector<Row>& qkv) const {
    const int32_t length = *std::max_element(positions.begin(), positions.end()) + 1;
    const std::vector<float> frequencies = model::rotary_frequencies(config_.rotary, length);
    const size_t half = frequencies.size();
    for (size_t t = 0; t < qkv.size(); ++t)
      for (int64_t head = 0; head < config_.heads + config_.kv_heads; ++head)
        for (size_t c = 0; c < half; ++c) {
          const double angle = static_cast<float>(positions[t]) * frequencies[c];
          double& a = qkv[t][static_cast<size_t>(head * config_.head_dim) + c];
          double& b = qkv[t][static_cast<size_t>(head * config_.head_dim) + half + c];
          const double x = a;
          a = x * std::cos(angle) - b * std::sin(angle);
          b = b * std::cos(angle) + x * std::sin(angle);
        }
  }

  // ALiBi's bias of a key's score. The part that depends only on the query is left out, because
  // softmax drops it.
  [[nodiscard]] double alibi(int64_t head, int32_t position) const {
    if (config_.position != model::PositionScheme::kAlibi) return 0.0;
    const float slope =
        model::alibi_slopes(config_.heads, config_.alibi.bias_max)[static_cast<size_t>(head)];
    const double factor =
        config_.alibi.times * (config_.alibi.scaled_with_scores ? config_.attention_scale : 1.0);
    if (!config_.alibi.rounded_to_bf16) return factor * static_cast<double>(slope) * position;
    const float rounded = bf16(static_cast<float>(bf16(slope)) *
                               static_cast<float>(bf16(static_cast<float>(position))));
    return factor * static_cast<double>(rounded);
  }

  static double rounded(DType dtype, double value) {
    if (dtype == DType::kBF16) return bf16(static_cast<float>(value));
    if (dtype == DType::kF16) return f16(static_cast<float>(value));
    return value;
  }

  // Rounds queries times the scale, keys and values as they enter the products.
  void round_operands(std::vector<Row>& qkv) const {
    const double scale_log2 = config_.attention_scale * kLog2E;
    for (Row& row : qkv)
      for (size_t i = 0; i < row.size(); ++i)
        if (i >= static_cast<size_t>(config_.q_dim())) {
          row[i] = rounded(cache_dtype, row[i]);
        } else {
          row[i] *= config_.attention_scale;
          if (bf16_products)
            row[i] = rounded(DType::kBF16, row[i] / config_.attention_scale * scale_log2) / kLog2E;
        }
  }

  [[nodiscard]] std::vector<Row> attend(std::span<const int32_t> positions,
                                        std::vector<Row> qkv) const {
    round_operands(qkv);
    const auto dim = static_cast<size_t>(config_.head_dim);
    const auto key_at = static_cast<size_t>(config_.q_dim());
    const auto value_at = key_at + static_cast<size_t>(config_.kv_dim());
    std::vector<Row> out;
    for (size_t t = 0; t < qkv.size(); ++t) {
      Row row;
      for (int64_t head = 0; head < config_.heads; ++head) {
        const auto kv = static_cast<size_t>(head / (config_.heads / config_.kv_heads)) * dim;
        const auto sees = [&](size_t j) {
          const bool is_hidden =
              !module_of.empty() && module_of[t] >= 0 && module_of[t] != module_of[j];
          return !is_hidden && (config_.sliding_window == 0 ||
                                positions[t] - positions[j] < config_.sliding_window);
        };
        Row scores;
        for (size_t j = 0; j <= t; ++j) {
          double s = 0.0;
          for (size_t c = 0; c < dim; ++c)
            s += qkv[t][static_cast<size_t>(head) * dim + c] * qkv[j][key_at + kv + c];
          scores.push_back(sees(j) ? s + alibi(head, positions[j])
                                   : -std::numeric_limits<double>::infinity());
        }
        const double m = *std::max_element(scores.begin(), scores.end());
        double n = 0.0;
        for (double& s : scores) n += s = std::exp(s - m);
        for (size_t c = 0; c < dim; ++c) {
          double o = 0.0;
          for (size_t j = 0; j <= t; ++j) {
            const double weight = bf16_products ? rounded(DType::kBF16, scores[j]) : scores[j];
            o += weight / n * qkv[j][value_at + kv + c];
          }
          row.push_back(o);
        }
      }
      out.push_back(std::move(row));
    }
    return out;
  }

  static void add(Row& x, const Row& y) {
    for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }

  model::ModelConfig config_;
  std::map<model::Role, Matrix> tensors_;
};

}  // namespace reprise::testing
