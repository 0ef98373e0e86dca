// Tests AttnCache and its rivals as methods of kinds: on stored prompts of a tiny decoder, and on
// texts of a small encoder that are not stored.
#include "experiments/kinds/sentences/prefill.h"

#include <gtest/gtest.h>

#include <limits>

#include "experiments/kinds/sentences/prefill_lane.h"
#include "experiments/kinds/sentences/sentences.h"
#include "methods/attn_cache/projector.h"
#include "methods/attn_cache/train.h"
#include "methods/attn_cache/vector_index.h"
#include "tests/core/sentence/sentence_testing.h"
#include "tests/experiments/kinds/shared/kind_on_tiny_model.h"
#include "tests/experiments/kinds/shared/measured_value.h"
#include "tests/support/cold_disk.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

using model::expect_error;

Json method(const char* name, const Json& options) {
  return {{"name", name}, {"options", options}};
}

class Prefill : public KindOnTinyModel {
 protected:
  Group group(const Json& methods, const Json& settings = Json::object()) const {
    Json all = {{"prompt_tokens", 24}, {"asked_texts", 3}};
    if (!settings.empty()) all.update(settings);
    return group_of(
        {{"kind", "prefill"}, {"methods", methods}, {"settings", all}, {"repetitions", 2}});
  }
  std::vector<Measured> measure(const Group& one) {
    PrefillKind kind(context_);
    kind.check(one);
    EXPECT_GT(kind.memory_need(one).bytes, 0);
    return measured_json(kind.measure(one, Machine(), stop_));
  }
};

TEST_F(Prefill, StoredTextsHitAndAreComputedAsInFull) {
  if (const std::string absence = attn_cache::index_absence(attn_cache::IndexKind::kHnsw);
      !absence.empty())
    GTEST_SKIP() << absence;
  const auto measured = measure(
      group({"compute", "maps",
             method("attn_cache",
                    {{"threshold", 1.0}, {"projector_from", "random"}, {"map_form", "f32"}}),
             method("attn_cache", {{"threshold", 2.0}, {"projector_from", "random"}}),
             method("attn_cache",
                    {{"threshold", 1.0}, {"projector_from", "random"}, {"loading", "cold"}})}));
  ASSERT_EQ(measured.size(), 5u);
  const Measured &full = measured[0], &eager = measured[1], &hit = measured[2], &miss = measured[3];
  EXPECT_EQ(value_of(full, "texts"), 3);
  EXPECT_FALSE(full.metrics.contains("hit_rate"));
  EXPECT_FALSE(full.metrics.contains("text_speedup"));
  EXPECT_LE(value_of(eager, "max_difference"), 1e-4);
  EXPECT_EQ(value_of(hit, "hit_rate"), 1);
  EXPECT_LE(value_of(hit, "max_difference"), 1e-4);
  EXPECT_EQ(hit.samples["text_speedup_hits"], hit.samples["text_speedup"]);
  EXPECT_EQ(hit.samples["attention_speedup_hits"].size(), 2u);
  EXPECT_EQ(value_of(hit, "stored_texts"), 4);
  // 4 groups of 2 layers, 4 heads and 24 x 24 weights of 4 bytes. The store's head and table add to
  // that.
  EXPECT_GE(value_of(hit, "store_mb"), 4 * 2 * 4 * 24 * 24 * 4 * 1e-6);
  EXPECT_EQ(hit.resolved["attn_cache"]["hits"], 3);
  EXPECT_EQ(hit.resolved["attn_cache"]["projector"], "random");
  EXPECT_EQ(value_of(miss, "hit_rate"), 0);
  EXPECT_EQ(value_of(miss, "max_difference"), 0);  // the same bits
  EXPECT_FALSE(miss.metrics.contains("text_speedup_hits"));
  EXPECT_GT(value_of(miss, "retrieval_ms"), 0);
  EXPECT_EQ(value_of(measured[4], "hit_rate"), 1);
  EXPECT_GT(value_of(measured[4], "loading_ms"), 0);
  EXPECT_GT(value_of(miss, "text_bound"), 1);
  EXPECT_GT(value_of(miss, "attention_bound"), value_of(miss, "text_bound"));
}

