// AttnCache as a method: it stores the setup's database prompts, and learns from its training
// prompts.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "core/base/error.h"
#include "core/base/page_cache.h"
#include "core/base/steady_now.h"
#include "core/base/temporary_folder.h"
#include "core/model/network/policy_chain.h"
#include "core/sentence/cosine.h"
#include "methods/attn_cache/attn_cache.h"
#include "methods/attn_cache/calibrate.h"
#include "methods/attn_cache/collect.h"
#include "methods/attn_cache/method_options.h"
#include "methods/attn_cache/projector_file.h"
#include "methods/attn_cache/train.h"
#include "methods/registry.h"

namespace reprise::methods {
namespace {

const MetricInfo kStoreMb = {"store_mb", "MB", "of attn_cache: the file of stored attention maps"};
const MetricInfo kOnDiskMb = {"on_disk_mb", "MB",
                              "of store_mb: maps that each turn reads from the disk (memory_mb)"};
const MetricInfo kStoredTexts = {"stored_texts", "texts", "of attn_cache: whose maps are stored"};
const MetricInfo kRetrievalMs = {"retrieval_ms", "ms", "per text: feature vector and search"};
const MetricInfo kEmbeddingMs = {"embedding_ms", "ms", "of retrieval_ms: the feature vector"};
const MetricInfo kSearchingMs = {"searching_ms", "ms", "of retrieval_ms: the search"};
const MetricInfo kLoadingMs = {
    "loading_ms", "ms",
    "per text: checking stored maps, which reads them the first time, and fitting them"};
const MetricInfo kThreshold = {.name = "threshold_used",
                               .unit = "ratio",
                               .help = "of attn_cache: the similarity that maps are reused from",
                               .is_signed = true};

const MetricInfo kOtherLength = {
    "other_length_share", "ratio",
    "of lookups: the nearest stored text has another number of tokens, which ruled it out"};
const MetricInfo kNoLength = {"no_length_share", "ratio",
                              "of lookups: no stored text has the number of tokens"};
const MetricInfo kFitted = {"fitted_share", "ratio",
                            "of hits: the stored text has another number of tokens"};

double share(int64_t part, int64_t of) {
  return of == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(of);
}

using Prompts = std::vector<std::vector<int32_t>>;

// A trained projector in a file of a temporary folder, and the fields on its training for a record.
struct Training {
  std::shared_ptr<const std::filesystem::path> folder;
  Fields facts;

  [[nodiscard]] std::filesystem::path file() const { return *folder / attn_cache::kProjectorFile; }
};

attn_cache::ModelFacts facts_of(const Setup& setup) {
  return {.fingerprint = setup.model,
          .layers = setup.config.layers,
          .heads = setup.config.heads,
          .hidden = setup.config.hidden,
          .is_causal = setup.config.is_causal,
          .can_mix = setup.config.relative.span == 0 && setup.runtime == nullptr};
}

// Wraps a policy that the caller owns, so that it can be put into a chain.
std::shared_ptr<model::LayerPolicy> borrowed(model::LayerPolicy& policy) {
  return {std::shared_ptr<void>(), &policy};
}

// Cuts prompts to at most `most_tokens` tokens, the length to which they count as padded. A prompt
// keeps the special tokens around it.
class Cutting final : public engine::RequestShaper {
 public:
  // Throws Error if no token of a text would be left.
  Cutting(int64_t most_tokens, const Setup& setup)
      : most_tokens_(most_tokens), special_after_(setup.special_after) {
    const int64_t around = setup.special_before + setup.special_after;
    if (most_tokens <= around + setup.common_tokens)
      raise(
          "attn_cache cuts texts to {} tokens (padded_tokens), and the tokenizer puts {} around "
          "each{}: allow more",
          most_tokens, around,
          setup.common_tokens == 0 ? ""
                                   : fmt::format(", and the prompt {} more", setup.common_tokens));
  }
  void shape(engine::Request& request) override { cut(request.prompt); }
  void cut(std::vector<int32_t>& prompt) const {
    if (std::ssize(prompt) > most_tokens_)
      prompt.erase(prompt.begin() + most_tokens_ - special_after_, prompt.end() - special_after_);
  }

