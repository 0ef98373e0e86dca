#include "core/model/network/decoder_weights.h"

#include "core/base/error.h"
#include "core/device/memory.h"

namespace reprise::model {
namespace {

std::vector<float> read_vector(const WeightSource& source, const TensorSpec& spec) {
  std::vector<float> values(static_cast<size_t>(spec.rows * spec.cols));
  source.read_rows(spec, 0, spec.rows, DType::kF32, values.data());
  return values;
}

kernels::PackedMatrix read_matrix(const WeightSource& source, const TensorSpec& spec, DType dtype,
                                  const Context& context) {
  return {spec.rows, spec.cols, dtype,
          [&](int64_t first, int64_t end, void* out) {
            source.read_rows(spec, first, end, dtype, out);
          },
          context};
}

Tensor read_embedding(const WeightSource& source, const TensorSpec& spec, DType dtype,
                      const Context& context) {
  Tensor tensor(dtype, {spec.rows, spec.cols});
  constexpr int64_t kRows = 64;
  parallel_for(context, (spec.rows + kRows - 1) / kRows, [&](int64_t index, int) {
    const int64_t first = index * kRows, end = std::min(spec.rows, first + kRows);
    source.read_rows(spec, first, end, dtype,
                     static_cast<char*>(tensor.data()) +
                         static_cast<size_t>(first * spec.cols) * size_of(dtype));
  });
  return tensor;
}

void require_memory(const ModelConfig& config, DType dtype) {
  const int64_t need = config.parameters() * static_cast<int64_t>(size_of(dtype));
  const int64_t have = available_bytes();
  if (have > 0 && need > have)
    raise(
        "{}: the weights need {:.2f} GiB in {} and {:.2f} GiB are available: use a smaller model{}",
        config.name, static_cast<double>(need) / 0x1p30, name_of(dtype),
        static_cast<double>(have) / 0x1p30,
        dtype == DType::kF32 && need / 2 <= have ? " or --dtype bf16" : "");
}

}  // namespace

int64_t DecoderWeights::bytes() const {
  size_t total = embedding.view().bytes() + head.bytes();
  for (const LayerWeights& layer : layers)
    total +=
        layer.qkv.bytes() + layer.attention_out.bytes() + layer.up.bytes() + layer.down.bytes();
  return static_cast<int64_t>(total);
}

DecoderWeights load_weights(const ModelConfig& config, const WeightSource& source, DType dtype,
                            const Context& context) {
  require_memory(config, dtype);
  DecoderWeights weights;
  weights.layers.resize(static_cast<size_t>(config.layers));
  for (const TensorSpec& spec : canonical_tensors(config)) {
    LayerWeights unused;  // stands in for tensors that belong to no layer
    LayerWeights& layer =
        spec.layer >= 0 ? weights.layers[static_cast<size_t>(spec.layer)] : unused;
    switch (spec.role) {
      case Role::kEmbedding:
        if (config.tied_embeddings) {
          weights.head = read_matrix(source, spec, dtype, context);
        } else {
          weights.embedding = read_embedding(source, spec, dtype, context);
        }
        break;
      case Role::kNorm1:
        layer.norm_1 = read_vector(source, spec);
        break;
      case Role::kNorm1Bias:
        layer.norm_1_bias = read_vector(source, spec);
        break;
      case Role::kNorm2:
        layer.norm_2 = read_vector(source, spec);
        break;
      case Role::kNorm2Bias:
        layer.norm_2_bias = read_vector(source, spec);
        break;
      case Role::kQkv:
        layer.qkv = read_matrix(source, spec, dtype, context);
        break;
      case Role::kQkvBias:
        layer.qkv_bias = read_vector(source, spec);
        break;
      case Role::kAttentionOut:
        layer.attention_out = read_matrix(source, spec, dtype, context);
        break;
      case Role::kAttentionOutBias:
        layer.attention_out_bias = read_vector(source, spec);
        break;
      case Role::kUp:
        layer.up = read_matrix(source, spec, dtype, context);
        break;
      case Role::kUpBias:
        layer.up_bias = read_vector(source, spec);
        break;
      case Role::kDown:
        layer.down = read_matrix(source, spec, dtype, context);
        break;
      case Role::kDownBias:
        layer.down_bias = read_vector(source, spec);
        break;
      case Role::kFinalNorm:
        weights.final_norm = read_vector(source, spec);
        break;
      case Role::kFinalNormBias:
        weights.final_norm_bias = read_vector(source, spec);
        break;
      case Role::kHead:
        weights.head = read_matrix(source, spec, dtype, context);
        break;
      case Role::kHeadBias:
        weights.head_bias = read_vector(source, spec);
        break;
    }
    source.release(spec);
  }
  return weights;
}

}  // namespace reprise::model