// Stores maps of four texts of 24 tokens, but memory has room for one. Hits read the others from
// disk, and must answer as they do from memory.
TEST_F(Prefill, MapsBeyondTheMemoryForThemAreReadFromTheDiskInEachTurn) {
  if (const std::string absence = attn_cache::index_absence(attn_cache::IndexKind::kHnsw);
      !absence.empty())
    GTEST_SKIP() << absence;
  const double group_mb = 2 * 4 * 24 * 24 * 4 * 1e-6;
  const auto with = [&](double memory_mb) {
    return measure(group({"compute", method("attn_cache", {{"threshold", 1.0},
                                                           {"projector_from", "random"},
                                                           {"map_form", "f32"},
                                                           {"memory_mb", memory_mb}})}));
  };
  if (!has_cold_disk(std::filesystem::temp_directory_path())) {
    expect_error([&] { (void)with(1.5 * group_mb); }, {"memory_mb", "TMPDIR"});
    return;
  }
  const Measured hit = with(1.5 * group_mb)[1];
  EXPECT_EQ(value_of(hit, "hit_rate"), 1);
  EXPECT_LE(value_of(hit, "max_difference"), 1e-4);
  EXPECT_NEAR(value_of(hit, "on_disk_mb"), 3 * group_mb, 3 * 4096e-6);
  EXPECT_EQ(value_of(with(100)[1], "on_disk_mb"), 0);
}

TEST_F(Prefill, TimesAreOfTextsAndTheirParts) {
  const auto measured = measure(group(Json::array({"compute"})));
  const double text_ms = value_of(measured[0], "text_ms");
  EXPECT_LE(value_of(measured[0], "attention_ms") + value_of(measured[0], "feed_forward_ms"),
            text_ms);
  EXPECT_NEAR(value_of(measured[0], "tokens_per_s"), 24 * 1e3 / text_ms, 1e-6 * 24e3 / text_ms);
}

// Uses the shipped model. Operations are timed in turns of their own, so their sum is compared only
// roughly with the attention of the other turns.
TEST_F(Prefill, OperationsOfAttentionAreTimedWhenAskedFor) {
  if (const std::string absence = attn_cache::index_absence(attn_cache::IndexKind::kHnsw);
      !absence.empty())
    GTEST_SKIP() << absence;
  const auto measured_with = [&](const char* operations) {
    return measure(
        group_of({{"kind", "prefill"},
                  {"models", {"models/quickstart"}},
                  {"methods",
                   {"compute", "maps",
                    method("attn_cache", {{"threshold", 1.0}, {"projector_from", "random"}})}},
                  {"settings", {{"prompt_tokens", 96}, {"operations", operations}}},
                  {"repetitions", 5}}));
  };
  for (const Measured& one : measured_with("together"))
    for (const char* name : {"queries_ms", "values_ms", "map_ms", "attention_rest_ms"})
      EXPECT_FALSE(one.metrics.contains(name)) << name;
  const auto measured = measured_with("apart");
  const std::vector<std::vector<std::string>> expected = {
      {"queries_ms", "keys_ms", "rotary_ms", "values_ms", "attention_rest_ms"},
      {"queries_ms", "keys_ms", "rotary_ms", "values_ms", "map_ms", "attention_rest_ms"},
      {"values_ms", "attention_rest_ms"}};
  for (size_t m = 0; m < expected.size(); ++m) {
    double sum = 0;
    for (const std::string& name : expected[m]) {
      EXPECT_GT(value_of(measured[m], name.c_str()), 0) << m << " " << name;
      sum += value_of(measured[m], name.c_str());
    }
    EXPECT_LE(sum, 5 * value_of(measured[m], "attention_ms")) << m;
    EXPECT_EQ(measured[m].metrics.contains("map_ms"), m == 1);
    EXPECT_EQ(measured[m].metrics.contains("queries_ms"), m != 2);
  }
  EXPECT_GT(value_of(measured[2], "embedding_ms"), 0);
  EXPECT_GT(value_of(measured[2], "searching_ms"), 0);
  EXPECT_LE(value_of(measured[2], "embedding_ms"), value_of(measured[2], "retrieval_ms"));
  EXPECT_LE(value_of(measured[1], "max_difference"), 1e-2);
}