 private:
  int64_t most_tokens_, special_after_;
};

class AttnCacheMethod final : public Method {
 public:
  AttnCacheMethod(MethodInfo info, AttnCacheMethodOptions options)
      : info_(std::move(info)), options_(std::move(options)) {
    if (!options_.beside.empty()) beside_ = make_method(options_.beside, options_.beside_options);
  }
  [[nodiscard]] const MethodInfo& info() const override { return info_; }
  [[nodiscard]] std::string missing() const override { return attn_cache_absence(options_); }

  void check(const Use& use) const override {
    if (use.batches_prompts && beside_ != nullptr && !skips_layers_beside())
      raise(
          "attn_cache beside \"{}\" computes one text per step: in a layer where one text of a "
          "step hits, texts that miss would be computed in full instead of sharing maps. Give "
          "texts_per_step 1",
          options_.beside);
  }

  void prepare(const Setup& setup) override {
    if (setup.database.empty())
      raise(
          "attn_cache has no texts to store: give some (database_share of kind \"sentences\", "
          "database_texts of kind \"prefill\", --stored of `reprise embed`)");
    if (options_.learns() && setup.training.empty())
      raise(
          "attn_cache has no texts to learn from: give some (training_share of kind \"sentences\", "
          "training_texts of kind \"prefill\", --training of `reprise embed`), or take a projector "
          "that is not trained (preset \"raw\", projector_from) and no loss_bound");
    if (options_.padded_tokens > 0)
      cutting_ = std::make_shared<Cutting>(options_.padded_tokens, setup);
    if (beside_ != nullptr) {
      beside_->prepare(setup);
      beside_policy_ = beside_->parts().policy;
    }
    const Prompts stored = all_formed(setup.database), learned = all_formed(setup.training);
    folder_ = make_temporary_folder("maps");
    const attn_cache::ModelFacts facts = facts_of(setup);
    store(setup, facts, stored, learned);
    if (options_.loss_bound > 0) calibrate(setup, facts, learned);
    require_disk();
    policy_ = std::make_shared<attn_cache::AttnCachePolicy>(database_, options_, facts,
                                                            setup.context, steady_now_ns);
    joined_ = joined(policy_);
  }

  [[nodiscard]] Parts parts() override { return {.policy = joined_, .shaper = cutting_}; }
  [[nodiscard]] bool looks_up() const override { return true; }
  void begin_turn() override {
    policy_->reset();
    const int64_t groups = std::ssize(database_->maps().groups());
    for (int64_t group = options_.begins_cold() ? 0 : groups_in_memory(); group < groups; ++group)
      database_->maps().release(group);
    (void)drop_rest();
  }

  [[nodiscard]] TurnCounts counts() const override {
    TurnCounts counts{.reused_layers = policy_->counts().reused_layers};
    double embedding_ms = 0, searching_ms = 0, loading_ms = 0;
    for (const attn_cache::AttnCacheTimes& times : policy_->times()) {
      embedding_ms += ms_of(times.embedding_ns);
      searching_ms += ms_of(times.searching_ns);
      loading_ms += ms_of(times.loading_ns);
    }
    counts.parts = {{&kRetrievalMs, embedding_ms + searching_ms}, {&kLoadingMs, loading_ms}};
    counts.within = {{&kEmbeddingMs, embedding_ms}, {&kSearchingMs, searching_ms}};
    return counts;
  }

  void report(ReportSink& sink) const override {
    const attn_cache::AttnCacheCounts& counts = policy_->counts();
    sink.metric(kStoreMb, static_cast<double>(database_->maps().bytes()) * 1e-6);
    if (options_.memory_mb > 0) sink.metric(kOnDiskMb, static_cast<double>(bytes_on_disk()) * 1e-6);
    sink.metric(kStoredTexts, static_cast<double>(database_->maps().groups().size()));
    sink.metric(kThreshold, options_.threshold);
    sink.metric(kOtherLength, share(counts.other_length, counts.lookups));
    sink.metric(kNoLength, share(counts.no_length, counts.lookups));
    sink.metric(kFitted, share(counts.fitted_hits, counts.hits));
    Fields settings = {{"projector", database_->projector().origin().how},
                       {"projector_fingerprint", database_->projector().fingerprint()},
                       {"learning_texts", learning_texts_},
                       {"lookups", counts.lookups},
                       {"hits", counts.hits},
                       {"hits_of_another_length", counts.fitted_hits},
                       {"nothing_stored", counts.empty},
                       {"no_text_of_that_length", counts.no_length},
                       {"nearest_has_another_length", counts.other_length},
                       {"nearest_is_another_layer", counts.other_layer},
                       {"below_threshold", counts.below_threshold},
                       {"hits_beside_misses", counts.unused_hits},
                       {"loaded_bytes", counts.loaded_bytes}};
    if (!training_.empty()) settings["training"] = training_;
    sink.setting(info_.name, settings);
    if (beside_ != nullptr) beside_->report(sink);
  }

