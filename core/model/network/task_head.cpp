#include "core/model/network/task_head.h"

#include <algorithm>
#include <map>
#include <string>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/model/checkpoint/checkpoint_files.h"

namespace reprise::model {
namespace {

// Names of the head's two layers, without ".weight" and ".bias". In transformers, both layers of
// RoBERTa's head belong to the classifier. In other models the first layer is the pooler, whose
// name begins with "bert." in BERT.
struct Names {
  std::string dense, out;
};

Names names_of(const std::map<std::string, FileTensor>& tensors) {
  if (tensors.contains("classifier.out_proj.weight"))
    return {"classifier.dense", "classifier.out_proj"};
  const bool is_within = tensors.contains("bert.pooler.dense.weight");
  return {is_within ? "bert.pooler.dense" : "pooler.dense", "classifier"};
}

std::vector<float> read(const CheckpointFiles& files, const std::string& name,
                        const std::vector<int64_t>& shape) {
  const auto found = files.tensors().find(name);
  if (found == files.tensors().end())
    raise("{}: the classifier's tensor \"{}\" is missing", files.dir().string(), name);
  const auto& [file, entry] = found->second;
  SafetensorsEntry wanted{.shape = shape};
  if (entry->shape != shape || !entry->dtype)
    raise_shape("{}, tensor \"{}\": shape {} of {} in the file, a classifier of this model has {}",
                file->path().string(), name, entry->shape_text(), entry->dtype_name,
                wanted.shape_text());
  std::vector<float> values(static_cast<size_t>(entry->elements));
  file->read(*entry, 0, entry->elements, DType::kF32, values.data());
  return values;
}

bool reads_gelu(JsonObject& json, const ModelConfig& config) {
  if (config.family != Family::kDeberta) return false;
  const std::string name = json.string("pooler_hidden_act", "gelu");
  if (name != "gelu" && name != "tanh")
    raise("{} is \"{}\", which is not supported: use gelu or tanh", json.where("pooler_hidden_act"),
          name.substr(0, 100));
  return name == "gelu";
}

// Returns false if `architectures` names only other classes, such as a token classifier, whose
// tensors may have the same names.
bool is_sequence_classifier(JsonObject& json) {
  if (!json.has("architectures")) return true;
  const Values& classes = json.list("architectures");
  return classes.empty() || std::any_of(classes.begin(), classes.end(), [](const Value& name) {
           return name.is_text() && name.text().ends_with("ForSequenceClassification");
         });
}

std::vector<std::string> read_label_names(JsonObject& json, int64_t labels) {
  std::vector<std::string> names;
  if (!json.has("id2label")) return names;
  JsonObject by_id = json.object("id2label");
  for (int64_t label = 0; label < labels; ++label) {
    const Value& name = by_id.at(std::to_string(label));
    names.push_back(name.is_text() ? name.text() : json_text(name));
  }
  return names;
}

}  // namespace

std::optional<TaskHead> read_task_head(const std::filesystem::path& folder,
                                       const ModelConfig& config) {
  if (config.is_causal) return std::nullopt;
  const CheckpointFiles files(folder);
  const Names names = names_of(files.tensors());
  const auto classifier = files.tensors().find(names.out + ".weight");
  if (classifier == files.tensors().end()) return std::nullopt;
  const std::string path = (folder / "config.json").string();
  const Value json = read_json(path);
  JsonObject object(json, path);
  if (!is_sequence_classifier(object)) return std::nullopt;
  const std::vector<int64_t>& shape = classifier->second.entry->shape;
  TaskHead head{.hidden = config.hidden,
                .labels = shape.empty() ? 0 : shape.front(),
                .is_gelu = reads_gelu(object, config)};
  head.dense = read(files, names.dense + ".weight", {head.hidden, head.hidden});
  head.bias = read(files, names.dense + ".bias", {head.hidden});
  head.out = read(files, names.out + ".weight", {head.labels, head.hidden});
  head.out_bias = read(files, names.out + ".bias", {head.labels});
  head.label_names = read_label_names(object, head.labels);
  return head;
}

}  // namespace reprise::model