TEST_F(Prefill, TextsThatAreNotStoredHitByTheirSimilarityAlone) {
  const Json raw = {{"preset", "raw"}, {"map_form", "f32"}};
  Json near = raw, far = raw;
  near["threshold"] = 1.0 - 1e-6;
  far["threshold"] = -1.0;
  const auto measured =
      measure(group({"compute", method("attn_cache", near), method("attn_cache", far)},
                    {{"stored_share", 0.34}, {"asked_texts", 3}}));
  EXPECT_NEAR(value_of(measured[1], "hit_rate"), 1.0 / 3, 1e-12);  // the one that is stored
  EXPECT_LE(value_of(measured[1], "max_difference"), 1e-4);
  EXPECT_EQ(value_of(measured[2], "hit_rate"), 1);
  EXPECT_EQ(measured[2].resolved["attn_cache"]["projector"], "none");
  EXPECT_EQ(measured[2].resolved["stored_texts_asked"], 1);
}

TEST_F(Prefill, RivalsChooseTheirLayers) {
  const auto measured =
      measure(group({"compute", "lazy_former", method("lazy_former", {{"block_layers", 1}}),
                     method("san", {{"similarity", 0.0}}), method("attn_drop", {{"dropped", 1}}),
                     method("block_drop", {{"dropped", 0}})}));
  EXPECT_GT(value_of(measured[1], "max_difference"), 1e-3);
  EXPECT_EQ(value_of(measured[2], "max_difference"), 0);
  EXPECT_EQ(measured[3].resolved["first_layers"], Json::array({0}));
  EXPECT_EQ(value_of(measured[3], "max_difference"), value_of(measured[1], "max_difference"));
  EXPECT_EQ(measured[4].resolved["dropped_layers"].size(), 1u);
  EXPECT_GT(value_of(measured[4], "max_difference"), 1e-3);
  EXPECT_EQ(value_of(measured[5], "max_difference"), 0);
  EXPECT_FALSE(measured[1].metrics.contains("hit_rate"));
}

// Layers that the rival skips stay skipped. Where AttnCache has no hit, layers share maps as the
// rival says.
TEST_F(Prefill, RivalsRunBesideAttnCache) {
  const auto beside = [](double threshold, const Json& rival) {
    return method(
        "attn_cache",
        {{"preset", "raw"}, {"map_form", "f32"}, {"threshold", threshold}, {"beside", rival}});
  };
  const Json dropping = {{"method", "block_drop"}, {"dropped", 1}},
             lazy = {{"method", "lazy_former"}};
  const auto measured =
      measure(group({method("block_drop", {{"dropped", 1}}), beside(1.0 - 1e-6, dropping),
                     beside(2.0, lazy), beside(1.0 - 1e-6, lazy)}));
  EXPECT_EQ(measured[1].resolved["dropped_layers"], measured[0].resolved["dropped_layers"]);
  const bool drops_first = measured[0].resolved["dropped_layers"] == Json::array({0});
  EXPECT_EQ(value_of(measured[1], "hit_rate"), drops_first ? 0 : 0.5);
  EXPECT_LE(value_of(measured[1], "max_difference"), 1e-4);  // against the model without that layer
  EXPECT_EQ(value_of(measured[2], "hit_rate"), 0);
  EXPECT_EQ(value_of(measured[3], "hit_rate"), 1);
  EXPECT_NE(value_of(measured[2], "max_difference"), value_of(measured[3], "max_difference"));
}

TEST_F(Prefill, PaddedPromptsHitByTheReleasedCodesProjector) {
  if (const std::string absence = attn_cache::index_absence(attn_cache::IndexKind::kHnsw);
      !absence.empty())
    GTEST_SKIP() << absence;
  const auto measured =
      measure(group({"compute", method("attn_cache", {{"preset", "as_coded"},
                                                      {"padded_tokens", 32},
                                                      {"map_form", "f32"},
                                                      {"projector_from", "random"}})}));
  EXPECT_EQ(value_of(measured[1], "hit_rate"), 1);
  // Masked padding is not computed. So the same tokens are computed as by method compute, and the
  // prompts find their own maps.
  EXPECT_LE(value_of(measured[1], "max_difference"), 1e-4);
  EXPECT_EQ(measured[1].resolved["cut_texts"], 0);
}