 private:
  // Number of stored texts, counted in the order in which they were stored, whose maps together fit
  // into memory_mb. All texts if memory_mb is 0.
  [[nodiscard]] int64_t groups_in_memory() const {
    const std::vector<attn_cache::MapGroup>& groups = database_->maps().groups();
    if (options_.memory_mb == 0) return std::ssize(groups);
    const auto beyond =
        std::partition_point(groups.begin(), groups.end(), [&](const attn_cache::MapGroup& group) {
          const auto end = &group == &groups.back() ? maps_end() : (&group + 1)->begin;
          return static_cast<double>(end - groups.front().begin) <= options_.memory_mb * 1e6;
        });
    return beyond - groups.begin();
  }
  // Offset in the file where the last map ends.
  [[nodiscard]] uint64_t maps_end() const {
    const attn_cache::MapStore& maps = database_->maps();
    const attn_cache::MapGroup& last = maps.groups().back();
    const auto bytes = maps.layer_bytes(std::ssize(maps.groups()) - 1, 0).size();
    return last.begin + bytes * static_cast<size_t>(maps.identity().layers);
  }
  [[nodiscard]] int64_t bytes_on_disk() const {
    const int64_t kept = groups_in_memory();
    const std::vector<attn_cache::MapGroup>& groups = database_->maps().groups();
    if (kept == std::ssize(groups)) return 0;
    return static_cast<int64_t>(maps_end() - groups[static_cast<size_t>(kept)].begin);
  }
  // Removes from memory the maps that do not fit into memory_mb. Returns how many bytes of them the
  // system kept in memory nevertheless.
  [[nodiscard]] int64_t drop_rest() const {
    const int64_t bytes = bytes_on_disk();
    if (bytes == 0) return 0;
    return drop_from_page_cache(database_->maps().path(), static_cast<int64_t>(maps_end()) - bytes,
                                bytes);
  }
  void require_disk() const {
    const int64_t bytes = bytes_on_disk();
    for (int64_t group = groups_in_memory(); group < std::ssize(database_->maps().groups());
         ++group)
      database_->maps().release(group);
    // Up to half of the bytes may stay, because the last map shares a page with the table, and this
    // page is not dropped.
    if (bytes > 0 && 2 * drop_rest() > bytes)
      raise(
          "memory_mb {:g}: the maps in {} cannot leave memory, because its file system keeps files "
          "there: let TMPDIR name a folder on a disk",
          options_.memory_mb, folder_->string());
  }

  // True if the other method skips layers; it then comes before AttnCache in the chain.
  [[nodiscard]] bool skips_layers_beside() const {
    return beside_ != nullptr && beside_->info().skips_layers;
  }
  // Throws Error if prompts are to be looked up in a layer that the other method leaves out, so
  // that there are no samples of it. If there are no samples at all, every lookup misses.
  void check_searched_layers(const attn_cache::SampleSet& samples, int64_t layers) const {
    if (samples.entries.empty()) return;
    for (const int64_t layer : options_.searched_layers(layers))
      if (std::none_of(samples.entries.begin(), samples.entries.end(),
                       [&](const attn_cache::IndexEntry& entry) { return entry.layer == layer; }))
        raise(
            "layer_group {} looks texts up in layer {}, which method \"{}\" of option `beside` "
            "leaves out: let it leave out fewer layers (dropped){}",
            options_.layer_group, layer, options_.beside,
            layer == 0 ? "" : ", or give layer_group 0, which looks up in layer 0 alone");
  }
  [[nodiscard]] Prompts all_formed(std::span<const std::vector<int32_t>> prompts) const {
    Prompts all(prompts.begin(), prompts.end());
    if (cutting_ != nullptr)
      for (std::vector<int32_t>& prompt : all) cutting_->cut(prompt);
    return all;
  }

