// The architecture of a model, read from a Hugging Face config.json and described by the same
// fields for all families. Supported model_types: llama, mistral, mixtral, qwen2_moe, deepseek,
// falcon (also RefinedWeb and RefinedWebModel), mpt, phi, bert, roberta, deberta, deberta-v2 (also
// v3).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/json.h"

namespace reprise::model {

// Mistral is a Llama with a window; Mixtral, Qwen2-MoE and DeepSeek-MoE are Llamas with experts;
// RoBERTa is a BERT with shifted positions.
enum class Family : uint8_t { kLlama, kFalcon, kMpt, kPhi, kBert, kDeberta };
enum class Norm : uint8_t { kRms, kLayer };
enum class Activation : uint8_t { kSilu, kGelu, kGeluTanh };
enum class PositionScheme : uint8_t {
  kRotary,
  kAlibi,
  kLearned,  // a table of vectors that are added to the embeddings
  kNone      // no absolute positions; attention may have relative ones, see RelativeConfig
};

// How a block combines attention and MLP.
enum class BlockStyle : uint8_t {
  kSequential,        // x += attention(norm_1(x)); x += mlp(norm_2(x))
  kParallelOneNorm,   // n = norm_1(x); x += attention(n) + mlp(n)               [Falcon-7B, Phi-2]
  kParallelTwoNorms,  // x += attention(norm_1(x)) + mlp(norm_2(x))             [Falcon-40B]
  kPostNorm           // x = norm_1(x + attention(x)); x = norm_2(x + mlp(x))   [BERT]
};

enum class RopeScaling : uint8_t {
  kNone,
  kLinear,   // all frequencies are divided by `factor`
  kDynamic,  // beyond original_max_positions the base grows with the sequence's length
  kLlama3,   // long wavelengths are interpolated, short ones kept
  kYarn,     // as kLlama3, but bounded by turns within the original length [YaRN §3.2]
  kLongRope  // each frequency has its own divisor, and another one for long sequences
};

struct RotaryConfig {
  double theta = 10000.0;
  // Leading dimensions of each head that rotate (even); the others are not rotated.
  int64_t dims = 0;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;
  double low_freq_factor = 1.0, high_freq_factor = 4.0;  // bounds of kLlama3's ramp
  // Trained length before scaling; set for all kinds except kNone and kLinear.
  int64_t original_max_positions = 0;
  // For kYarn. Pairs that turn more than beta_fast times in the original length keep their
  // frequency. Pairs that turn less than beta_slow times are interpolated. A ramp lies between.
  double beta_fast = 32.0, beta_slow = 1.0;
  bool has_whole_ramp = true;  // for kYarn: the ramp begins and ends at whole pairs
  // For kLongRope: [dims / 2] divisors of the frequencies. `short_divisors` apply to sequences of
  // up to original_max_positions tokens, `long_divisors` to longer ones.
  std::vector<double> short_divisors, long_divisors;
  // Factor of cosines and sines; other than 1 only for kYarn and kLongRope.
  double attention_factor = 1.0;

  // True if a sequence's length changes the frequencies.
  [[nodiscard]] bool depends_on_length() const {
    return scaling == RopeScaling::kDynamic || scaling == RopeScaling::kLongRope;
  }
};

struct AlibiConfig {
  // If heads is a power of two, head h has the slope 2^(-bias_max * (h + 1) / heads); otherwise see
  // alibi_slopes(). MPT's key for bias_max is used only with "reprise_alibi": "trained", see
  // config_mpt.cpp.
  double bias_max = 8.0;
  // true: (scores + bias) / sqrt(head_dim), as in Falcon. false: scores * scale + bias, as in MPT.
  bool scaled_with_scores = false;
  // True for Falcon, which computes slope * position in bfloat16.
  bool rounded_to_bf16 = false;
  // How many times the term is added to the scores: once in Falcon's training and in transformers'
  // SDPA attention; twice in the eager attention of transformers 5.x, which adds the term again
  // through the mask. See `reprise_alibi` in config_falcon.cpp.
  double times = 1.0;
};

// Disentangled attention: scores also depend on the distance of two tokens. [DeBERTa §3.1, eq. 4]
//   s_ij = scale * (<q_i, k_j> + <q_i, pk_x> + <pq_x, k_j>),  x the row of distance i - j
// pk and pq are projections of the rows of one table, which all layers share.
struct RelativeConfig {
  // The table has 2 * span rows. Row `span` is for distance 0. A span of 0 means that the model has
  // no relative positions.
  int64_t span = 0;
  bool has_keys = true;     // true: scores have the term with pk, "c2p" in config.json
  bool has_queries = true;  // true: scores have the term with pq, "p2c" in config.json
  bool shares_projections =
      false;  // pk and pq are made by the layer's key and query matrices, not by separate ones
  bool has_norm = false;  // true: the table's rows are normalized
  // 0: each distance has its own row, and distances beyond the table share its first or last row.
  // Otherwise distances up to buckets / 2 have a row each, and longer distances share rows on a
  // scale that is logarithmic up to max_distance.
  int64_t buckets = 0;
  int64_t max_distance = 0;
};

// The convolution that DeBERTa's second version adds after its first layer, over the tokens i of
// each text:
//   y_i = norm(layer(x)_i + act(bias + sum over t of W_t x_(i + t - kernel / 2)))
// Here x is the input of the first layer. Outside the text, x is 0.
struct ConvolutionConfig {
  int64_t kernel = 0;  // odd; 0: no convolution
  Activation activation = Activation::kGelu;
};

// Mixture of experts: in some layers, a router chooses a few experts for each token.
//   p = softmax(router(x))     mlp(x) = sum over the per_token largest p_e of p_e * expert_e(x)
//                                       + sigmoid(shared_gate(x)) * shared_expert(x)
// DeepSeek-MoE's shared experts have no gate; together they are one expert of their summed width.
struct ExpertsConfig {
  // Routed experts of a layer, without the shared one; 0: all layers are dense.
  int64_t count = 0;
  int64_t per_token = 0;     // experts that each token is routed to
  int64_t intermediate = 0;  // width of each expert
  // Width of the shared expert, which every token passes; 0: no shared expert.
  int64_t shared_intermediate = 0;
  bool shared_gate = true;            // false: the shared expert is added unscaled
  bool norm_top_k = false;            // true: the chosen p are divided by their sum
  int64_t sparse_step = 1;            // layer l has experts if sparse_step divides l + 1,
  std::vector<int64_t> dense_layers;  // except for the layers listed here
};

struct ModelConfig {
  std::string name;        // folder or named shape, for messages and records
  std::string model_type;  // as in config.json
  Family family = Family::kLlama;