TEST_F(Prefill, PromptsThatTheMethodCutsAreCounted) {
  Json cut = {{"preset", "raw"}, {"padded_tokens", 16}, {"alignment", "end"}};
  const auto measured = measure(group({"compute", method("attn_cache", cut)}));
  EXPECT_EQ(measured[0].resolved["cut_texts"], 0);
  EXPECT_EQ(measured[1].resolved["cut_texts"], 3);
}

TEST_F(Prefill, StatesThatAreNotFiniteAreAnError) {
  const model::TempDir folder;
  folder.write("config.json", model::tiny_llama_config().dump());
  std::vector<model::TestTensor> tensors = model::tiny_llama_tensors();
  for (model::TestTensor& tensor : tensors)
    if (tensor.name == "model.norm.weight") tensor.first = std::numeric_limits<float>::quiet_NaN();
  folder.write("model.safetensors", model::safetensors_of(tensors));
  const Group one = group_of({{"kind", "prefill"},
                              {"models", {folder.path().string()}},
                              {"methods", {"compute", "maps"}},
                              {"settings", {{"prompt_tokens", 24}}},
                              {"repetitions", 1}});
  expect_error([&] { (void)measure(one); }, {"method compute", "not finite"});
}

TEST_F(Prefill, WhatCannotBeIsRefused) {
  const auto refused = [&](const Json& methods, const Json& settings,
                           std::initializer_list<std::string> parts) {
    expect_error([&] { (void)measure(group(methods, settings)); }, parts);
  };
  refused(Json::array({method("attn_cache", {{"beside", {{"method", "lazy"}}}})}), {},
          {"lazy", "lazy_former"});
  refused(Json::array({method("attn_cache", {{"beside", {{"method", "san"}, {"droped", 1}}}})}), {},
          {"droped"});
  const Json beside = {{"preset", "raw"},
                       {"layer_group", 1},
                       {"beside", {{"method", "block_drop"}, {"dropped", 1}}}};
  refused(Json::array({method("attn_cache", beside)}), {},
          {"layer_group 1", "\"block_drop\" of option `beside`", "(dropped)"});
  refused(Json::array({method("attn_cache", {{"loss_bound", 0.1}, {"layer_group", 1}})}), {},
          {"layer_group"});
  refused(Json::array({method("attn_cache", {{"loss_bound", 0.1}, {"threshold", 0.9}})}), {},
          {"loss_bound", "threshold 0.9"});
  refused(Json::array({method("attn_cache", {{"preset", "raw"}, {"loss_bound", 0.1}})}), {},
          {"training_texts"});
  refused(Json::array({method("attn_cache", {{"preset", "raw"}, {"pooled_rows", 4096}})}), {},
          {"4096 pooled rows", "65536", "fewer pooled_rows"});
  refused(Json::array({method("attn_cache", {{"preset", "raw"}, {"treshold", 1}})}), {},
          {"threshold"});
  refused(Json::array({method("attn_cache", {{"projector_file", "absent.safetensors"}})}), {},
          {"absent.safetensors"});
  refused(Json::array({method("attn_cache", {{"preset", "raw"}})}),
          {{"database_texts", 0}, {"stored_share", 0.0}}, {"database_texts"});
  refused(Json::array({"compute"}), {{"database_texts", 1}, {"asked_texts", 3}}, {"stored_share"});
  refused(Json::array({method("san", Json::object())}),
          {{"database_texts", 0}, {"stored_share", 0.0}}, {"training_texts"});
  refused(Json::array({method("attn_drop", {{"dropped", 3}})}), {}, {"3 layers of 2"});
  refused(Json::array({"contiguous"}), {}, {"contiguous"});
}

