#include "core/model/network/decoder_weights.h"

#include "core/base/error.h"
#include "core/device/memory.h"

namespace reprise::model {
namespace {

// Where the context computes.
Tensor placed(Tensor tensor, const Context& context) {
  return context.runtime != nullptr ? tensor.copy_to(context.runtime) : std::move(tensor);
}

Tensor read_vector(const WeightSource& source, const TensorSpec& spec, const Context& context) {
  Tensor values(DType::kF32, {spec.rows * spec.cols});
  source.read_rows(spec, 0, spec.rows, DType::kF32, values.data());
  return placed(std::move(values), context);
}

kernels::Weight read_matrix(const WeightSource& source, const TensorSpec& spec, WeightFormat format,
                            const Context& context) {
  return {spec.rows, spec.cols, format,
          [&](int64_t first, int64_t end, void* out) {
            source.read_rows(spec, first, end, input_dtype(format), out);
          },
          context};
}

Tensor read_table(const WeightSource& source, const TensorSpec& spec, DType dtype,
                  const Context& context) {
  Tensor tensor(dtype, {spec.rows, spec.cols});
  constexpr int64_t kRows = 64;
  parallel_for(context, (spec.rows + kRows - 1) / kRows, [&](int64_t index, int) {
    const int64_t first = index * kRows, end = std::min(spec.rows, first + kRows);
    source.read_rows(spec, first, end, dtype,
                     static_cast<char*>(tensor.data()) +
                         static_cast<size_t>(first * spec.cols) * size_of(dtype));
  });
  return placed(std::move(tensor), context);
}

void require_memory(const ModelConfig& config, WeightFormat format, const Context& context) {
  const bool is_host = context.runtime == nullptr;
  const int64_t need = config.parameters() * static_cast<int64_t>(size_of(input_dtype(format)));
  const int64_t have = is_host ? available_bytes() : context.runtime->available_bytes();
  if ((have > 0 || !is_host) && need > have)
    raise(
        "{}: the weights need {:.2f} GiB in {} and {:.2f} GiB are available{}: use a smaller "
        "model{}",
        config.name, static_cast<double>(need) / 0x1p30, name_of(format),
        static_cast<double>(have) / 0x1p30,
        is_host ? "" : fmt::format(" on device {}", name_of(context.device)),
        format == WeightFormat::kF32 && need / 2 <= have ? " or --dtype bf16" : "");
}

}  // namespace

int64_t PartSet::bytes() const {
  size_t total = 0;
  for (const LoadedPart& part : parts_) total += part.table.bytes() + part.matrix.bytes();
  for (const PartSet& expert : experts) total += static_cast<size_t>(expert.bytes());
  return static_cast<int64_t>(total);
}

PartSet& DecoderWeights::set_of(const Role& role) {
  PartSet& set = role.layer >= 0 ? layers[static_cast<size_t>(role.layer)] : model;
  if (role.expert < 0) return set;
  const auto expert = static_cast<size_t>(role.expert);
  if (set.experts.size() <= expert) set.experts.resize(expert + 1);
  return set.experts[expert];
}

int64_t DecoderWeights::bytes() const {
  int64_t total = model.bytes();
  for (const PartSet& layer : layers) total += layer.bytes();
  return total;
}

DecoderWeights load_weights(const ModelConfig& config, const WeightSource& source,
                            WeightFormat format, const Context& context) {
  require_memory(config, format, context);
  DecoderWeights weights;
  weights.layers.resize(static_cast<size_t>(config.layers));
  for (const TensorSpec& spec : canonical_tensors(config)) {
    const Role& role = spec.role;
    // One matrix serves as embedding and as head.
    const bool is_tied = role.part == Part::kEmbedding && config.tied_embeddings;
    LoadedPart& part = weights.set_of(role)[is_tied ? Part::kHead : role.part];
    if (role.is_bias) {
      part.bias = read_vector(source, spec, context);
    } else if (kind_of(role.part) == PartKind::kNorm) {
      part.values = read_vector(source, spec, context);
    } else if (kind_of(role.part) == PartKind::kTable && !is_tied) {
      part.table = read_table(source, spec, input_dtype(format), context);
    } else {
      part.matrix = read_matrix(source, spec, format, context);
    }
    source.release(spec);
  }
  return weights;
}

}  // namespace reprise::model
