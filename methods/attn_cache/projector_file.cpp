#include "methods/attn_cache/projector_file.h"

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/model/checkpoint/safetensors.h"
#include "core/model/checkpoint/safetensors_writer.h"

namespace reprise::attn_cache {
namespace {

constexpr int64_t kMostExtent = int64_t{1} << 28;

template <typename Values, typename Weights>
std::vector<NamedTensor<Values>> list_tensors(const ProjectorShape& shape, Weights& weights) {
  if (shape.kind == ProjectorKind::kRaw) return {};
  std::vector<NamedTensor<Values>> tensors = {
      {"linear1.weight", {shape.width, shape.inputs()}, &weights.linear1},
      {"linear1.bias", {shape.width}, &weights.bias1},
      {"linear2.weight", {shape.features, shape.width}, &weights.linear2},
      {"linear2.bias", {shape.features}, &weights.bias2}};
  const auto add_norm = [&](const std::string& name, int64_t values, auto& norm) {
    tensors.push_back({name + ".weight", {values}, &norm.weight});
    tensors.push_back({name + ".bias", {values}, &norm.bias});
    tensors.push_back({name + ".running_mean", {values}, &norm.mean});
    tensors.push_back({name + ".running_var", {values}, &norm.variance});
  };
  if (shape.kind == ProjectorKind::kPooledLinear) {
    add_norm("norm0", 1, weights.norm0);
    add_norm("norm1", shape.width, weights.norm1);
  }
  return tensors;
}

// Key in the file's metadata for shape and origin. The value is JSON inside a string, because the
// metadata of safetensors are strings.
constexpr const char* kProjectorKey = "reprise_projector";

Fields describe(const ProjectorShape& shape, const ProjectorOrigin& origin) {
  return {{"shape", describe_shape(shape)},
          {"how", origin.how},
          {"model", origin.model},
          {"settings", parse_json(origin.settings, "settings of a projector")}};
}

// Throws Error naming the key for an invalid shape.
ProjectorShape parse_shape(JsonObject& object) {
  ProjectorShape shape;
  shape.kind = parse_projector_kind(object.string("kind"));
  shape.hidden = object.integer_in("hidden", 1, kMostExtent);
  shape.pooled_rows = object.integer_in("pooled_rows", 1, kMostExtent);
  shape.tokens = object.integer_in("tokens", 0, kMostExtent);
  const bool is_raw = shape.kind == ProjectorKind::kRaw;
  shape.width = object.integer_in("width", is_raw ? 0 : 1, is_raw ? 0 : kMostExtent);
  shape.features = object.integer_in("features", 1, kMostExtent);
  object.reject_unknown();
  if (shape.kind == ProjectorKind::kPooledLinear &&
      shape != pooled_linear_shape(shape.hidden, shape.tokens, shape.width, shape.features))
    raise("{} is {}, which prompts of {} tokens do not leave", object.where("pooled_rows"),
          shape.pooled_rows, shape.tokens);
  if (is_raw && shape != raw_shape(shape.hidden, shape.pooled_rows))
    raise("{} is {}: a raw vector of {} pooled rows has {}", object.where("features"),
          shape.features, shape.pooled_rows, shape.inputs());
  return shape;
}

void parse_description(const Value& json, const std::string& source, ProjectorFile& file) {
  JsonObject object(json, source, kProjectorKey);
  JsonObject shape = object.object("shape");
  file.shape = parse_shape(shape);
  file.origin = {.how = object.string("how"), .model = object.string("model")};
  file.origin.settings = json_text(object.at("settings"));
  object.reject_unknown();
}

}  // namespace

std::vector<ProjectorTensor> tensors_of(const ProjectorShape& shape,
                                        const ProjectorWeights& weights) {
  return list_tensors<const std::vector<float>>(shape, weights);
}

std::vector<MutableProjectorTensor> tensors_of(const ProjectorShape& shape,
                                               ProjectorWeights& weights) {
  return list_tensors<std::vector<float>>(shape, weights);
}

Fields describe_shape(const ProjectorShape& shape) {
  return {{"kind", std::string(name_of(shape.kind))},
          {"hidden", shape.hidden},
          {"pooled_rows", shape.pooled_rows},
          {"tokens", shape.tokens},
          {"width", shape.width},
          {"features", shape.features}};
}

ProjectorFile read_projector(const std::filesystem::path& path) {
  const model::SafetensorsFile file(path);
  const std::string source = path.string();
  const Value metadata = parse_json(model::safetensors_metadata_of(path), source);
  const Value& description = field_of(metadata, kProjectorKey);
  if (!description.is_text())
    raise("{} is no projector: its metadata have no \"{}\". Name a file that training has written.",
          source, kProjectorKey);
  ProjectorFile projector;
  parse_description(parse_json(description.text(), source), source, projector);
  for (const MutableProjectorTensor& tensor : tensors_of(projector.shape, projector.weights)) {
    const auto found = file.entries().find(tensor.name);
    if (found == file.entries().end()) raise("{} has no tensor \"{}\"", source, tensor.name);
    if (!found->second.dtype || found->second.shape != tensor.shape)
      raise_shape("{}: \"{}\" is {} {}, the projector's shape asks for {} numbers", source,
                  tensor.name, found->second.dtype_name, found->second.shape_text(),
                  tensor.elements());
    tensor.values->resize(static_cast<size_t>(tensor.elements()));
    file.read(found->second, 0, tensor.elements(), DType::kF32, tensor.values->data());
  }
  return projector;
}

void write_projector(const std::filesystem::path& path, const ProjectorShape& shape,
                     const ProjectorWeights& weights, const ProjectorOrigin& origin) {
  const Fields metadata = {{kProjectorKey, json_text(describe(shape, origin))}};
  std::vector<model::TensorToWrite> tensors;
  for (const ProjectorTensor& tensor : tensors_of(shape, weights))
    tensors.push_back({tensor.name, tensor.shape, *tensor.values});
  model::write_safetensors(path, tensors, json_text(metadata));
}

}  // namespace reprise::attn_cache
