#include "experiments/kinds/sentences/attention_maps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/base/problems.h"
#include "experiments/kinds/sentences/sentence_sets.h"
#include "experiments/kinds/sentences/text_model.h"

namespace reprise::experiments {
namespace {

const MetricInfo kMapDistance = {
    "map_distance", "ratio",
    "half of the mean L1 distance of two maps' rows, 0 to 1: median over pairs of texts"};
const MetricInfo kNearestHead = {"nearest_head_distance", "ratio",
                                 "mean over the pairs, of the head whose maps are most alike"};
const MetricInfo kFarthestHead = {"farthest_head_distance", "ratio",
                                  "the same of the head whose maps differ most"};
const MetricInfo kShownDistance = {"shown_distance", "ratio",
                                   "of the pair whose maps the record holds, in the shown head"};
const MetricInfo kComparedPairs = {"compared_pairs", "pairs", "of texts of one length"};

constexpr int64_t kMostAlike = -1;

struct AttentionMapsAxes : TextAxes {
  int64_t layer = 0;
  int64_t items = 50;
  int64_t head = kMostAlike;

  void visit(AxisVisitor& visitor) {
    visitor.integer({"layer", "", "whose maps are compared, from 0"}, {0, 1 << 14}, layer);
    visitor.integer({"items", "items", "pairs of each file, the first ones"}, {1, 1 << 16}, items);
    visit_prompt(visitor);
    visitor.integer(
        {"head", "", "whose maps the record holds, from 0; -1: the one whose maps are most alike",
         /*came_later=*/true},
        {kMostAlike, 1 << 14}, head);
  }
};

constexpr const char* kPairs = "pairs";
constexpr const char* kStrangers = "strangers";
constexpr const char* kUniform = "uniform";
constexpr size_t kMostPairs = 2000;
constexpr int64_t kMostShownTokens = 48;  // longest text whose map a figure can show

// A text and its attention map in one layer: [heads, tokens, tokens] f32.
struct TextMap {
  std::string text;
  std::vector<int32_t> ids;
  std::vector<float> weights;

  [[nodiscard]] int64_t tokens() const { return std::ssize(ids); }
};

// Copies the map of one layer.
class MapOfLayer final : public model::LayerPolicy {
 public:
  explicit MapOfLayer(int64_t layer) : layer_(layer) {}
  model::LayerChoice choose(model::LayerInput& input) override {
    return {.show_map = input.layer() == layer_};
  }
  void observe_map(int64_t /*layer*/, const kernels::MapView& map) override {
    const auto* values = static_cast<const float*>(map.data);
    weights.assign(values, values + map.heads * map.rows * map.keys);
  }
  std::vector<float> weights;

 private:
  int64_t layer_;
};

// A map without content: every row gives equal weight to all keys that it sees.
TextMap uniform_map(const TextMap& like, int64_t heads, bool is_causal) {
  const int64_t n = like.tokens();
  TextMap map{.text = {}, .ids = {}, .weights = std::vector<float>(like.weights.size(), 0.0f)};
  for (int64_t row = 0; row < heads * n; ++row) {
    const int64_t seen = is_causal ? row % n + 1 : n;
    std::fill_n(map.weights.begin() + row * n, seen, 1.0f / static_cast<float>(seen));
  }
  return map;
}

// The distance of the maps of each head.
std::vector<double> head_distances(const TextMap& a, const TextMap& b, int64_t heads) {
  const int64_t of_head = std::ssize(a.weights) / heads;
  const double rows = std::sqrt(static_cast<double>(of_head));
  std::vector<double> distances;
  for (int64_t head = 0; head < heads; ++head) {
    double sum = 0;
    for (int64_t i = head * of_head; i < (head + 1) * of_head; ++i)
      sum += std::abs(double{a.weights[static_cast<size_t>(i)]} -
                      double{b.weights[static_cast<size_t>(i)]});
    distances.push_back(0.5 * sum / rows);
  }
  return distances;
}

// Distances over pairs of texts.
struct Comparison {
  std::vector<double> of_pairs;  // means over the heads
  std::vector<double> of_heads;  // sums over the pairs
  // The first pair of texts that a figure can show; null if there is none.
  const TextMap* first = nullptr;
  const TextMap* second = nullptr;

