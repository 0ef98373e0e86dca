// What the families' config readers share: bounded dimensions, positions, token ids, and the
// refusal of keys that would change the computation.
#pragma once

#include <initializer_list>
#include <string>

#include "core/base/json.h"
#include "core/model/config/config.h"

namespace reprise::model {

// Accepted range of each dimension. Far above any model there is, and low enough that the number of
// parameters of any accepted config fits 64 bits.
inline constexpr int64_t kMaxWidth = int64_t{1} << 20;  // hidden, heads * head_dim
inline constexpr int64_t kMaxIntermediate = int64_t{1} << 22;
inline constexpr int64_t kMaxHeads = int64_t{1} << 16;
inline constexpr int64_t kMaxLayers = 4096;
inline constexpr int64_t kMaxVocab = int64_t{1} << 24;
inline constexpr int64_t kMaxExperts = 1024;
inline constexpr int64_t kMaxPositions = int64_t{1} << 31;

// The value of `key` in [1, high]; throws where the key is missing.
int64_t read_count(JsonObject& json, const std::string& key, int64_t high);
// The same with Hugging Face's default where the key is absent or null.
int64_t read_count(JsonObject& json, const std::string& key, int64_t high, int64_t fallback);
// A finite number > 0.
double read_positive(JsonObject& json, const std::string& key, double fallback);
// A string that must be one of `accepted`, the first of which is the default.
std::string read_choice(JsonObject& json, const std::string& key,
                        std::initializer_list<const char*> accepted);

// hidden / heads, where the file has no head_dim of its own. `heads_key` names it in the error.
int64_t head_dim_of(const ModelConfig& config, const JsonObject& json,
                    const std::string& heads_key);
// Throws unless heads % kv_heads == 0, naming `kv_heads_key`.
void check_grouping(const ModelConfig& config, const JsonObject& json,
                    const std::string& kv_heads_key);

// rope_theta, rope_scaling or rope_parameters, and max_position_embeddings' part in them. Set
// head_dim and max_positions first. `rotary_factor`: default of partial_rotary_factor;
// config.rotary holds that of rope_theta.
RotaryConfig read_rotary(JsonObject& json, const ModelConfig& config, double rotary_factor);

// vocab_size must be set. The defaults are those of the family where the keys are absent; -1: none.
void read_token_ids(JsonObject& json, int64_t bos_default, int64_t eos_default,
                    ModelConfig& config);
// The ids of key eos_token_id (a number, a list, or nothing), each in [0, vocab).
std::vector<int64_t> read_eos_ids(JsonObject& json, int64_t vocab);
// dtype, or torch_dtype in older files; f32 where absent, as Hugging Face does.
DType read_stored_dtype(JsonObject& json);

// Throws for `key` unless it is absent or off (null, false, 0, empty).
void require_off(const JsonObject& json, const std::string& key);
// Throws for keys of other architectures that change the computation (quantization, experts, soft
// caps, multipliers), and for a key that looks like a misspelling of one that is absent. Other
// unknown keys are metadata: folders in the wild carry many. Call it when every key has been read.
void reject_unsupported_keys(const JsonObject& json);

}  // namespace reprise::model
