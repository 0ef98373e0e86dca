// A checkpoint folder as a source of canonical tensors. The constructor resolves all names and
// shapes, so reading rows only copies runs.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/model/checkpoint/checkpoint_files.h"
#include "core/model/checkpoint/tensor_names.h"
#include "core/model/checkpoint/tensor_table.h"
#include "core/model/checkpoint/weights.h"

namespace reprise::model {
namespace {

constexpr const char* kHeadName = "lm_head.weight";

// Elements [first, first + count) of a canonical tensor. They are elements of a stored tensor from
// stored_first on, or 0 if `source` has no file.
struct Run {
  int64_t first, count;
  FileTensor source;
  int64_t stored_first;
};

std::string text_of(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// Returns the name that a norm weight or bias has in BERT files converted from TensorFlow.
std::string older_name(const std::string& name) {
  for (const auto& [end, older] : {std::pair{".LayerNorm.weight", ".LayerNorm.gamma"},
                                   std::pair{".LayerNorm.bias", ".LayerNorm.beta"}})
    if (const std::string_view suffix = end; name.ends_with(suffix))
      return name.substr(0, name.size() - suffix.size()) + older;
  return name;
}

bool has_prefix(const CheckpointFiles& files, std::string_view prefix) {
  const auto first = files.tensors().lower_bound(std::string(prefix));
  return first != files.tensors().end() && first->first.starts_with(prefix);
}

// Returns the likely reason why the files lack a tensor that the model needs.
std::string why_missing(const CheckpointFiles& files, const std::string& name) {
  const auto& tensors = files.tensors();
  if (name.ends_with(".weight")) {
    const std::string packed = name.substr(0, name.rfind('.')) + ".qweight";
    if (tensors.contains(packed))
      return fmt::format(
          "\"{}\" in its place is quantized, which is not supported: export the model in F32, BF16 "
          "or F16",
          packed);
  }
  if (name == kHeadName && tensors.contains("score.weight"))
    return "\"score.weight\" in its place is the head of a classifier, which is not supported";
  return "is this the folder's own config.json?";
}

class Checkpoint final : public WeightSource {
 public:
  Checkpoint(const std::filesystem::path& dir, const ModelConfig& config);

  void read_rows(const TensorSpec& tensor, int64_t first_row, int64_t end_row, DType dtype,
                 void* out) const override;
  void release(const TensorSpec& tensor) const override;

 private:
  FileTensor find(const StoredTensor& wanted, bool may_be_head = false);
  void accept_tied_head(const ModelConfig& config);
  void reject_extras(const ModelConfig& config) const;
  [[nodiscard]] const std::vector<Run>& runs_of(const TensorSpec& tensor) const;

  CheckpointFiles files_;
  std::string prefix_;          // the prefix that names in these files lack, or ""
  std::set<std::string> used_;  // names found in the files
  std::map<Role, std::vector<Run>> runs_;
};

Checkpoint::Checkpoint(const std::filesystem::path& dir, const ModelConfig& config) : files_(dir) {
  if (!has_prefix(files_, name_prefix(config))) prefix_ = name_prefix(config);
  for (const TensorSpec& tensor : canonical_tensors(config)) {
    const StoredLayout layout = stored_layout(config, tensor);
    std::vector<FileTensor> sources;
    for (const StoredTensor& stored : layout.tensors)
      sources.push_back(
          find(stored, config.tied_embeddings && tensor.role.part == Part::kEmbedding));
    std::vector<Run>& runs = runs_[tensor.role];
    for (const StoredRun& run : layout.runs)
      runs.push_back({run.first, run.count,
                      run.stored == kZeros ? FileTensor{} : sources[run.stored], run.stored_first});
  }
  if (config.tied_embeddings) accept_tied_head(config);
  reject_extras(config);
}

// With may_be_head, the tensor may have the head's name instead: safetensors' save_model() stores
// tied tensors only once, under the name that comes first in the alphabet.
FileTensor Checkpoint::find(const StoredTensor& wanted, bool may_be_head) {
  std::string name = wanted.name;
  if (!prefix_.empty() && name.starts_with(prefix_)) name = name.substr(prefix_.size());
  auto found = files_.tensors().find(name);
  if (found == files_.tensors().end()) found = files_.tensors().find(older_name(name));
  if (found == files_.tensors().end() && may_be_head) found = files_.tensors().find(kHeadName);
  if (found == files_.tensors().end())
    raise("{}: tensor \"{}\" of shape {} is missing; {}", files_.dir().string(), name,
          text_of(wanted.shape), why_missing(files_, name));
  name = found->first;
  const FileTensor tensor = found->second;
  const std::string file = tensor.file->path().string();
  if (tensor.entry->shape != wanted.shape)
    raise_shape("{}, tensor \"{}\": shape {} in the file, but {} by config.json", file, name,
                text_of(tensor.entry->shape), text_of(wanted.shape));
  if (!tensor.entry->dtype)
    raise(
        "{}, tensor \"{}\": dtype {} cannot be read as weights; export the model in F32, BF16 or "
        "F16",
        file, name, tensor.entry->dtype_name);
  used_.insert(name);
  return tensor;
}

// The file of a tied model may repeat the embedding as its head. A head that differs from the
// embedding is an error, because otherwise it would silently be ignored.
void Checkpoint::accept_tied_head(const ModelConfig& config) {
  if (used_.contains(kHeadName) || !files_.tensors().contains(kHeadName)) return;
  const FileTensor head = find({.name = kHeadName, .shape = {config.vocab, config.hidden}});
  const FileTensor embedding = runs_.at({.part = Part::kEmbedding}).front().source;
  const auto a = head.file->bytes(*head.entry), b = embedding.file->bytes(*embedding.entry);
  const bool has_its_dtype = head.entry->dtype == embedding.entry->dtype;
  if (!has_its_dtype || !std::equal(a.begin(), a.end(), b.begin()))
    raise(
        "{}, tensor \"{}\" differs from the embedding{}, but config.json ties them: set "
        "\"tie_word_embeddings\": false if the head is meant",
        head.file->path().string(), kHeadName,
        has_its_dtype ? ""
                      : fmt::format(" in dtype ({}, not {})", head.entry->dtype_name,
                                    embedding.entry->dtype_name));
  head.file->release(*head.entry);
  embedding.file->release(*embedding.entry);
}

void Checkpoint::reject_extras(const ModelConfig& config) const {
  for (const auto& [name, tensor] : files_.tensors())
    if (!used_.contains(name) && !is_ignorable(config, name))
      raise("{}, tensor {} {} is not of the model that config.json describes",
            tensor.file->path().string(), quoted_name(name), tensor.entry->shape_text());
}

const std::vector<Run>& Checkpoint::runs_of(const TensorSpec& tensor) const {
  const auto found = runs_.find(tensor.role);
  REPRISE_CHECK(found != runs_.end(), "no {}", to_string(tensor.role));
  const Run& last = found->second.back();
  REPRISE_CHECK(last.first + last.count == tensor.rows * tensor.cols, "{}: {} elements",
                to_string(tensor.role), last.first + last.count);
  return found->second;
}

void Checkpoint::read_rows(const TensorSpec& tensor, int64_t first_row, int64_t end_row,
                           DType dtype, void* out) const {
  REPRISE_CHECK(0 <= first_row && first_row <= end_row && end_row <= tensor.rows,
                "rows [{}, {}) of {}", first_row, end_row, tensor.rows);
  const std::vector<Run>& runs = runs_of(tensor);
  const int64_t end = end_row * tensor.cols;
  auto* target = static_cast<std::byte*>(out);
  auto run = std::upper_bound(runs.begin(), runs.end(), first_row * tensor.cols,
                              [](int64_t at, const Run& r) { return at < r.first + r.count; });
  for (int64_t at = first_row * tensor.cols; at < end; ++run) {
    const int64_t count = std::min(end, run->first + run->count) - at;
    const size_t bytes = static_cast<size_t>(count) * size_of(dtype);
    if (run->source.file == nullptr) {
      std::memset(target, 0, bytes);  // 0 in every dtype
    } else {
      run->source.file->read(*run->source.entry, run->stored_first + at - run->first, count, dtype,
                             target);
    }
    target += bytes;
    at += count;
  }
}

void Checkpoint::release(const TensorSpec& tensor) const {
  const SafetensorsEntry* last = nullptr;
  for (const Run& run : runs_of(tensor)) {
    if (run.source.entry != last && run.source.file != nullptr)
      run.source.file->release(*run.source.entry);
    last = run.source.entry;
  }
}

// Adapts an MPT whose biases or whose MLP's width may differ from config.json.
void adapt_mpt(const CheckpointFiles& files, ModelConfig& config) {
  const int64_t usual = 4 * config.hidden;
  bool has_bias = false, is_usual = false;
  for (const auto& [name, tensor] : files.tensors()) {
    has_bias = has_bias || name.ends_with(".bias");
    is_usual = is_usual || (name.ends_with("blocks.0.ffn.up_proj.weight") &&
                            tensor.entry->shape == std::vector{usual, config.hidden});
  }
  if (!has_bias)
    config.norm_bias = config.qkv_bias = config.attention_out_bias = config.mlp_bias = false;
  if (is_usual) config.intermediate = usual;
}

}  // namespace

void adapt_to_checkpoint(const std::filesystem::path& dir, ModelConfig& config) {
  const bool may_differ = config.family == Family::kMpt &&
                          (config.mlp_bias || config.intermediate != 4 * config.hidden);
  const bool may_lack_head = config.has_head && !config.tied_embeddings;
  if (!may_differ && !may_lack_head) return;
  const CheckpointFiles files(dir);
  if (may_differ) adapt_mpt(files, config);
  if (may_lack_head && !has_prefix(files, name_prefix(config)) &&
      !files.tensors().contains(kHeadName))
    config.has_head = config.head_bias = false;
}

std::unique_ptr<WeightSource> open_checkpoint(const std::filesystem::path& dir,
                                              const ModelConfig& config) {
  return std::make_unique<Checkpoint>(dir, config);
}

}  // namespace reprise::model
