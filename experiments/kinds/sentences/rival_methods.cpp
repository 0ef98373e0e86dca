#include "experiments/kinds/sentences/rival_methods.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/error.h"
#include "core/model/network/layer_similarity.h"
#include "methods/attn_drop/attn_drop.h"
#include "methods/block_drop/block_drop.h"
#include "methods/lazy_former/lazy_former.h"
#include "methods/san/san.h"

namespace reprise::experiments {
namespace {

constexpr const char* kLazyFormer = "lazy_former";
constexpr const char* kSan = "san";
constexpr const char* kAttnDrop = "attn_drop";
constexpr const char* kBlockDrop = "block_drop";

// Maps of two layers are compared row by row, which takes longer than computing them.
constexpr size_t kMostCalibrationPrompts = 64;

template <typename T>
T read(const Json& options, const std::string& name) {
  return reuse::read_options<T>(JsonObject(options, "options of method \"" + name + "\""));
}

// Shows some prompts to a policy that only looks.
void calibrate(const std::string& name, const PrefillSetup& setup, model::LayerPolicy& looking) {
  const auto prompts = setup.calibration();
  if (prompts.empty())
    raise(
        "{} chooses layers by calibration texts, and there are none: set some apart "
        "(training_share or database_share of kind \"sentences\", training_texts or database_texts "
        "of kind \"prefill\")",
        name);
  for (const std::vector<int32_t>& ids :
       prompts.first(std::min(prompts.size(), kMostCalibrationPrompts)))
    (void)setup.run(ids, &looking);
}

std::vector<model::LayerCosine> cosines_of_layers(const std::string& name,
                                                  const PrefillSetup& setup) {
  model::LayerSimilarity similarity(setup.config.layers);
  calibrate(name, setup, similarity);
  return similarity.layers();
}

Json dropped_layers(std::span<const model::LayerCosine> cosines, double model::LayerCosine::*part,
                    int64_t count) {
  std::vector<double> values;
  for (const model::LayerCosine& layer : cosines) values.push_back(layer.*part);
  return {{"dropped_layers", model::most_similar_layers(values, count)}};
}

RivalPolicy lazy_former_policy(const Json& options, const PrefillSetup& setup) {
  return {lazy_former::make_lazy_former(read<lazy_former::LazyFormerOptions>(options, kLazyFormer),
                                        setup.config.layers),
          Json::object()};
}

RivalPolicy san_policy(const Json& options, const PrefillSetup& setup) {
  const auto given = read<san::SanOptions>(options, kSan);
  san::MapDivergence divergence(setup.config.layers);
  calibrate(kSan, setup, divergence);
  const std::vector<int64_t> blocks = san::choose_blocks(divergence, given);
  return {san::make_san(blocks, setup.config.layers), {{"first_layers", blocks}}};
}

RivalPolicy attn_drop_policy(const Json& options, const PrefillSetup& setup) {
  const auto given = read<attn_drop::AttnDropOptions>(options, kAttnDrop);
  const auto cosines = cosines_of_layers(kAttnDrop, setup);
  return {attn_drop::make_attn_drop(given, cosines),
          dropped_layers(cosines, &model::LayerCosine::attention, given.dropped)};
}

RivalPolicy block_drop_policy(const Json& options, const PrefillSetup& setup) {
  const auto given = read<block_drop::BlockDropOptions>(options, kBlockDrop);
  const auto cosines = cosines_of_layers(kBlockDrop, setup);
  return {block_drop::make_block_drop(given, cosines),
          dropped_layers(cosines, &model::LayerCosine::block, given.dropped)};
}

struct Rival {
  OwnMethod info;
  RivalPolicy (*make)(const Json& options, const PrefillSetup& setup);
  bool skips;
};

template <typename T>
Rival rival(const char* name, const char* help, bool skips,
            RivalPolicy (*make)(const Json&, const PrefillSetup&)) {
  return {.info = {.name = name,
                   .help = help,
                   .resolve_options =
                       [](const JsonObject& given) {
                         return reuse::options_json(reuse::read_options<T>(given));
                       },
                   .list_options = reuse::list_options<T>},
          .make = make,
          .skips = skips};
}

const std::vector<Rival>& rivals() {
  static const std::vector<Rival> all = {
      rival<lazy_former::LazyFormerOptions>(
          kLazyFormer, "of each block of layers, the first computes its map and the others use it",
          false, lazy_former_policy),
      rival<san::SanOptions>(
          kSan, "the same, in blocks that are as long as maps of calibration texts are alike",
          false, san_policy),
      rival<attn_drop::AttnDropOptions>(
          kAttnDrop, "layers whose attention changes calibration texts least do without it", true,
          attn_drop_policy),
      rival<block_drop::BlockDropOptions>(kBlockDrop,
                                          "layers that change calibration texts least are left out",
                                          true, block_drop_policy)};
  return all;
}

const Rival* find(const std::string& name) {
  for (const Rival& one : rivals())
    if (one.info.name == name) return &one;
  return nullptr;
}

const Rival& rival_named(const std::string& name) {
  const Rival* found = find(name);
  if (found == nullptr) raise("{}", unknown_name("method", name, names_of(rival_methods())));
  return *found;
}

class RivalMethod final : public PrefillMethod {
 public:
  RivalMethod(std::string name, Json options)
      : name_(std::move(name)), options_(std::move(options)) {}

  void prepare(const PrefillSetup& setup) override {
    made_ = make_rival_policy(name_, options_, setup);
  }
  [[nodiscard]] model::LayerPolicy* policy() override { return made_.policy.get(); }
  void report(Measurement& out) const override { out.resolved.update(made_.chosen); }

 private:
  std::string name_;
  Json options_;
  RivalPolicy made_;
};

}  // namespace

std::vector<OwnMethod> rival_methods() {
  std::vector<OwnMethod> methods;
  for (const Rival& one : rivals()) methods.push_back(one.info);
  return methods;
}

bool is_rival(const std::string& name) { return find(name) != nullptr; }

std::unique_ptr<PrefillMethod> make_rival_method(const std::string& name, const Json& options) {
  (void)resolve_rival_options(name, JsonObject(options, "options of method \"" + name + "\""));
  return std::make_unique<RivalMethod>(name, options);
}

Json resolve_rival_options(const std::string& name, const JsonObject& given) {
  return rival_named(name).info.resolve_options(given);
}

bool skips_layers(const std::string& name) { return rival_named(name).skips; }

RivalPolicy make_rival_policy(const std::string& name, const Json& options,
                              const PrefillSetup& setup) {
  return rival_named(name).make(options, setup);
}

}  // namespace reprise::experiments
