#include "core/model/checkpoint/tensor_names.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/model/checkpoint/tensor_table.h"

namespace reprise::model {
namespace {

// One stored tensor and its number of outputs (rows of a matrix, elements of a vector).
struct Piece {
  std::string_view name;
  int64_t outputs;
};

// True for tensors that have one extent in files. Tables and matrices have two, even with one row.
bool is_vector(const Role& role) { return role.is_bias || kind_of(role.part) == PartKind::kNorm; }

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// Returns `name` with '@' replaced by the expert's number.
std::string numbered(std::string_view name, int64_t expert) {
  std::string text(name);
  if (const size_t at = text.find('@'); at != std::string::npos)
    text.replace(at, 1, std::to_string(expert));
  return text;
}

// Returns the stored tensors of a part. A part has several only if q, k and v, or gate and up, are
// stored separately. Gate and up have equal size.
std::vector<Piece> pieces_of(const ModelConfig& config, const TensorSpec& tensor, Naming naming) {
  const PartRow& row = row_of(tensor.role.part);
  const int64_t outputs = is_vector(tensor.role) ? tensor.cols : tensor.rows;
  const auto names = words_of(stored_names(row, naming));
  REPRISE_CHECK(!names.empty(), "{} has no name", to_string(tensor.role));
  std::vector<Piece> pieces;
  for (const std::string_view name : names)
    pieces.push_back({name, outputs / static_cast<int64_t>(names.size())});
  if (tensor.role.part == Part::kQkv && pieces.size() == 3) {
    pieces[0].outputs = config.q_dim();
    pieces[1].outputs = pieces[2].outputs = config.kv_dim();
  }
  return pieces;
}

// For each KV head, Falcon's query_key_value and the first DeBERTa's in_proj store its query heads,
// its key and its value. With one KV head (multi-query) that is [q; k; v]; with one query head per
// KV head (RW) it is [q k v] per head.
std::vector<StoredRun> grouped_runs(const ModelConfig& config, int64_t row_elements) {
  const int64_t head = config.head_dim * row_elements;
  const int64_t group_queries = config.heads / config.kv_heads;
  const int64_t stored_group = (group_queries + 2) * head;
  std::vector<StoredRun> runs;
  int64_t first = 0;
  const auto add = [&](int64_t heads, int64_t stored_first) {
    runs.push_back(
        {.first = first, .count = heads * head, .stored = 0, .stored_first = stored_first});
    first += heads * head;
  };
  for (int64_t g = 0; g < config.kv_heads; ++g) add(group_queries, g * stored_group);
  for (int64_t g = 0; g < config.kv_heads; ++g) add(1, g * stored_group + group_queries * head);
  for (int64_t g = 0; g < config.kv_heads; ++g)
    add(1, g * stored_group + (group_queries + 1) * head);
  return runs;
}

// The first DeBERTa has bias vectors for queries and values, and none for keys.
StoredLayout query_value_bias(const ModelConfig& config, const std::string& prefix) {
  const int64_t q = config.q_dim(), kv = config.kv_dim();
  return {.tensors = {{.name = prefix + "attention.self.q_bias", .shape = {q}},
                      {.name = prefix + "attention.self.v_bias", .shape = {kv}}},
          .runs = {{.first = 0, .count = q, .stored = 0},
                   {.first = q, .count = kv, .stored = kZeros},
                   {.first = q + kv, .count = kv, .stored = 1}}};
}

}  // namespace

StoredLayout stored_layout(const ModelConfig& config, const TensorSpec& tensor) {
  const Role& role = tensor.role;
  const Naming naming = naming_of(config);
  const int64_t row_elements = is_vector(role) ? 1 : tensor.cols;
  std::string prefix(name_prefix(config));
  if (role.layer >= 0) prefix += fmt::format("{}.{}.", layers_name(naming), role.layer);
  if (naming == Naming::kDebertaV1 && role.part == Part::kQkv && role.is_bias)
    return query_value_bias(config, prefix);
  StoredLayout layout;
  int64_t first = 0;
  for (const Piece& piece : pieces_of(config, tensor, naming)) {
    const bool is_bare = piece.name.starts_with('/');
    StoredTensor stored;
    stored.name = (is_bare ? std::string() : prefix) +
                  numbered(piece.name.substr(is_bare ? 1 : 0), role.expert) +
                  (role.is_bias ? ".bias" : ".weight");
    stored.shape = {piece.outputs};
    if (role.part == Part::kConvolution && !role.is_bias) {
      stored.shape.insert(stored.shape.end(), {config.hidden, config.convolution.kernel});
    } else if (!is_vector(role)) {
      stored.shape.push_back(tensor.cols);
    }
    const int64_t count = piece.outputs * row_elements;
    layout.runs.push_back({.first = first, .count = count, .stored = layout.tensors.size()});
    layout.tensors.push_back(std::move(stored));
    first += count;
  }
  if ((config.family == Family::kFalcon || naming == Naming::kDebertaV1) && role.part == Part::kQkv)
    layout.runs = grouped_runs(config, row_elements);
  return layout;
}

bool is_ignorable(const ModelConfig& config, std::string_view name) {
  if (!config.has_head)
    for (const std::string_view head :
         {"cls.", "lm_head.", "classifier.", "qa_outputs.", "lm_predictions.", "mask_predictions."})
      if (name.starts_with(head)) return true;
  if (config.family == Family::kDeberta && config.position == PositionScheme::kNone &&
      name.ends_with("embeddings.position_embeddings.weight"))
    return true;
  return name.ends_with("rotary_emb.inv_freq") || name.ends_with("embeddings.position_ids") ||
         name.starts_with("pooler.") || name.find(".pooler.") != std::string_view::npos;
}

}  // namespace reprise::model