  void add(const std::vector<double>& heads) {
    of_heads.resize(heads.size());
    double sum = 0;
    for (size_t head = 0; head < heads.size(); ++head) {
      sum += heads[head];
      of_heads[head] += heads[head];
    }
    of_pairs.push_back(sum / static_cast<double>(heads.size()));
  }
};

bool are_comparable(const TextMap& a, const TextMap& b) {
  return a.tokens() == b.tokens() && a.ids != b.ids;
}

Comparison compare(const std::string& method, const std::vector<TextMap>& maps,
                   const model::ModelConfig& config) {
  Comparison found;
  for (size_t a = 0; a < maps.size(); ++a) {
    if (method == kUniform)
      found.add(head_distances(maps[a], uniform_map(maps[a], config.heads, config.is_causal),
                               config.heads));
    for (size_t b = a + 1; b < maps.size() && found.of_pairs.size() < kMostPairs; ++b) {
      const bool is_pair = a / 2 == b / 2;
      if (method != (is_pair ? kPairs : kStrangers) || !are_comparable(maps[a], maps[b])) continue;
      found.add(head_distances(maps[a], maps[b], config.heads));
      if (found.first != nullptr || maps[a].tokens() > kMostShownTokens) continue;
      found.first = &maps[a];
      found.second = &maps[b];
    }
  }
  return found;
}

SentenceSet pairs_of(const Group& group, const AttentionMapsAxes& axes) {
  SentenceChoice choice;
  choice.items = axes.items;
  choice.seed = group.seeds.prompts;
  SentenceSet set = load_sentences(group.workload, choice);
  if (set.scores.empty())
    raise("kind attention_maps compares the texts of sentence_pairs, not of {}",
          group.workload.name);
  return set;
}

// The attention map of each text in the layer of the axes. Texts are computed one at a time.
std::vector<TextMap> maps_of(const Group& group, const AttentionMapsAxes& axes,
                             sentence::Embedder& embedder, const std::atomic<bool>& stop) {
  std::vector<TextMap> maps;
  std::vector<float> vector(static_cast<size_t>(embedder.width()));
  const std::vector<std::string> texts = pairs_of(group, axes).texts;
  std::vector<sentence::TextTokens> tokens = embedder.tokens_of(texts);
  for (size_t i = 0; i < texts.size(); ++i) {
    if (stop) throw Interrupted{};
    MapOfLayer map(axes.layer);
    embedder.read(std::span<const sentence::TextTokens>(&tokens[i], 1), vector, &map);
    maps.push_back(
        {.text = texts[i], .ids = std::move(tokens[i].ids), .weights = std::move(map.weights)});
  }
  return maps;
}

// The weights of a head in thousandths, row by row.
Values permille_of(const TextMap& map, int64_t head) {
  const int64_t of_head = map.tokens() * map.tokens();
  Values numbers;
  for (int64_t i = head * of_head; i < (head + 1) * of_head; ++i)
    numbers.emplace_back(std::lround(1000.0 * double{map.weights[static_cast<size_t>(i)]}));
  return numbers;
}

// Adds the maps of two texts side by side, for a figure. [AttnCache figure 1]
void show_maps(const Comparison& found, int64_t head, int64_t heads, Measurement& out) {
  if (found.first == nullptr) return;
  out.set(kShownDistance,
          head_distances(*found.first, *found.second, heads)[static_cast<size_t>(head)]);
  out.answers["maps"] = Fields{{"head", head},
                               {"tokens", found.first->tokens()},
                               {"texts", Values{found.first->text, found.second->text}},
                               {"weights_permille", Values{permille_of(*found.first, head),
                                                           permille_of(*found.second, head)}}};
}

Measurement measurement_of(const std::string& method, const std::vector<TextMap>& maps,
                           const model::ModelConfig& config, int64_t shown_head) {
  const Comparison found = compare(method, maps, config);
  if (found.of_pairs.empty())
    raise("no two texts of {} have equally many tokens: take more items, or another file", method);
  const auto [least, most] = std::minmax_element(found.of_heads.begin(), found.of_heads.end());
  const auto count = static_cast<double>(found.of_pairs.size());
  Measurement out;
  // The quartiles are of different pairs and show no noise of the machine.
  out.summarize(kMapDistance, found.of_pairs);
  out.metrics.at(kMapDistance.name).is_population = true;
  out.set(kNearestHead, *least / count);
  out.set(kFarthestHead, *most / count);
  out.set(kComparedPairs, count);
  const int64_t head = shown_head == kMostAlike ? least - found.of_heads.begin() : shown_head;
  show_maps(found, head, config.heads, out);
  return out;
}

}  // namespace

KindInfo AttentionMapsKind::info() {
  return {.name = "attention_maps",
          .summary = "how alike the attention maps of different texts are, layer by layer",
          .axes = list_axes<AttentionMapsAxes>(),
          .metrics = {kMapDistance, kNearestHead, kFarthestHead, kShownDistance, kComparedPairs},
          .series = {{.name = kPairs, .help = "the two texts of each pair"},
                     {.name = kStrangers, .help = "texts of different pairs"},
                     {.name = kUniform,
                      .help = "each text and a map that sees all keys alike: how far from "
                              "saying nothing maps are"}},
          .method_use = std::nullopt,
          .own_workloads = sentence_workloads()};
}

void AttentionMapsKind::check(const Group& group) {
  const auto axes = group.axes_as<AttentionMapsAxes>();
  Problems problems;
  problems.collect([&] { (void)pairs_of(group, axes); });
  problems.collect([&] {
    const model::ModelConfig config = check_text_model(group, axes, bench_.context());
    if (axes.layer >= config.layers)
      raise("layer is {}, and {} has {}, counted from 0", axes.layer, config.name, config.layers);
    if (axes.head >= config.heads)
      raise("head is {}, and {} has {}, counted from 0", axes.head, config.name, config.heads);
  });
  problems.raise_if_any();
}

MemoryNeed AttentionMapsKind::memory_need(const Group& group) {
  return memory_of_text_model(group);
}

std::vector<Measurement> AttentionMapsKind::measure(const Group& group, const Machine& machine,
                                                    const std::atomic<bool>& stop) {
  const auto axes = group.axes_as<AttentionMapsAxes>();
  bench_.use_calibration(machine);
  const Group with_folder = with_model_folder(group);
  const auto tokenizer = load_tokenizer(with_folder.model.model);
  model::Decoder& decoder = bench_.decoder(with_folder);
  sentence::Embedder embedder(decoder, *tokenizer, text_settings_of(group, axes));
  const std::vector<TextMap> maps = maps_of(group, axes, embedder, stop);
  std::vector<Measurement> measurements;
  for (const MethodChoice& method : group.methods)
    measurements.push_back(measurement_of(method.name, maps, decoder.config(), axes.head));
  return measurements;
}

}  // namespace reprise::experiments