TEST_F(Prefill, AProjectorOfAnotherShapeIsRefusedWithBothShapes) {
  const model::TempDir folder;
  const std::string file = (folder.path() / "projector.safetensors").string();
  attn_cache::Projector::random(attn_cache::mlp_shape(64, 8, 128, 128), 1, "", context_).save(file);
  const auto with_rows = [&](int pooled_rows) {
    const Json options = {
        {"projector_file", file}, {"index", "flat"}, {"pooled_rows", pooled_rows}};
    return group(Json::array({method("attn_cache", options)}));
  };
  expect_error([&] { (void)measure(with_rows(16)); },
               {file, "\"pooled_rows\":8,", "\"pooled_rows\":16,", "padded_tokens"});
  EXPECT_EQ(measure(with_rows(8))[0].resolved["attn_cache"]["projector"], "random");
}

TEST(PrefillMethods, TrainingNamesItsRemediesWhereItCannotBe) {
  if (const std::string absence = attn_cache::index_absence(attn_cache::IndexKind::kHnsw);
      !absence.empty())
    GTEST_SKIP() << absence;
  const MethodChoice trained{.name = "attn_cache"};
  const std::string reason = missing_for(trained);
  EXPECT_EQ(reason.empty(), attn_cache::training_absence().empty());
  if (!reason.empty()) {
    EXPECT_NE(reason.find("./setup.sh --torch"), std::string::npos);
    EXPECT_NE(reason.find("projector_file"), std::string::npos);
  }
  EXPECT_EQ(missing_for({.name = "attn_cache", .options = {{"preset", "raw"}}}), "");
  EXPECT_EQ(missing_for({.name = "attn_cache", .options = {{"projector_from", "random"}}}), "");
  EXPECT_EQ(missing_for({.name = "compute"}), "");
}

// ---- texts ----

class ReusedSentences : public KindOnTinyModel {
 protected:
  ReusedSentences() {
    sentence::write_sentence_model(bert_);
    std::string pairs;
    for (int i = 0; i < 64; ++i) {
      const auto letter = [&](int n) { return std::string(1, static_cast<char>('a' + n % 8)); };
      pairs += fmt::format("{}\t{} {} {}\t{} {} {}\n", i % 6, letter(i), letter(i / 8), letter(i),
                           letter(i / 8), letter(i + 3), letter(i * 5 + 1));
    }
    bert_.write("pairs.tsv", pairs);
  }
  Group group(const Json& methods, const Json& settings) const {
    Json all = {{"database_share", 0.5}, {"texts_per_step", 1}};
    all.update(settings);
    return group_of(
        {{"kind", "sentences"},
         {"models", {{{"model", bert_.path().string()}, {"weights", "random"}}}},
         {"methods", methods},
         {"workload",
          {{"name", "sentence_pairs"}, {"file", (bert_.path() / "pairs.tsv").string()}}},
         {"settings", all},
         {"repetitions", 2}});
  }
  std::vector<Measured> measure(SentencesKind& kind, const Group& one) {
    kind.check(one);
    return measured_json(kind.measure(one, Machine(), stop_));
  }
  std::vector<Measured> measure(const Json& methods, const Json& settings) {
    SentencesKind kind(context_);
    return measure(kind, group(methods, settings));
  }

  model::TempDir bert_;
  const Json raw_ = {{"preset", "raw"}, {"map_form", "f32"}};
};

TEST_F(ReusedSentences, HitsFallAsTheThresholdRises) {
  double before = 1.1;
  for (const double threshold : {0.2, 0.9, 2.0}) {
    const auto measured =
        measure({"compute", method("attn_cache", raw_)}, {{"threshold", threshold}});
    const double hits = value_of(measured[1], "hit_rate");
    EXPECT_LE(hits, before);
    EXPECT_EQ(value_of(measured[1], "threshold_used"), threshold);
    before = hits;
    if (threshold < 0.5) {
      EXPECT_GT(hits, 0.5);
      EXPECT_LT(value_of(measured[1], "vector_cosine"), 1 - 1e-12);
    }
    if (threshold == 2.0) {
      EXPECT_EQ(hits, 0);
      EXPECT_EQ(value_of(measured[1], "score_loss"), 0);
    }
  }
}

