#include "core/model/config/config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/model/config/config_families.h"
#include "core/model/config/config_reader.h"
#include "core/model/config/shapes.h"

namespace reprise::model {
namespace {

constexpr size_t kMaxConfigBytes = size_t{16} << 20;

struct Reader {
  const char* model_type;
  void (*read)(JsonObject&, ModelConfig&);
};
constexpr std::array kReaders = {
    Reader{"llama", read_llama},       Reader{"mistral", read_mistral},
    Reader{"mixtral", read_mixtral},   Reader{"qwen2_moe", read_qwen2_moe},
    Reader{"deepseek", read_deepseek}, Reader{"falcon", read_falcon},
    Reader{"RefinedWeb", read_falcon}, Reader{"RefinedWebModel", read_falcon},
    Reader{"mpt", read_mpt},           Reader{"phi", read_phi},
    Reader{"bert", read_bert},         Reader{"roberta", read_roberta},
    Reader{"deberta", read_deberta},   Reader{"deberta-v2", read_deberta_v2}};

const Reader& reader_of(const JsonObject& json, const std::string& model_type) {
  std::vector<std::string> names;
  for (const Reader& reader : kReaders) {
    if (model_type == reader.model_type) return reader;
    names.emplace_back(reader.model_type);
  }
  raise("{}: {}", json.where("model_type"), unknown_name("model_type", model_type, names));
}

// A generation_config.json in the folder of config.json may name more end-of-text tokens (Llama 3
// Instruct).
void merge_generation_config(const std::filesystem::path& path, ModelConfig& config) {
  if (!std::filesystem::exists(path)) return;
  const Value json = parse_json(read_file(path, kMaxConfigBytes), path.string());
  JsonObject object(json, path.string());
  for (const int64_t id : read_eos_ids(object, config.vocab))
    if (std::find(config.eos_ids.begin(), config.eos_ids.end(), id) == config.eos_ids.end())
      config.eos_ids.push_back(id);
}

const ShippedShape& shape_named(const std::string& name) {
  for (const ShippedShape& shape : shape_texts())
    if (name == shape.name) return shape;
  raise("\"{}\" is neither a folder with a config.json, nor a config.json, nor a known shape: {}",
        name, unknown_name("shape", name, shipped_shapes()));
}

ModelConfig load_shape(const std::string& name) {
  const std::string source = "shape " + name;
  ModelConfig config = parse_config(parse_json(shape_named(name).json, source), source);
  config.name = name;
  return config;
}

// Returns the config.json of a folder, or `dir_or_name` if it is a file; an empty path for a
// shipped shape.
std::filesystem::path config_file(const std::filesystem::path& dir_or_name) {
  std::error_code error;
  if (std::filesystem::is_directory(dir_or_name, error)) return dir_or_name / "config.json";
  return std::filesystem::is_regular_file(dir_or_name, error) ? dir_or_name : "";
}

}  // namespace

int64_t ModelConfig::position_limit() const {
  constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();
  if (position == PositionScheme::kAlibi || position == PositionScheme::kNone) return kNoEnd;
  if (max_positions <= 0) return kNoEnd;
  const auto stretched = [&](int64_t positions) {
    const double most = std::floor(rotary.factor * static_cast<double>(positions));
    return static_cast<int64_t>(std::min(most, static_cast<double>(kMaxPositions)));
  };
  if (position != PositionScheme::kRotary) return max_positions;
  switch (rotary.scaling) {
    // With these scalings, max_position_embeddings is the length before scaling.
    case RopeScaling::kLinear:
    case RopeScaling::kDynamic:
      return stretched(max_positions);
    // With YaRN, max_position_embeddings is the length before scaling in some files (Qwen2.5), and
    // the scaled length in others.
    case RopeScaling::kYarn:
      return std::max(max_positions, stretched(rotary.original_max_positions));
    default:
      return max_positions;
  }
}

int64_t ModelConfig::default_tokens() const {
  const int64_t limit = position_limit();
  return limit < std::numeric_limits<int64_t>::max() ? limit : max_positions;
}

ModelConfig parse_config(const Value& json, const std::string& source) {
  JsonObject object(json, source);
  ModelConfig config;
  config.name = source;
  config.model_type = object.string("model_type");
  reader_of(object, config.model_type).read(object, config);
  if (config.is_causal && !object.boolean("is_causal", true))
    raise(
        "{} is false, which is not supported: decoders are computed causally here, each token from "
        "itself and earlier ones",
        object.where("is_causal"));
  config.stored_dtype = read_stored_dtype(object);
  reject_unsupported_keys(object);
  return config;
}

ModelConfig load_config(const std::filesystem::path& dir_or_name) {
  namespace fs = std::filesystem;
  const fs::path file = config_file(dir_or_name);
  if (file.empty()) return load_shape(dir_or_name.string());
  ModelConfig config =
      parse_config(parse_json(read_file(file, kMaxConfigBytes), file.string()), file.string());
  const fs::path folder = fs::absolute(file).lexically_normal().parent_path();
  config.name = folder.filename().string();
  merge_generation_config(folder / "generation_config.json", config);
  return config;
}

std::string config_text(const std::filesystem::path& dir_or_name) {
  const std::filesystem::path file = config_file(dir_or_name);
  return file.empty() ? std::string(shape_named(dir_or_name.string()).json)
                      : read_file(file, kMaxConfigBytes);
}

bool ModelConfig::has_experts(int64_t layer) const {
  const auto& dense = experts.dense_layers;
  return experts.count > 0 && (layer + 1) % experts.sparse_step == 0 &&
         std::find(dense.begin(), dense.end(), layer) == dense.end();
}

int64_t ModelConfig::expert_layers() const {
  int64_t count = 0;
  for (int64_t layer = 0; layer < layers; ++layer) count += has_experts(layer) ? 1 : 0;
  return count;
}

std::vector<std::string> shipped_shapes() {
  std::vector<std::string> names;
  for (const ShippedShape& shape : shape_texts()) names.emplace_back(shape.name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace reprise::model
