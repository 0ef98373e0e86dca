#include "core/model/network/decoder_weights.h"

#include "core/base/error.h"
#include "core/device/memory.h"

namespace reprise::model {
namespace {

// Returns the tensor, moved to the device of the context if it has one.
Tensor placed(Tensor tensor, const Context& context) {
  return context.runtime != nullptr ? tensor.copy_to(context.runtime) : std::move(tensor);
}

Tensor read_vector(const WeightSource& source, const TensorSpec& spec, const Context& context) {
  Tensor values(DType::kF32, {spec.rows * spec.cols});
  source.read_rows(spec, 0, spec.rows, DType::kF32, values.data());
  return placed(std::move(values), context);
}

kernels::Weight read_matrix(const WeightSource& source, const TensorSpec& spec,
                            const WeightType& type, const Context& context) {
  const auto fill = [&](int64_t first, int64_t end, void* out) {
    source.read_rows(spec, first, end, source_dtype(type.format), out);
  };
  try {
    return {spec.rows, spec.cols, type, fill, context};
  } catch (const kernels::NotFiniteError& error) {
    // A matrix without codes must be stored in the dtype of its inputs.
    raise(
        "{}: {}; store the weights in {} (--weight-format, or weight_format in an experiment "
        "file), or repair the checkpoint",
        to_string(spec.role), error.what(), name_of(format_of(type.input)));
  }
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

// If the weights do not fit in `type`: returns a smaller format to suggest, or "".
std::string smaller_format(const ModelConfig& config, const WeightType& type, int64_t have) {
  if (type.format == WeightFormat::kF32 && weight_bytes(config, DType::kBF16) <= have)
    return " or --dtype bf16";
  for (const WeightFormat format : {WeightFormat::kInt8, WeightFormat::kInt4})
    if (bits_per_weight(format) < bits_per_weight(type.format) &&
        weight_bytes(config, {format, type.input}) <= have)
      return fmt::format(" or --weight-format {}", name_of(format));
  return "";
}

void require_memory(const ModelConfig& config, const WeightType& type, const Context& context) {
  const bool is_host = context.runtime == nullptr;
  const int64_t need = weight_bytes(config, type);
  const int64_t have = is_host ? available_bytes() : context.runtime->available_bytes();
  if (need > have)
    throw MemoryError(
        fmt::format("{}: the weights need {:.2f} GiB in {} and {:.2f} GiB are available{}: use a "
                    "smaller model{}",
                    config.name, static_cast<double>(need) / 0x1p30, name_of(type.format),
                    static_cast<double>(have) / 0x1p30,
                    is_host ? available_memory().limit_text
                            : fmt::format(" on device {}", name_of(context.device)),
                    smaller_format(config, type, have)),
        static_cast<double>(need));
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
                            const WeightType& type, const Context& context) {
  require_memory(config, type, context);
  DecoderWeights weights;
  weights.type = type;
  weights.layers.resize(static_cast<size_t>(config.layers));
  for (const TensorSpec& spec : canonical_tensors(config)) {
    const Role& role = spec.role;
    // A tied matrix is used both as embedding and as head.
    const bool is_tied = role.part == Part::kEmbedding && config.tied_embeddings;
    LoadedPart& part = weights.set_of(role)[is_tied ? Part::kHead : role.part];
    if (role.is_bias) {
      part.bias = read_vector(source, spec, context);
    } else if (kind_of(role.part) == PartKind::kNorm) {
      part.values = read_vector(source, spec, context);
    } else if (kind_of(role.part) == PartKind::kTable && !is_tied) {
      part.table = read_table(source, spec, type.input, context);
    } else {
      part.matrix = read_matrix(source, spec, held_type(role.part, type), context);
    }
    source.release(spec);
  }
  return weights;
}

}  // namespace reprise::model
