#include "core/model/config/config_reader.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.h"

namespace reprise::model {
namespace {

// Keys about training, generation or packaging that do not affect the forward pass.
constexpr std::array kMetadata = {"_name_or_path",
                                  "architectures",
                                  "attention_dropout",
                                  "attention_probs_dropout_prob",
                                  "attn_implementation",
                                  "_attn_implementation",
                                  "auto_map",
                                  "chunk_size_feed_forward",
                                  "cls_token_id",
                                  "embd_pdrop",
                                  "emb_pdrop",
                                  "eod_token_id",
                                  "hidden_dropout",
                                  "hidden_dropout_prob",
                                  "id2label",
                                  "init_config",
                                  "init_device",
                                  "initializer_range",
                                  "keys_to_ignore_at_inference",
                                  "label2id",
                                  "mask_token_id",
                                  "max_length",
                                  "max_sequence_length",
                                  "name",
                                  "output_attentions",
                                  "output_hidden_states",
                                  "pad_token_id",
                                  "pretraining_tp",
                                  "problem_type",
                                  "resid_pdrop",
                                  "return_dict",
                                  "sep_token_id",
                                  "task_specific_params",
                                  "tokenizer_class",
                                  "tokenizer_name",
                                  "transformers_version",
                                  "unk_token_id",
                                  "use_cache",
                                  "verbose"};

// Features of other architectures, which must be off because this program does not implement them.
constexpr std::array kSwitches = {"quantization_config",
                                  "quantization",  // in files of MLX
                                  "compression_config",
                                  "num_experts",
                                  "num_local_experts",
                                  "n_routed_experts",
                                  "num_experts_per_tok",
                                  "moe_intermediate_size",
                                  "shared_expert_intermediate_size",
                                  "n_shared_experts",
                                  "ffn_config",
                                  "attn_logit_softcapping",
                                  "final_logit_softcapping",
                                  "query_pre_attn_scalar",
                                  "qk_norm",
                                  "use_qk_norm",
                                  "qk_layernorm",
                                  "logit_scale",
                                  "attention_chunk_size",
                                  "no_rope_layers",
                                  "cross_attention_layers",
                                  "add_cross_attention",
                                  "is_encoder_decoder",
                                  "use_sliding_window",
                                  "residual_in_fp32",
                                  "parallel_residual",
                                  "use_parallel_residual"};
// Factors of other architectures. A factor of 1 is accepted, because it changes nothing.
constexpr std::array kMultipliers = {"embedding_multiplier", "attention_multiplier",
                                     "residual_multiplier", "logits_scaling"};

bool is_off(const Value& value) {
  if (value.is_number()) return value.number() == 0.0;
  if (value.is_text()) return value.text().empty();
  return value == Value(false) || (!value.is_bool() && value.size() == 0);
}

RopeScaling parse_scaling(const JsonObject& json, const std::string& key, const std::string& type) {
  if (type == "default") return RopeScaling::kNone;
  if (type == "linear") return RopeScaling::kLinear;
  if (type == "dynamic") return RopeScaling::kDynamic;
  if (type == "llama3") return RopeScaling::kLlama3;
  if (type == "yarn") return RopeScaling::kYarn;
  // The first files of Phi-3 call this scaling "su".
  if (type == "longrope" || type == "su") return RopeScaling::kLongRope;
  // With mrope, each section of a head rotates by one of three positions: in the text, the row or
  // the column of an image. For text alone the three positions are equal, so the angles are the
  // same as without sections.
  if (type == "mrope") return RopeScaling::kNone;
  raise(
      "{} is \"{}\", which is not supported: use default, linear, dynamic, llama3, yarn, longrope "
      "or mrope",
      json.where(key), type.substr(0, 100));
}

void read_llama3(JsonObject& scaling, RotaryConfig& rotary) {
  rotary.low_freq_factor = scaling.number("low_freq_factor");
  rotary.high_freq_factor = scaling.number("high_freq_factor");
  if (!(rotary.low_freq_factor > 0 && rotary.high_freq_factor > rotary.low_freq_factor))
    raise("{} is {} and high_freq_factor {}: 0 < low < high is needed",
          scaling.where("low_freq_factor"), rotary.low_freq_factor, rotary.high_freq_factor);
}

// Returns the factor of cosines and sines. [YaRN §3.3, eq. 22] DeepSeek's files adjust this factor
// by two weights, mscale and mscale_all_dim.
double yarn_attention_factor(JsonObject& scaling, double factor) {
  const auto grown = [&](double weight) {
    return factor <= 1.0 ? 1.0 : 0.1 * weight * std::log(factor) + 1.0;
  };
  const double weight = scaling.number("mscale", 0.0), all = scaling.number("mscale_all_dim", 0.0);
  return weight != 0.0 && all != 0.0 ? grown(weight) / grown(all) : grown(1.0);
}

void read_yarn(JsonObject& scaling, RotaryConfig& rotary) {
  rotary.beta_fast = read_positive(scaling, "beta_fast", rotary.beta_fast);
  rotary.beta_slow = read_positive(scaling, "beta_slow", rotary.beta_slow);
  if (rotary.beta_fast < rotary.beta_slow)
    raise("{} is {}, less than beta_slow, {}", scaling.where("beta_fast"), rotary.beta_fast,
          rotary.beta_slow);
  rotary.has_whole_ramp = scaling.boolean("truncate", true);
  const double by_factor = yarn_attention_factor(scaling, rotary.factor);
  rotary.attention_factor = read_positive(scaling, "attention_factor", by_factor);
}

std::vector<double> read_divisors(JsonObject& scaling, const std::string& key, int64_t pairs) {
  std::vector<double> divisors;
  for (const Value& divisor : scaling.list(key)) {
    if (!divisor.is_number() || !(divisor.number() > 0.0))
      raise("{} holds {}; divisors are greater than 0", scaling.where(key), shown(divisor));
    divisors.push_back(divisor.number());
  }
  if (std::ssize(divisors) != pairs)
    raise("{} holds {} divisors, the {} dimensions of a head that rotate need {}",
          scaling.where(key), divisors.size(), 2 * pairs, pairs);
  return divisors;
}

void read_longrope(JsonObject& scaling, RotaryConfig& rotary) {
  rotary.short_divisors = read_divisors(scaling, "short_factor", rotary.dims / 2);
  rotary.long_divisors = read_divisors(scaling, "long_factor", rotary.dims / 2);
  const auto original = static_cast<double>(rotary.original_max_positions);
  const bool is_stretched = rotary.factor > 1.0 && original > 1.0;
  rotary.attention_factor = read_positive(
      scaling, "attention_factor",
      is_stretched ? std::sqrt(1.0 + std::log(rotary.factor) / std::log(original)) : 1.0);
}

// Reads `factor`. If yarn or longrope files leave it out, it is the ratio of the scaled length to
// the original one.
double read_factor(JsonObject& scaling, const RotaryConfig& rotary, int64_t max_positions) {
  const bool may_lack_it =
      rotary.scaling == RopeScaling::kYarn || rotary.scaling == RopeScaling::kLongRope;
  const double ratio =
      static_cast<double>(max_positions) / static_cast<double>(rotary.original_max_positions);
  // LongRope uses the factor only for attention_factor, where a factor below 1 counts as 1.
  const double least = rotary.scaling == RopeScaling::kLongRope ? 1.0 : 0.0;
  const double factor =
      may_lack_it ? scaling.number("factor", std::max(least, ratio)) : scaling.number("factor");
  if (factor < 1.0) raise("{} is {}, it must be 1 or more", scaling.where("factor"), factor);
  return factor;
}

// Reads one dictionary of rope_scaling or rope_parameters. `original_positions` is
// original_max_position_embeddings at the top level of config.json.
void read_scaling(JsonObject scaling, int64_t max_positions,
                  std::optional<int64_t> original_positions, RotaryConfig& rotary) {
  // The caller reads the first two keys. The other keys have no meaning for some scalings.
  scaling.allow({"rope_theta", "partial_rotary_factor", "type", "low_freq_factor",
                 "high_freq_factor", "original_max_position_embeddings"});
  std::string type_key = "rope_type";
  if (!scaling.has("rope_type") && scaling.has("type")) type_key = "type";
  rotary.scaling = parse_scaling(scaling, type_key, scaling.string(type_key, "default"));
  // Dynamic scaling starts at max_position_embeddings; transformers reads no other length for it.
  if (rotary.scaling == RopeScaling::kDynamic)
    rotary.original_max_positions = max_positions;
  else
    rotary.original_max_positions =
        read_count(scaling, "original_max_position_embeddings", kMaxPositions,
                   original_positions.value_or(max_positions));
  // Versions of transformers differ in which of the two original lengths they take: that of this
  // dictionary or that of the top level. So both must be equal.
  const bool uses_original = rotary.scaling == RopeScaling::kLlama3 ||
                             rotary.scaling == RopeScaling::kYarn ||
                             rotary.scaling == RopeScaling::kLongRope;
  if (uses_original && original_positions && *original_positions != rotary.original_max_positions)
    raise("{} is {}, and the one outside of it {}: keep one",
          scaling.where("original_max_position_embeddings"), rotary.original_max_positions,
          *original_positions);
  if (rotary.scaling != RopeScaling::kNone || scaling.has("factor")) {
    const double factor = read_factor(scaling, rotary, max_positions);
    if (rotary.scaling != RopeScaling::kNone) rotary.factor = factor;
  }
  if (rotary.scaling == RopeScaling::kLlama3) read_llama3(scaling, rotary);
  if (rotary.scaling == RopeScaling::kYarn) read_yarn(scaling, rotary);
  if (rotary.scaling == RopeScaling::kLongRope) read_longrope(scaling, rotary);
  if (rotary.scaling == RopeScaling::kNone) scaling.allow({"mrope_section", "mrope_interleaved"});
  // YaRN's own checkpoints state whether they were trained with the scaling.
  if (rotary.scaling == RopeScaling::kYarn) scaling.allow({"finetuned"});
  scaling.reject_unknown();
}

int64_t read_id(const JsonObject& json, const std::string& key, const Value& value, int64_t vocab) {
  if (!value.is_integer())
    raise("{} must be a token id or a list of them, found {}", json.where(key), shown(value));
  if (!value.is_int64() || value.integer() < 0 || value.integer() >= vocab)
    raise("{} is {}, outside the vocabulary of {} tokens", json.where(key), json_text(value),
          vocab);
  return value.integer();
}

}  // namespace

int64_t read_count(JsonObject& json, const std::string& key, int64_t high) {
  return json.integer_in(key, 1, high);
}

int64_t read_count(JsonObject& json, const std::string& key, int64_t high, int64_t fallback) {
  return json.has(key) ? json.integer_in(key, 1, high) : fallback;
}

double read_positive(JsonObject& json, const std::string& key, double fallback) {
  const double value = json.number(key, fallback);
  if (!(value > 0.0)) raise("{} is {}, it must be greater than 0", json.where(key), value);
  return value;
}

std::string read_choice(JsonObject& json, const std::string& key,
                        std::initializer_list<const char*> accepted) {
  const std::string value = json.string(key, *accepted.begin());
  std::string list;
  for (const char* choice : accepted) {
    if (value == choice) return value;
    list += (list.empty() ? "\"" : ", \"") + std::string(choice) + "\"";
  }
  raise("{} is \"{}\", which is not supported here: use {}", json.where(key), value.substr(0, 100),
        list);
}

int64_t head_dim_of(const ModelConfig& config, const JsonObject& json,
                    const std::string& heads_key) {
  if (config.hidden % config.heads != 0)
    raise("{} is {}, which does not divide the hidden size {}", json.where(heads_key), config.heads,
          config.hidden);
  return config.hidden / config.heads;
}

int64_t read_head_dim(JsonObject& json, const ModelConfig& config) {
  if (!json.has("head_dim")) return head_dim_of(config, json, "num_attention_heads");
  const int64_t head_dim = read_count(json, "head_dim", kMaxWidth);
  if (config.heads * head_dim > kMaxWidth)
    raise("{}: {} heads of {} are more than {}", json.where("head_dim"), config.heads, head_dim,
          kMaxWidth);
  return head_dim;
}

void check_grouping(const ModelConfig& config, const JsonObject& json,
                    const std::string& kv_heads_key) {
  if (config.kv_heads < 1 || config.heads % config.kv_heads != 0)
    raise("{} is {}, it must divide the {} query heads", json.where(kv_heads_key), config.kv_heads,
          config.heads);
}

RotaryConfig read_rotary(JsonObject& json, const ModelConfig& config, double rotary_factor) {
  RotaryConfig rotary;
  const bool has_scaling = json.has("rope_scaling"), has_parameters = json.has("rope_parameters");
  if (has_scaling && has_parameters && json.at("rope_scaling") != json.at("rope_parameters"))
    raise("{} and rope_parameters disagree: keep one", json.where("rope_scaling"));
  rotary.theta = read_positive(json, "rope_theta", config.rotary.theta);
  double factor = read_positive(json, "partial_rotary_factor", rotary_factor);
  std::optional<JsonObject> scaling;
  if (has_scaling || has_parameters) {
    scaling.emplace(json.object(has_parameters ? "rope_parameters" : "rope_scaling"));
    rotary.theta = read_positive(*scaling, "rope_theta", rotary.theta);
    factor = read_positive(*scaling, "partial_rotary_factor", factor);
  }
  const double dims = factor * static_cast<double>(config.head_dim);
  rotary.dims = factor <= 1.0 ? static_cast<int64_t>(dims) : 0;
  if (rotary.dims < 2 || rotary.dims % 2 != 0)
    raise("{} is {}: of {} dimensions of a head an even number, at least 2, must rotate",
          json.where("partial_rotary_factor"), factor, config.head_dim);
  std::optional<int64_t> original;  // Phi-3's files have this key outside rope_scaling
  if (json.has("original_max_position_embeddings"))
    original = read_count(json, "original_max_position_embeddings", kMaxPositions);
  if (scaling) read_scaling(std::move(*scaling), config.max_positions, original, rotary);
  return rotary;
}

std::vector<int64_t> read_eos_ids(JsonObject& json, int64_t vocab) {
  std::vector<int64_t> ids;
  if (!json.has("eos_token_id")) return ids;
  const Value& value = json.at("eos_token_id");
  if (!value.is_list()) return {read_id(json, "eos_token_id", value, vocab)};
  for (const Value& item : value.list()) ids.push_back(read_id(json, "eos_token_id", item, vocab));
  return ids;
}

void read_token_ids(JsonObject& json, int64_t bos_default, int64_t eos_default,
                    ModelConfig& config) {
  if (json.has("bos_token_id")) {
    config.bos_id = read_id(json, "bos_token_id", json.at("bos_token_id"), config.vocab);
  } else if (!json.fields().contains("bos_token_id") && bos_default >= 0) {
    config.bos_id = bos_default;
  }
  config.eos_ids = read_eos_ids(json, config.vocab);
  if (!json.fields().contains("eos_token_id") && eos_default >= 0 && eos_default < config.vocab)
    config.eos_ids = {eos_default};
  if (config.bos_id && *config.bos_id >= config.vocab) config.bos_id.reset();
}

DType read_stored_dtype(JsonObject& json) {
  const bool is_new = json.has("dtype");
  const std::string key = json.has("torch_dtype") && !is_new ? "torch_dtype" : "dtype";
  std::string name = json.string(key, "float32");
  if (name.starts_with("torch.")) name = name.substr(6);
  if (name == "float32") return DType::kF32;
  if (name == "bfloat16") return DType::kBF16;
  if (name == "float16") return DType::kF16;
  raise("{} is \"{}\", which is not supported: use float32, bfloat16 or float16", json.where(key),
        name.substr(0, 100));
}

[[noreturn]] void refuse(const JsonObject& json, const std::string& key, const char* accepted) {
  raise("{} is {}, which is not supported: it must be {} or absent", json.where(key),
        shown(field_of(json.fields(), key)), accepted);
}

void require_off(const JsonObject& json, const std::string& key) {
  if (json.has(key) && !is_off(field_of(json.fields(), key))) refuse(json, key, "off");
}

void reject_unsupported_keys(const JsonObject& json) {
  const std::vector<std::string> read = json.known();  // keys that the family's reader has read
  const auto is_read = [&](const std::string& key) {
    return std::find(read.begin(), read.end(), key) != read.end();
  };
  for (const char* key : kSwitches)
    if (!is_read(key)) require_off(json, key);
  for (const char* key : kMultipliers)
    if (!is_read(key) && json.has(key) && field_of(json.fields(), key) != Value(1.0))
      refuse(json, key, "1");
  const std::vector<std::string> known = json.known();
  for (const auto& [key, value] : json.fields()) {
    if (key.size() > 64 || std::find(known.begin(), known.end(), key) != known.end() ||
        std::find(kMetadata.begin(), kMetadata.end(), key) != kMetadata.end())
      continue;
    for (const std::string& candidate : read)
      if (!json.fields().contains(candidate) && edit_distance(key, candidate) <= 2)
        raise("{} is unknown, did you mean \"{}\"?", json.where(key), candidate);
  }
}

}  // namespace reprise::model
