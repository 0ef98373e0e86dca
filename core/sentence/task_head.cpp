#include "core/sentence/task_head.h"

#include <Eigen/Dense>
#include <cmath>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/model/checkpoint/checkpoint_files.h"

namespace reprise::sentence {
namespace {

using FloatMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using FloatVector = Eigen::VectorXf;

// Names of the two layers, without ".weight" and ".bias". transformers puts RoBERTa's both into its
// classifier; the others have a pooler, BERT's within the model.
struct Names {
  std::string dense, out;
};

Names names_of(const std::map<std::string, model::FileTensor>& tensors) {
  if (tensors.contains("classifier.out_proj.weight"))
    return {"classifier.dense", "classifier.out_proj"};
  const bool is_within = tensors.contains("bert.pooler.dense.weight");
  return {is_within ? "bert.pooler.dense" : "pooler.dense", "classifier"};
}

std::vector<float> read(const model::CheckpointFiles& files, const std::string& name,
                        const std::vector<int64_t>& shape) {
  const auto found = files.tensors().find(name);
  if (found == files.tensors().end())
    raise("{}: the classifier's tensor \"{}\" is missing", files.dir().string(), name);
  const auto& [file, entry] = found->second;
  model::SafetensorsEntry wanted{.shape = shape};
  if (entry->shape != shape || !entry->dtype)
    raise_shape("{}, tensor \"{}\": shape {} of {} in the file, a classifier of this model has {}",
                file->path().string(), name, entry->shape_text(), entry->dtype_name,
                wanted.shape_text());
  std::vector<float> values(static_cast<size_t>(entry->elements));
  file->read(*entry, 0, entry->elements, DType::kF32, values.data());
  return values;
}

bool reads_gelu(const std::filesystem::path& folder, const model::ModelConfig& config) {
  if (config.family != model::Family::kDeberta) return false;
  const std::string path = (folder / "config.json").string();
  const Value json = read_json(path);
  JsonObject object(json, path);
  const std::string name = object.string("pooler_hidden_act", "gelu");
  if (name != "gelu" && name != "tanh")
    raise("{} is \"{}\", which is not supported: use gelu or tanh",
          object.where("pooler_hidden_act"), name.substr(0, 100));
  return name == "gelu";
}

}  // namespace

void TaskHead::apply(std::span<const float> state, std::span<float> logits) const {
  REPRISE_CHECK(std::ssize(state) == hidden && std::ssize(logits) == labels, "{} of {}, {} of {}",
                state.size(), hidden, logits.size(), labels);
  const auto vector = [](std::span<const float> values) {
    return Eigen::Map<const FloatVector>(values.data(), std::ssize(values));
  };
  FloatVector between = Eigen::Map<const FloatMatrix>(dense.data(), hidden, hidden) * vector(state);
  between += vector(bias);
  for (float& x : between)
    x = is_gelu ? 0.5f * x * (1.0f + std::erf(x * std::sqrt(0.5f))) : std::tanh(x);
  Eigen::Map<FloatVector>(logits.data(), labels) =
      Eigen::Map<const FloatMatrix>(out.data(), labels, hidden) * between + vector(out_bias);
}

std::optional<TaskHead> read_task_head(const std::filesystem::path& folder,
                                       const model::ModelConfig& config) {
  if (config.is_causal) return std::nullopt;
  const model::CheckpointFiles files(folder);
  const Names names = names_of(files.tensors());
  const auto classifier = files.tensors().find(names.out + ".weight");
  if (classifier == files.tensors().end()) return std::nullopt;
  const std::vector<int64_t>& shape = classifier->second.entry->shape;
  TaskHead head{.hidden = config.hidden,
                .labels = shape.empty() ? 0 : shape.front(),
                .is_gelu = reads_gelu(folder, config)};
  head.dense = read(files, names.dense + ".weight", {head.hidden, head.hidden});
  head.bias = read(files, names.dense + ".bias", {head.hidden});
  head.out = read(files, names.out + ".weight", {head.labels, head.hidden});
  head.out_bias = read(files, names.out + ".bias", {head.labels});
  return head;
}

LabelReader::LabelReader(model::Decoder& model, const Tokenizer& tokenizer, TextForm form,
                         TaskHead head)
    : TextReader(model, tokenizer, std::move(form)), head_(std::move(head)) {}

void LabelReader::read_step(std::span<const model::EncoderText> texts, model::LayerPolicy* policy,
                            std::span<float> out) {
  const auto hidden = static_cast<size_t>(head_.hidden), labels = static_cast<size_t>(width());
  states_.resize(texts.size() * hidden);
  encoder().encode({.texts = texts, .hidden_of = model::HiddenOf::kFirstToken, .policy = policy},
                   states_);
  for (size_t text = 0; text < texts.size(); ++text)
    head_.apply(std::span(states_).subspan(text * hidden, hidden),
                out.subspan(text * labels, labels));
}

}  // namespace reprise::sentence
