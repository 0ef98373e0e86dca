// config.json of DeBERTa, versions 1 to 3: encoders with disentangled attention.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/model/config/config_families.h"

namespace reprise::model {
namespace {

// Returns the words of a list, or of a string separated by '|', in lower case.
std::vector<std::string> read_words(JsonObject& json, const std::string& key) {
  std::vector<std::string> words;
  if (!json.has(key)) return words;
  const Value& value = json.at(key);
  if (!value.is_text() && !value.is_list())
    raise("{} is {}, expected a list of words", json.where(key), shown(value));
  std::string text;
  for (const Value& item : value.is_list() ? value.list() : Values{value}) {
    if (!item.is_text()) raise("{} holds {}, expected words", json.where(key), json_text(item));
    if (!text.empty()) text += '|';
    text += item.text();
  }
  for (std::string word; const char c : text + "|") {
    if (c != '|' && c != ' ') word += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    if (c == '|' && !word.empty()) words.push_back(std::exchange(word, ""));
  }
  return words;
}

void read_terms(JsonObject& json, RelativeConfig& relative) {
  relative.has_keys = relative.has_queries = false;
  for (const std::string& word : read_words(json, "pos_att_type")) {
    if (word != "c2p" && word != "p2c")
      raise("{} holds \"{}\", which is not supported: use c2p and p2c", json.where("pos_att_type"),
            word.substr(0, 100));
    (word == "c2p" ? relative.has_keys : relative.has_queries) = true;
  }
}

// Returns the factor of all terms of the scores. There is one content term, and one for each kind
// of position.
double scale_of(const ModelConfig& config) {
  const int terms = 1 + (config.relative.has_keys ? 1 : 0) + (config.relative.has_queries ? 1 : 0);
  return 1.0 / std::sqrt(static_cast<double>(config.head_dim * terms));
}

void read_relative(JsonObject& json, ModelConfig& config) {
  config.family = Family::kDeberta;
  read_post_norm_encoder(json, /*norm_epsilon=*/1e-7, config);
  config.token_types = json.integer_in("type_vocab_size", 0, kMaxVocab, 0);
  config.position = json.boolean("position_biased_input", true) ? PositionScheme::kLearned
                                                                : PositionScheme::kNone;
  if (!json.boolean("relative_attention", false))
    raise("{} is off, which is not supported: a DeBERTa without relative positions is a bert",
          json.where("relative_attention"));
  read_terms(json, config.relative);
  // An absent key or a number below 1 means max_positions.
  const int64_t distance = json.integer_in("max_relative_positions", -1, kMaxPositions, -1);
  config.relative.max_distance = distance >= 1 ? distance : config.max_positions;
  config.relative.span = config.relative.max_distance;
  if (const int64_t width = read_count(json, "embedding_size", kMaxWidth, config.hidden);
      width != config.hidden)
    raise("{} is {}, which is not supported: it must be the hidden size {}",
          json.where("embedding_size"), width, config.hidden);
}

// An absent activation means "tanh", which is not supported.
void read_convolution(JsonObject& json, ModelConfig& config) {
  const int64_t kernel = json.integer_in("conv_kernel_size", -1, 15, 0);
  if (kernel < 1) return;
  if (kernel % 2 == 0)
    raise("{} is {}, which is not supported: an odd number leaves a text its length",
          json.where("conv_kernel_size"), kernel);
  const std::string activation =
      read_choice(json, "conv_act", {"tanh", "gelu", "gelu_new", "gelu_pytorch_tanh"});
  if (activation == "tanh")
    raise("{} is \"tanh\", or absent, which is not supported: use gelu", json.where("conv_act"));
  if (const int64_t groups = json.integer_in("conv_groups", 1, kMaxWidth, 1); groups != 1)
    raise("{} is {}, which is not supported: use 1", json.where("conv_groups"), groups);
  if (config.layers < 2)
    raise("{} is 1: a convolution stands between two layers", json.where("num_hidden_layers"));
  config.convolution = {
      .kernel = kernel,
      .activation = activation == "gelu" ? Activation::kGelu : Activation::kGeluTanh};
}

}  // namespace

void read_deberta(JsonObject& json, ModelConfig& config) {
  read_relative(json, config);
  config.attention_scale = scale_of(config);
  require_off(json, "talking_head");
}

void read_deberta_v2(JsonObject& json, ModelConfig& config) {
  read_relative(json, config);
  config.head_dim = read_count(json, "attention_head_size", kMaxWidth, config.head_dim);
  if (config.head_dim * config.heads != config.hidden)
    raise("{} is {}, which is not supported: {} heads of it must make the hidden size {}",
          json.where("attention_head_size"), config.head_dim, config.heads, config.hidden);
  config.attention_scale = scale_of(config);
  RelativeConfig& relative = config.relative;
  relative.shares_projections = json.boolean("share_att_key", false);
  const int64_t buckets = json.integer_in("position_buckets", -1, kMaxPositions, -1);
  if (buckets >= 1) {
    relative.buckets = relative.span = buckets;
    if (buckets < 4 || relative.max_distance <= buckets / 2 + 1)
      raise("{} is {} and distances go to {}: 4 <= buckets < 2 * (distances - 1) is needed",
            json.where("position_buckets"), buckets, relative.max_distance);
  }
  for (const std::string& word : read_words(json, "norm_rel_ebd")) {
    if (word != "layer_norm" && word != "none")
      raise("{} holds \"{}\", which is not supported: use layer_norm or none",
            json.where("norm_rel_ebd"), word.substr(0, 100));
    relative.has_norm = relative.has_norm || word == "layer_norm";
  }
  read_convolution(json, config);
}

}  // namespace reprise::model
