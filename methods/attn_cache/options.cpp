#include "methods/attn_cache/options.h"

#include <cmath>

#include "core/base/error.h"

namespace reprise::attn_cache {
namespace {

constexpr const char* kSquared = "squared_distance";
constexpr const char* kAllLayers = "all";
constexpr const char* kFit = "fit";
constexpr const char* kSame = "same";

void visit_lookup(AttnCacheOptions& o, reuse::OptionVisitor& visitor) {
  visitor.real({"threshold", "", "maps are reused from this similarity on; above 1: never"},
               {-1e6, 2.0}, o.threshold);
  visitor.word({"similarity", "", "1 minus the distance of the feature vectors, or its square"},
               {"distance", kSquared}, o.similarity);
  visitor.integer({"layer_group", "layers",
                   "neighbouring layers that one lookup decides, 0: all; 1 is AttnCache-f"},
                  {0, 1 << 14}, o.layer_group);
  visitor.word({"lengths", "",
                "the nearest prompt of any length, whose maps are fitted; the nearest of the same "
                "length; or the nearest of any length, a miss if its length differs"},
               {kFit, kSame, "nearest"}, o.lengths);
  visitor.word({"alignment", "", "fit: the tokens of two lengths are counted from here"},
               alignment_names(), o.alignment);
  visitor.integer({"padded_tokens", "tokens",
                   "cut prompts to this length and count them as padded on the left to it, masked; "
                   "0: do not"},
                  {0, 1 << 16}, o.padded_tokens);
}

void visit_database(AttnCacheOptions& o, reuse::OptionVisitor& visitor) {
  visitor.word({"index", "", "how the nearest vector is found"}, index_kind_names(), o.index);
  visitor.integer({"neighbours", "vectors", "hnsw: links of a vector"}, {2, 512}, o.neighbours);
  visitor.integer({"build_candidates", "vectors", "hnsw: compared when one is put in"}, {1, 4096},
                  o.build_candidates);
  visitor.integer({"candidates", "vectors", "hnsw: compared by a lookup"}, {1, 4096}, o.candidates);
  visitor.integer({"lists", "clusters", "ivf_flat: clusters of vectors"}, {1, 1 << 16}, o.lists);
  visitor.integer({"probes", "clusters", "ivf_flat: clusters that a lookup reads"}, {1, 1 << 16},
                  o.probes);
  visitor.word({"indexed_layers", "",
                "one index for each layer that is searched, or one with the vectors of all layers"},
               {"searched", kAllLayers}, o.indexed_layers);
  visitor.word({"map_form", "", "how stored maps hold their weights"}, map_form_names(),
               o.map_form);
  visitor.real({"budget_mib", "MiB", "most that stored maps may take, 0: as much as there is"},
               {0.0, 1e9}, o.budget_mib);
}

void visit_projector(AttnCacheOptions& o, reuse::OptionVisitor& visitor) {
  visitor.word({"projector", "",
                "a perceptron, or the released code's pooling and linear layers, or nothing that "
                "is trained: the pooled hidden states themselves"},
               {"mlp", "pooled_linear", "raw"}, o.projector);
  visitor.integer({"pooled_rows", "rows", "mlp, raw: parts of a prompt whose tokens are averaged"},
                  {1, 4096}, o.pooled_rows);
  visitor.integer({"width", "", "values between the layers"}, {1, 1 << 16}, o.width);
  visitor.integer({"features", "", "dimensions of a feature vector"}, {1, 1 << 16}, o.features);
  visitor.word({"map_norm", "", "training: norm of the difference of two rows of maps"},
               map_norm_names(), o.map_norm);
  visitor.real({"map_weight", "", "training: factor of the maps' distance"}, {0.0, 1e6},
               o.map_weight);
  visitor.real({"length_weight", "", "training: factor of the lengths' difference (alpha)"},
               {0.0, 1e6}, o.length_weight);
  visitor.integer({"batch", "prompts", "training: all pairs of so many at a time"}, {2, 4096},
                  o.batch);
  visitor.integer({"epochs", "", "training: passes over the samples"}, {1, 100000}, o.epochs);
  visitor.real({"learning_rate", "", "training: of stochastic gradient descent"}, {0.0, 1e3},
               o.learning_rate);
  visitor.real({"momentum", "", "training: of stochastic gradient descent"}, {0.0, 1.0},
               o.momentum);
}

}  // namespace

void AttnCacheOptions::visit(reuse::OptionVisitor& visitor) {
  visit_lookup(*this, visitor);
  visit_database(*this, visitor);
  visit_projector(*this, visitor);
}

void AttnCacheOptions::check(const JsonObject& given) const {
  if (projector == "pooled_linear" && padded_tokens < 2)
    raise("{}: a pooled_linear projector takes prompts of one length: give padded_tokens too",
          given.where("projector"));
  if (padded_tokens > 0 && parse_alignment(alignment) != Alignment::kEnd)
    raise("{}: prompts padded on the left are aligned at the end: give alignment \"end\" too",
          given.where("padded_tokens"));
}

std::vector<reuse::Preset<AttnCacheOptions>> AttnCacheOptions::presets() {
  return {
      {"as_published", "the paper: HNSW, a perceptron, threshold 0.99, alpha 0.2, batch 64", {}},
      {"as_coded",
       "the released code: one IVF-Flat index of all layers, pooling and two linear layers, "
       "threshold 0.995, batch 32; for its zero-shot maths prompts, which it pads to 189 tokens",
       {.threshold = 0.995,
        .alignment = "end",
        .padded_tokens = 189,
        .index = "ivf_flat",
        .indexed_layers = kAllLayers,
        .projector = "pooled_linear",
        .length_weight = 1.0,
        .batch = 32,
        .epochs = 3}},
      {"as_run",
       "the released code for STS: padded to 128 tokens with the padding in the labels, no length "
       "in the training, two epochs",
       {.alignment = "end",
        .padded_tokens = 128,
        .index = "ivf_flat",
        .indexed_layers = kAllLayers,
        .projector = "pooled_linear",
        .length_weight = 0.0,
        .epochs = 2}},
      {"attn_cache_f",
       "the paper's AttnCache-f: a lookup in every layer, no length in the training",
       {.layer_group = 1, .length_weight = 0.0}},
      {"raw",
       "beyond the paper, without training: similarity is the cosine of mean hidden states",
       {.lengths = kSame, .index = "flat", .projector = "raw", .pooled_rows = 1}}};
}

Similarity AttnCacheOptions::similarity_kind() const {
  return similarity == kSquared ? Similarity::kSquaredDistance : Similarity::kDistance;
}

Lengths AttnCacheOptions::lengths_kind() const {
  if (lengths == kFit) return Lengths::kFit;
  return lengths == kSame ? Lengths::kSame : Lengths::kNearest;
}

Alignment AttnCacheOptions::map_alignment() const { return parse_alignment(alignment); }

LabelRule AttnCacheOptions::label_rule() const {
  return {.norm = parse_map_norm(map_norm),
          .map = map_weight,
          .length = length_weight,
          .alignment = map_alignment(),
          .padded_tokens = padded_tokens};
}

IndexOptions AttnCacheOptions::index_options() const {
  return {.kind = parse_index_kind(index),
          .neighbours = neighbours,
          .build_candidates = build_candidates,
          .candidates = candidates,
          .lists = lists,
          .probes = probes};
}

MapFormat AttnCacheOptions::map_format(int64_t heads) const {
  return {.form = parse_map_form(map_form), .heads = heads};
}

ProjectorShape AttnCacheOptions::projector_shape(int64_t hidden) const {
  switch (parse_projector_kind(projector)) {
    case ProjectorKind::kPooledLinear:
      return pooled_linear_shape(hidden, padded_tokens, width, features);
    case ProjectorKind::kRaw:
      return raw_shape(hidden, pooled_rows);
    case ProjectorKind::kMlp:
      break;
  }
  return mlp_shape(hidden, pooled_rows, width, features);
}

std::vector<int64_t> AttnCacheOptions::searched_layers(int64_t layers) const {
  std::vector<int64_t> searched;
  for (int64_t layer = 0; layer < layers; layer += layer_group == 0 ? layers : layer_group)
    searched.push_back(layer);
  return searched;
}

std::vector<int64_t> AttnCacheOptions::layers_in_index(int64_t layers) const {
  if (indexed_layers != kAllLayers) return searched_layers(layers);
  std::vector<int64_t> all;
  for (int64_t layer = 0; layer < layers; ++layer) all.push_back(layer);
  return all;
}

double AttnCacheOptions::similarity_of(double squared_distance) const {
  return 1.0 - (similarity_kind() == Similarity::kSquaredDistance ? squared_distance
                                                                  : std::sqrt(squared_distance));
}

}  // namespace reprise::attn_cache
