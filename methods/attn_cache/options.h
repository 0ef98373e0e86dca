// Options of AttnCache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/reuse/options.h"
#include "methods/attn_cache/map_form.h"
#include "methods/attn_cache/pair_label.h"
#include "methods/attn_cache/projector.h"
#include "methods/attn_cache/vector_index.h"

namespace reprise::attn_cache {

// How the distance d of two vectors becomes the similarity that is compared with the threshold.
enum class Similarity : uint8_t { kDistance, kSquaredDistance };  // 1 - d, 1 - d^2

// How the lookup treats stored prompts whose length differs from the prompt's.
enum class Lengths : uint8_t {
  kFit,     // takes the nearest prompt of any length, and fits its maps: fit_map()
  kSame,    // searches only the prompts of the same length
  kNearest  // takes the nearest prompt of any length; a miss if its length differs
};

struct AttnCacheOptions {
  // Lookup.
  double threshold = 0.99;
  std::string similarity = "squared_distance";
  // Number of neighbouring layers that share one lookup, made in the first of them; 0: all layers.
  int32_t layer_group = 0;
  std::string lengths = "fit", alignment = "begin";
  // If above 0, longer prompts are cut to this many tokens and keep the special tokens at their
  // end. Shorter prompts count as padded to it on the left with masked tokens. Masked padding does
  // not change the other tokens, so it is not computed: the projector gets zeros for it, labels use
  // LabelRule::padded_tokens, and alignment must be "end".
  int32_t padded_tokens = 0;

  // Database.
  std::string index = "hnsw";
  int32_t neighbours = 32, build_candidates = 40, candidates = 64;
  int32_t lists = 128, probes = 1;
  std::string indexed_layers = "searched";
  std::string map_form = "bf16";
  double budget_mib = 0.0;

  // Projector and its training.
  std::string projector = "mlp";
  int32_t pooled_rows = 16, width = 128, features = 128;
  std::string map_norm = "l1";
  double map_weight = 0.5, length_weight = 0.2;
  int32_t batch = 64, epochs = 30;
  double learning_rate = 0.1, momentum = 0.9;

  void visit(reuse::OptionVisitor& visitor);
  void check(const JsonObject& given) const;
  static std::vector<reuse::Preset<AttnCacheOptions>> presets();

  [[nodiscard]] Similarity similarity_kind() const;
  [[nodiscard]] Lengths lengths_kind() const;
  // The alignment by which maps of another length are fitted.
  [[nodiscard]] Alignment map_alignment() const;
  [[nodiscard]] LabelRule label_rule() const;
  [[nodiscard]] IndexOptions index_options() const;
  [[nodiscard]] MapFormat map_format(int64_t heads) const;
  // The projector's shape for a model's hidden size. pooled_linear sees `padded_tokens` rows.
  [[nodiscard]] ProjectorShape projector_shape(int64_t hidden) const;
  // Returns the first layer of each group of layers. In these layers prompts are looked up.
  [[nodiscard]] std::vector<int64_t> searched_layers(int64_t layers) const;
  // The layers whose vectors are in the index.
  [[nodiscard]] std::vector<int64_t> layers_in_index(int64_t layers) const;
  // The similarity at a squared distance: 1 at distance 0, and less at larger distances.
  [[nodiscard]] double similarity_of(double squared_distance) const;
};

}  // namespace reprise::attn_cache