// The axis of padded lengths acts only on a method that pads by itself.
TEST_F(ReusedSentences, TheLengthOfPaddingMayBeSwept) {
  Json pads = raw_;
  pads["padded_tokens"] = 40;
  pads["alignment"] = "end";
  const auto cosines = [&](int padded_tokens) {
    const auto measured =
        measure({"compute", method("attn_cache", raw_), method("attn_cache", pads)},
                {{"threshold", 2.0}, {"padded_tokens", padded_tokens}});
    for (const size_t whole : {0, 1}) EXPECT_EQ(measured[whole].resolved["cut_texts"], 0);
    EXPECT_EQ(measured[2].resolved["cut_texts"],
              padded_tokens == 0 ? 0 : value_of(measured[2], "texts"));
    EXPECT_EQ(measured[2].resolved["text_tokens"] == measured[0].resolved["text_tokens"],
              padded_tokens == 0);
    return std::pair(value_of(measured[1], "vector_cosine"),
                     value_of(measured[2], "vector_cosine"));
  };
  const auto [as_it_is, padded] = cosines(0);
  EXPECT_NEAR(as_it_is, 1, 1e-12);
  EXPECT_NEAR(padded, 1, 1e-6);
  const auto [still, cut] = cosines(3);
  EXPECT_NEAR(still, 1, 1e-12);
  EXPECT_LT(cut, 1 - 1e-6);  // one word of each text is left, between its special tokens
}

// Each text hits or misses by itself, whatever other texts are in its step.
TEST_F(ReusedSentences, SeveralTextsAStepHitAsOneByOne) {
  bool has_mixed = false;
  for (const double threshold : {0.9, 0.99, 0.999, 0.9999}) {
    const auto at = [&](int texts_per_step) {
      return measure({"compute", method("attn_cache", raw_)},
                     {{"threshold", threshold}, {"texts_per_step", texts_per_step}});
    };
    const auto together = at(0), alone = at(1);
    const double hits = value_of(together[1], "hit_rate");
    EXPECT_EQ(hits, value_of(alone[1], "hit_rate"));
    EXPECT_NEAR(value_of(together[1], "vector_cosine"), value_of(alone[1], "vector_cosine"), 1e-6);
    EXPECT_FALSE(together[1].metrics.contains("text_speedup_hits"));
    has_mixed = has_mixed || (hits > 0.1 && hits < 0.9);
  }
  EXPECT_TRUE(has_mixed);
}

TEST_F(ReusedSentences, LayerByLayerAndBesideRivals) {
  Json fine = raw_;
  fine["layer_group"] = 1;
  Json beside = raw_;
  beside["beside"] = {{"method", "attn_drop"}, {"dropped", 1}};
  const auto measured =
      measure({"compute", method("attn_cache", fine), method("attn_cache", beside), "lazy_former"},
              {{"threshold", 0.2}});
  EXPECT_GT(value_of(measured[1], "hit_rate"), 0.2);
  EXPECT_EQ(measured[2].resolved["dropped_layers"].size(), 1u);
  EXPECT_LE(value_of(measured[2], "hit_rate"), 0.5);
}

// A layer in which one text of the step reuses its map cannot share another map for the others.
TEST_F(ReusedSentences, BesideMethodsThatShareMapsAStepHasOneText) {
  const auto check = [&](const char* rival, int texts_per_step) {
    Json beside = raw_;
    beside["beside"] = {{"method", rival}};
    SentencesKind kind(context_);
    kind.check(
        group(Json::array({method("attn_cache", beside)}), {{"texts_per_step", texts_per_step}}));
  };
  for (const char* rival : {"lazy_former", "san"}) {
    for (const int texts_per_step : {0, 7})
      expect_error([&] { check(rival, texts_per_step); }, {rival, "texts_per_step 1"});
    check(rival, 1);
  }
  check("attn_drop", 0);
}

