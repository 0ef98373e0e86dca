// Helpers of the families' config readers: bounded dimensions, positions, token ids, and the
// rejection of keys that would change the computation.
#pragma once

#include <initializer_list>
#include <string>

#include "core/base/json.h"
#include "core/model/config/config.h"

namespace reprise::model {

// Upper bounds of the dimensions: far above any existing model, and low enough that the number of
// parameters of an accepted config fits 64 bits.
inline constexpr int64_t kMaxWidth = int64_t{1} << 20;  // hidden, heads * head_dim
inline constexpr int64_t kMaxIntermediate = int64_t{1} << 22;
inline constexpr int64_t kMaxHeads = int64_t{1} << 16;
inline constexpr int64_t kMaxLayers = 4096;
inline constexpr int64_t kMaxVocab = int64_t{1} << 24;
inline constexpr int64_t kMaxExperts = 1024;
inline constexpr int64_t kMaxPositions = int64_t{1} << 31;

// Returns the value of `key`, which must be in [1, high]. Throws Error if the key is missing.
int64_t read_count(JsonObject& json, const std::string& key, int64_t high);
// Returns the value of `key`, which must be in [1, high], or `fallback` (Hugging Face's default) if
// the key is absent or null.
int64_t read_count(JsonObject& json, const std::string& key, int64_t high, int64_t fallback);
// Returns the value of `key`, a finite number > 0, or `fallback` if the key is absent. Throws Error
// for any other value.
double read_positive(JsonObject& json, const std::string& key, double fallback);
// Returns the value of `key`, one of the strings in `accepted`, or the first of these if the key is
// absent. Throws Error for any other value.
std::string read_choice(JsonObject& json, const std::string& key,
                        std::initializer_list<const char*> accepted);

// Returns hidden / heads, for files without head_dim. `heads_key` is the key of heads, for the
// error.
int64_t head_dim_of(const ModelConfig& config, const JsonObject& json,
                    const std::string& heads_key);
// Returns the value of head_dim, or hidden / heads if it is absent. Throws Error if all heads
// together are wider than kMaxWidth.
int64_t read_head_dim(JsonObject& json, const ModelConfig& config);
// Throws Error naming `kv_heads_key` unless heads % kv_heads == 0.
void check_grouping(const ModelConfig& config, const JsonObject& json,
                    const std::string& kv_heads_key);

// Reads rope_theta, rope_scaling or rope_parameters. config.head_dim and config.max_positions must
// be set before. The defaults are `rotary_factor` for partial_rotary_factor, and the value in
// config.rotary for rope_theta.
RotaryConfig read_rotary(JsonObject& json, const ModelConfig& config, double rotary_factor);

// Reads the bos and eos token ids. config.vocab must be set before. The defaults apply if the keys
// are absent; -1 means none.
void read_token_ids(JsonObject& json, int64_t bos_default, int64_t eos_default,
                    ModelConfig& config);
// Returns the ids under eos_token_id (a number, a list or nothing), each in [0, vocab).
std::vector<int64_t> read_eos_ids(JsonObject& json, int64_t vocab);
// Returns the dtype under the key dtype, or torch_dtype in older files. Returns f32 if both are
// absent, as Hugging Face does.
DType read_stored_dtype(JsonObject& json);

// Throws Error unless `key` is absent or off (null, false, 0, empty).
void require_off(const JsonObject& json, const std::string& key);
// Throws Error for keys of other architectures that change the computation (quantization, experts,
// soft caps, multipliers). Also throws Error for keys that look like a misspelling of an absent
// one. Other unknown keys are taken for metadata. Called after all keys have been read.
void reject_unsupported_keys(const JsonObject& json);

}  // namespace reprise::model