  // Layers that the other method skips are also skipped while maps are collected, because skipping
  // changes the maps of the remaining layers.
  [[nodiscard]] attn_cache::RunPrompt runner(const Setup& setup) const {
    return [this, &setup](std::span<const int32_t> ids, model::LayerPolicy& policy) {
      if (!skips_layers_beside()) {
        (void)setup.run(ids, &policy);
        return;
      }
      model::PolicyChain chain({beside_policy_, borrowed(policy)});
      (void)setup.run(ids, &chain);
    };
  }

  void store(const Setup& setup, const attn_cache::ModelFacts& facts, const Prompts& stored,
             const Prompts& learned) {
    const attn_cache::SampleSet samples =
        attn_cache::collect(*folder_, facts, options_, stored, runner(setup));
    if (skips_layers_beside()) check_searched_layers(samples, facts.layers);
    database_ = std::make_shared<attn_cache::Database>(*folder_, facts, options_, samples,
                                                       make_projector(setup, facts, learned));
  }

  attn_cache::Projector make_projector(const Setup& setup, const attn_cache::ModelFacts& facts,
                                       const Prompts& learned) {
    learning_texts_ = options_.learns() ? std::ssize(learned) : 0;
    const attn_cache::ProjectorShape shape = options_.projector_shape(facts.hidden);
    if (!options_.projector_file.empty()) return read_projector(shape, setup.context);
    if (!options_.trains())
      return attn_cache::Projector::random(shape, setup.seed, facts.fingerprint, setup.context);
    const Training training = trained(setup, facts, learned);
    training_ = training.facts;
    return attn_cache::Projector::load(training.file(), setup.context);
  }

  // Returns a text with everything that a trained projector depends on, the key in Setup::kept.
  [[nodiscard]] std::string training_key(const Setup& setup, const attn_cache::ModelFacts& facts,
                                         const Prompts& learned) const {
    Fields all = reuse::options_fields(options_);
    for (const char* other : {"threshold", "lengths", "index", "indexed_layers", "loading",
                              "budget_mib", "memory_mb", "loss_bound", "layer_group"})
      all.erase(other);
    Values prompts;
    for (const std::vector<int32_t>& ids : learned)
      prompts.emplace_back(attn_cache::hash_of_prompt(ids));
    return json_text(Fields{{"options", all},
                            {"beside", options_.beside},
                            {"beside_options", options_.beside_options},
                            {"model", facts.fingerprint},
                            {"seed", setup.seed},
                            {"prompts", prompts}});
  }

  Training trained(const Setup& setup, const attn_cache::ModelFacts& facts,
                   const Prompts& learned) {
    if (setup.kept == nullptr) return train(setup, facts, learned);
    std::any& kept = (*setup.kept)[training_key(setup, facts, learned)];
    if (!kept.has_value()) kept = train(setup, facts, learned);
    return std::any_cast<const Training&>(kept);
  }

  Training train(const Setup& setup, const attn_cache::ModelFacts& facts, const Prompts& learned) {
    const auto folder = make_temporary_folder("training-maps");
    // Trains on the states and maps of all layers, even those without lookups. [AttnCache §5.4]
    attn_cache::AttnCacheOptions of_all_layers = options_;
    of_all_layers.indexed_layers = "all";
    of_all_layers.budget_mib = 0;  // limits stored maps; the maps for training are temporary
    const attn_cache::SampleSet samples =
        attn_cache::collect(*folder, facts, of_all_layers, learned, runner(setup));
    attn_cache::TrainedProjector trained =
        attn_cache::train_projector(samples, attn_cache::MapStore(*folder / attn_cache::kMapsFile),
                                    options_, setup.seed, setup.context, setup.between);
    Training training = {.folder = make_temporary_folder("projector"),
                         .facts = {{"samples", samples.entries.size()},
                                   {"first_loss", trained.losses.front()},
                                   {"last_loss", trained.losses.back()}}};
    if (const auto ratio = trained.loss_over_flat()) training.facts["loss_over_flat"] = *ratio;
    trained.projector.save(training.file());
    return training;
  }