  int64_t vocab = 0, hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0;
  int64_t intermediate = 0;   // width of a dense layer's MLP
  int64_t max_positions = 0;  // max_position_embeddings; see position_limit()

  Norm norm = Norm::kRms;
  double norm_epsilon = 1e-5;
  bool norm_bias = false;
  Activation activation = Activation::kSilu;
  bool gated_mlp = true;  // down(act(gate(x)) * up(x)) instead of down(act(up(x)))
  BlockStyle block = BlockStyle::kSequential;
  ExpertsConfig experts;

  PositionScheme position = PositionScheme::kRotary;
  RotaryConfig rotary;
  AlibiConfig alibi;
  RelativeConfig relative;  // in addition to `position`
  ConvolutionConfig convolution;
  int64_t learned_offset = 0;  // position p reads row p + learned_offset of the position table
  int64_t token_types = 0;     // rows of the token type table; 0: the model has none
  bool embedding_norm = false;
  bool is_causal = true;  // false: an encoder, in which every token sees its whole text
  bool has_head = true;   // false: the model ends with hidden states

  bool qkv_bias = false, attention_out_bias = false, mlp_bias = false, head_bias = false;
  bool tied_embeddings = false;
  double clip_qkv = 0.0;  // 0: none; else q, k, v are clamped to [-clip, clip] after the projection
  double attention_scale = 0.0;  // factor of q . k; the reader sets it (default 1/sqrt(head_dim))
  int64_t sliding_window =
      0;  // 0: none; else a key is visible while q_position - k_position < window

  std::optional<int64_t> bos_id;
  std::vector<int64_t> eos_ids;
  DType stored_dtype = DType::kF32;

  // Upper bound on a sequence's length in tokens: max_positions, or more with a rotary scaling that
  // stretches positions. INT64_MAX if positions are unbounded (ALiBi, relative positions).
  [[nodiscard]] int64_t position_limit() const;
  // Upper bound on a sequence's length in tokens unless the user asks for more: position_limit(),
  // or the trained length if positions are unbounded.
  [[nodiscard]] int64_t default_tokens() const;
  [[nodiscard]] int64_t q_dim() const { return heads * head_dim; }
  [[nodiscard]] int64_t kv_dim() const { return kv_heads * head_dim; }
  [[nodiscard]] bool has_experts(int64_t layer) const;
  [[nodiscard]] int64_t expert_layers() const;      // number of layers with experts
  [[nodiscard]] int64_t parameters() const;         // number of weights; tied ones count once
  [[nodiscard]] int64_t expert_parameters() const;  // number of weights in routed experts
};

// Reads a config.json of a model_type listed at the top of this file. Absent keys take Hugging
// Face's defaults; dimensions have none. Throws Error naming file and key if a value is missing,
// impossible or unsupported, or if a key looks like a misspelling of an absent one. Other unknown
// keys are taken for metadata.
ModelConfig parse_config(const Value& json, const std::string& source);
// `dir_or_name` is a folder with config.json, a config.json, or the name of a shipped shape
// ("llama-2-7b"). An existing path takes precedence over a shape. If a generation_config.json lies
// in the same folder, eos_ids also get its ids. `name` is set to the folder's or the shape's name.
ModelConfig load_config(const std::filesystem::path& dir_or_name);
// Returns the JSON text of the config that load_config() reads. Throws Error if there is none.
std::string config_text(const std::filesystem::path& dir_or_name);
// Names of the shipped shapes (models/shapes/), sorted.
std::vector<std::string> shipped_shapes();

}  // namespace reprise::model