TEST_F(ReusedSentences, ABoundOfTheLossChoosesTheThreshold) {
  Json strict = raw_, loose = raw_;
  strict["loss_bound"] = 0.04;  // needs at least 24 texts that learn
  loose["loss_bound"] = 1.0;
  const auto measured =
      measure({"compute", method("attn_cache", strict), method("attn_cache", loose)},
              {{"training_share", 0.25}});
  EXPECT_GE(measured[1].resolved["attn_cache"]["learning_texts"], 25);
  EXPECT_GE(value_of(measured[1], "threshold_used"), value_of(measured[2], "threshold_used"));
  EXPECT_GE(value_of(measured[2], "hit_rate"), value_of(measured[1], "hit_rate"));
  EXPECT_GT(value_of(measured[2], "hit_rate"), 0);
  SentencesKind kind(context_);
  expect_error(
      [&] {
        kind.check(group(Json::array({method("attn_cache", loose)}), {{"threshold", 0.9}}));
      },
      {"loss_bound", "threshold 0.9"});
}

// A sweep trains once for all its thresholds, and the projector that it reuses equals one that is
// trained anew.
TEST_F(ReusedSentences, ASweepTrainsOnceForTheSameTexts) {
  if (!attn_cache::training_absence().empty()) GTEST_SKIP() << attn_cache::training_absence();
  const auto at = [&](SentencesKind& kind, double threshold, double map_weight) {
    Json options = {{"threshold", threshold}, {"map_weight", map_weight}, {"epochs", 2}};
    const auto measured = measure(
        kind, group({"compute", method("attn_cache", options)}, {{"training_share", 0.25}}));
    return measured[1].resolved["attn_cache"];
  };
  SentencesKind kind(context_), fresh(context_);
  const Json first = at(kind, 2.0, 0.5), second = at(kind, -1.0, 0.5);
  EXPECT_EQ(second["training"], first["training"]);
  EXPECT_EQ(second["projector_fingerprint"], first["projector_fingerprint"]);
  EXPECT_GT(second["hits"].get<int>(), first["hits"].get<int>());
  EXPECT_EQ(at(fresh, -1.0, 0.5)["projector_fingerprint"], first["projector_fingerprint"]);
  EXPECT_NE(at(kind, 2.0, 3.0)["projector_fingerprint"], first["projector_fingerprint"]);
}

// A budget of stored maps does not limit the texts that training takes.
TEST_F(ReusedSentences, TheBudgetIsOfStoredMapsAlone) {
  if (!attn_cache::training_absence().empty()) GTEST_SKIP() << attn_cache::training_absence();
  const auto measured =
      measure({"compute", method("attn_cache", {{"epochs", 1}, {"budget_mib", 0.02}})},
              {{"database_share", 0.1}, {"training_share", 0.6}});
  const Json& resolved = measured[1].resolved["attn_cache"];
  EXPECT_GE(resolved["learning_texts"], 2 * value_of(measured[1], "stored_texts"));
}

// The questions are for a decoder. Their lengths differ, so stored maps are fitted to them.
TEST_F(ReusedSentences, QuestionsReuseMapsToo) {
  std::string questions;
  for (int i = 0; i < 12; ++i)
    questions += fmt::format("{}?,a,b,c,d,{}\n", std::string(static_cast<size_t>(i + 1), 'q'),
                             static_cast<char>('A' + i % 4));
  bert_.write("anatomy_test.csv", questions);
  const Group one = group_of(
      {{"kind", "sentences"},
       {"models", {"models/quickstart"}},
       {"methods",
        {"compute",
         method("attn_cache", {{"preset", "raw"}, {"lengths", "fit"}, {"threshold", -1000.0}})}},
       {"workload", {{"name", "mmlu"}, {"file", bert_.path().string()}}},
       {"settings",
        {{"shots", 0}, {"task", "health"}, {"database_share", 0.5}, {"texts_per_step", 1}}},
       {"repetitions", 1}});
  SentencesKind kind(context_);
  kind.check(one);
  const auto measured = measured_json(kind.measure(one, Machine(), stop_));
  EXPECT_EQ(value_of(measured[0], "texts"), 6);
  EXPECT_EQ(value_of(measured[1], "hit_rate"), 1);
  EXPECT_EQ(measured[1].resolved["attn_cache"]["lookups"], 6);
  EXPECT_GT(value_of(measured[1], "fitted_share"), 0);
  EXPECT_EQ(value_of(measured[1], "other_length_share"), 0);
}

}  // namespace
}  // namespace reprise::experiments