  // Reads options_.projector_file; the projector must fit the options. The user must make sure that
  // the projector was trained for this model.
  [[nodiscard]] attn_cache::Projector read_projector(const attn_cache::ProjectorShape& shape,
                                                     const Context& context) const {
    attn_cache::Projector projector = attn_cache::Projector::load(options_.projector_file, context);
    if (projector.shape() != shape)
      raise_shape(
          "{} is a projector of shape {}, these options and this model take {}: give the options "
          "that it was trained with (projector, pooled_rows, padded_tokens, width, features), or "
          "another file",
          options_.projector_file, json_text(attn_cache::describe_shape(projector.shape())),
          json_text(attn_cache::describe_shape(shape)));
    return projector;
  }

  // Joins the policies of AttnCache and the other method. Layers that the other method skips stay
  // skipped on a hit. If the other method shares maps between layers, it does so on a miss.
  [[nodiscard]] std::shared_ptr<model::LayerPolicy> joined(
      std::shared_ptr<model::LayerPolicy> policy) const {
    if (beside_ == nullptr) return policy;
    std::vector<std::shared_ptr<model::LayerPolicy>> both = {std::move(policy), beside_policy_};
    if (skips_layers_beside()) std::swap(both[0], both[1]);
    return std::make_shared<model::PolicyChain>(std::move(both));
  }

  // Sets the threshold by measuring the effect of reuse on prompts that are not stored. A prompt
  // that misses is computed with the other method, if there is one. So outputs with reuse are
  // compared with those of the other method alone.
  void calibrate(const Setup& setup, const attn_cache::ModelFacts& facts, const Prompts& learned) {
    attn_cache::AttnCacheOptions always = options_;
    always.threshold = std::numeric_limits<double>::lowest();
    const auto reusing = std::make_shared<attn_cache::AttnCachePolicy>(
        database_, always, facts, setup.context, steady_now_ns);
    const auto with_reuse = joined(reusing);
    std::vector<attn_cache::CalibrationPoint> points;
    for (const std::vector<int32_t>& ids : learned) {
      const std::vector<float> without_reuse = setup.run(ids, beside_policy_.get());
      const std::vector<float> reused = setup.run(ids, with_reuse.get());
      const double cosine = sentence::cosine(without_reuse, reused);
      // There are no similarities if the other method leaves every layer out.
      const std::span<const double> found = reusing->similarities();
      points.push_back(
          {.similarity = found.empty() ? -std::numeric_limits<double>::infinity() : found[0],
           .loss = std::clamp(0.5 * (1.0 - cosine), 0.0, 1.0)});
    }
    options_.threshold = attn_cache::calibrate_threshold(points, options_.loss_bound).threshold;
  }

  MethodInfo info_;
  AttnCacheMethodOptions options_;
  int64_t learning_texts_ = 0;
  Fields training_;                 // empty: nothing was trained
  std::unique_ptr<Method> beside_;  // null: none
  std::shared_ptr<model::LayerPolicy> beside_policy_;
  std::shared_ptr<Cutting> cutting_;  // null: prompts stay as they are
  std::shared_ptr<const std::filesystem::path> folder_;
  std::shared_ptr<attn_cache::Database> database_;
  std::shared_ptr<attn_cache::AttnCachePolicy> policy_;
  std::shared_ptr<model::LayerPolicy> joined_;
};

}  // namespace

MethodEntry attn_cache_method() {
  MethodEntry entry{
      .info = {.name = "attn_cache",
               .summary = "stored attention maps of the nearest database text",
               .paper = "AttnCache",
               .exactness = Exactness::kApproximate,
               .look = {},
               .cannot_generate = "a layer that takes a stored map leaves no keys to decode with",
               .metrics = {kStoreMb, kOnDiskMb, kStoredTexts, kThreshold, kOtherLength, kNoLength,
                           kFitted},
               .turn_parts = {kRetrievalMs, kLoadingMs, kEmbeddingMs, kSearchingMs},
               .uses_prompts = true}};
  entry.resolve_options = resolve_attn_cache_options;
  entry.make = [info = entry.info](const JsonObject& given) -> std::unique_ptr<Method> {
    return std::make_unique<AttnCacheMethod>(info, read_attn_cache_options(given));
  };
  entry.list_options = list_attn_cache_options;
  return entry;
}

}  // namespace reprise::methods
