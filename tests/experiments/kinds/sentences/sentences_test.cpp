// Tests kind "sentences" on a small BERT in a sentence-transformers folder, and what it refuses.
#include "experiments/kinds/sentences/sentences.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/core/sentence/sentence_testing.h"
#include "tests/experiments/kinds/shared/kind_on_tiny_model.h"
#include "tests/experiments/kinds/shared/measured_value.h"
#include "tests/support/environment.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

using model::expect_error;

class Sentences : public KindOnTinyModel {
 protected:
  Sentences() {
    sentence::write_sentence_model(bert_);
    bert_.write("pairs.tsv", "5\ta b\ta b\n3\ta c\ta c d\n1\th\ta b c\n\tg\tf\n4\tb b\tb b b\n");
    bert_.write("labels.txt",
                "a a\t1\na b\t1\na c\t1\na d\t1\na e\t1\nh h\t0\nh g\t0\nh f\t0\nh e\t0\nh b\t0\n");
  }
  Group group(const Json& changes = Json::object()) const {
    Json file = {{"kind", "sentences"},
                 {"models", {{{"model", bert_.path().string()}, {"weights", "random"}}}},
                 {"dtypes", {"f32"}},
                 {"methods", {"compute", "maps"}},
                 {"workload", {{"name", "sentence_pairs"}, {"file", file_of("pairs.tsv")}}},
                 {"repetitions", 2}};
    file.merge_patch(changes);
    return group_of(file);
  }
  // Writes the folder "classifier": a BERT with a head of two labels. Sets keys of its config.json.
  void write_classifier(const Json& keys = Json::object()) {
    const std::filesystem::path from =
        std::filesystem::path(REPRISE_SOURCE_DIR) / "tests/core/sentence/task_heads/bert";
    std::filesystem::copy(from, bert_.path() / "classifier",
                          std::filesystem::copy_options::recursive |
                              std::filesystem::copy_options::overwrite_existing);
    bert_.write("classifier/tokenizer.json", sentence::bert_tokenizer_json());
    Json config = json_of(read_json(from / "config.json"));
    config.update(keys);
    bert_.write("classifier/config.json", config.dump());
  }
  [[nodiscard]] std::string file_of(const char* name) const {
    return (bert_.path() / name).string();
  }
  std::vector<Measured> measure(const Group& one) {
    SentencesKind kind(context_);
    kind.check(one);
    EXPECT_GT(kind.memory_need(one).bytes, 0);
    return measured_json(kind.measure(one, Machine(), stop_));
  }

  model::TempDir bert_;
};

// Identical sentences have a cosine of 1, the largest possible, so the pair with score 5 ranks
// first.
TEST_F(Sentences, ScoresTimesAndWhatTheFolderSays) {
  const auto measured = measure(group());
  ASSERT_EQ(measured.size(), 2u);
  for (const Measured& one : measured) {
    EXPECT_EQ(value_of(one, "texts"), 8);
    EXPECT_GE(value_of(one, "score"), value_of(one, "score_low"));
    EXPECT_LE(value_of(one, "score"), value_of(one, "score_high"));
    EXPECT_EQ(one.samples["text_ms"].size(), 2u);
    EXPECT_EQ(one.resolved["pooling"], "mean, normalized");
    EXPECT_EQ(one.resolved["most_tokens"], 12);
    EXPECT_EQ(one.resolved["unscored_pairs"], 1);
    EXPECT_EQ(one.resolved["cut_texts"], 0);
    EXPECT_EQ(one.resolved["splits"].size(), 1u);
    EXPECT_EQ(one.resolved["weight_format"], "f32");
    EXPECT_TRUE(one.metrics["score"].value("signed", false));  // a negative score must be allowed
    EXPECT_FALSE(one.metrics["text_ms"].contains("signed"));
  }
  EXPECT_NEAR(value_of(measured[1], "vector_cosine"), 1, 1e-6);
  EXPECT_EQ(value_of(measured[1], "score_loss"), 0);
}

TEST_F(Sentences, TheAxesChangeWhatIsEmbedded) {
  const auto of = [&](const Json& settings) {
    return measure(group({{"methods", {"compute"}}, {"settings", settings}}))[0];
  };
  EXPECT_EQ(value_of(of({{"items", 2}}), "texts"), 4);
  EXPECT_EQ(of({{"pooling", "cls"}}).resolved["pooling"], "cls, normalized");
  const Measured prompted = of({{"prompt", "c {text} d"}});
  EXPECT_EQ(prompted.resolved["prompt"], "c {text} d");
  EXPECT_EQ(prompted.resolved["text_tokens"],
            of(Json::object()).resolved["text_tokens"].get<int>() + 16);
  EXPECT_EQ(value_of(of({{"database_share", 0.5}}), "texts"), 4);
}

// Weights of the layers take one byte each. The kind expects and records the smaller memory.
TEST_F(Sentences, WeightsMayBeCodes) {
  const Json models = {
      {{"model", bert_.path().string()}, {"weights", "random"}, {"weight_format", "int8"}}};
  const Group coded = group({{"models", models}, {"methods", {"compute"}}});
  const Measured held = measure(coded)[0];
  EXPECT_EQ(held.resolved["weight_format"], "int8");
  EXPECT_LT(held.resolved["weight_bytes"].get<int64_t>(),
            measure(group({{"methods", {"compute"}}}))[0].resolved["weight_bytes"].get<int64_t>());
  SentencesKind kind(context_);
  EXPECT_LT(kind.memory_need(coded).bytes, kind.memory_need(group()).bytes);
}

TEST_F(Sentences, SentimentIsALinearProbe) {
  const auto measured =
      measure(group({{"workload", {{"name", "sentiment"}, {"file", file_of("labels.txt")}}}}));
  EXPECT_EQ(value_of(measured[0], "texts"), 10);
  EXPECT_EQ(measured[0].resolved["splits"].size(), 2u);
  EXPECT_GE(value_of(measured[0], "score"), 0);
  EXPECT_EQ(value_of(measured[0], "score"), value_of(measured[1], "score"));
}

// A checkpoint with a classifier uses it for all texts; a model with random weights has none.
TEST_F(Sentences, SentimentIsTheModelsOwnHeadWhereItHasOne) {
  write_classifier();
  Json model = {{"model", file_of("classifier")}};
  const Json sentiment = {{"name", "sentiment"}, {"file", file_of("labels.txt")}};
  const auto measured = measure(group({{"models", {model}}, {"workload", sentiment}}));
  EXPECT_EQ(measured[0].resolved["scored_by"], "head");
  EXPECT_EQ(value_of(measured[0], "texts"), 10);
  EXPECT_EQ(measured[0].resolved["splits"].size(), 1u);
  EXPECT_EQ(value_of(measured[0], "score"), value_of(measured[1], "score"));
  EXPECT_NEAR(value_of(measured[1], "vector_cosine"), 1, 1e-6);
  model["weights"] = "random";
  EXPECT_EQ(measure(group({{"models", {model}}, {"workload", sentiment}}))[0].resolved["scored_by"],
            "linear probe");
}

// The number of texts is odd, so a classifier and its opposite have different scores.
TEST_F(Sentences, TheHeadsLabelsAreToldApartByTheirNames) {
  const Json model = {{"model", file_of("classifier")}};
  const Json sentiment = {{"name", "sentiment"}, {"file", file_of("labels.txt")}};
  const auto classifier_with = [&](const Json& labels) {
    write_classifier({{"id2label", labels}});
    return group({{"models", {model}},
                  {"workload", sentiment},
                  {"methods", {"compute"}},
                  {"settings", {{"items", 9}}}});
  };
  const auto score_with = [&](const Json& labels) {
    return value_of(measure(classifier_with(labels))[0], "score");
  };
  const double score = score_with({{"0", "LABEL_0"}, {"1", "LABEL_1"}});
  EXPECT_EQ(score_with({{"0", "NEGATIVE"}, {"1", "POSITIVE"}}), score);
  EXPECT_EQ(score_with({{"0", 0}, {"1", 1}}), score);
  EXPECT_NEAR(score_with({{"0", "Positive"}, {"1", "neg"}}), 1 - score, 1e-9);
  for (const char* other : {"entailment", "LABEL_1"})
    expect_error(
        [&] {
          SentencesKind kind(context_);
          kind.check(classifier_with({{"0", other}, {"1", "negative"}}));
        },
        {"config.json", "id2label", other, "negative"});
}

// Uses the shipped decoder, which knows no answers. All questions must be asked, and the two ways
// to compute must agree.
TEST_F(Sentences, QuestionsAreAskedByLikelihood) {
  bert_.write("anatomy_test.csv", "One?,a,b,c,d,C\nTwo?,a,b,c,d,A\n");
  bert_.write("anatomy_dev.csv", "None?,a,b,c,d,D\n");
  const Json mmlu = {{"models", {"models/quickstart"}},
                     {"workload", {{"name", "mmlu"}, {"file", bert_.path().string()}}},
                     {"settings", {{"shots", 1}, {"task", "health"}}}};
  const auto measured = measure(group(mmlu));
  EXPECT_EQ(value_of(measured[0], "texts"), 2);
  EXPECT_EQ(value_of(measured[0], "score"), value_of(measured[1], "score"));
  EXPECT_NEAR(value_of(measured[1], "vector_cosine"), 1, 1e-6);
  EXPECT_FALSE(measured[0].resolved.contains("pooling"));
}

TEST_F(Sentences, WhatCannotBeEmbeddedIsRefused) {
  const auto refused = [&](const Json& changes, std::initializer_list<std::string> parts) {
    expect_error(
        [&] {
          SentencesKind kind(context_);
          kind.check(group(changes));
        },
        parts);
  };
  refused({{"methods", {"contiguous"}}}, {"contiguous", "compute"});
  refused({{"workload", {{"file", "absent.tsv"}}}}, {"absent.tsv"});
  refused({{"settings", {{"prompt", "no place"}}}}, {"{text}"});
  bert_.write("anatomy_test.csv", "One?,a,b,c,d,C\n");
  refused({{"workload", {{"name", "mmlu"}, {"file", bert_.path().string()}}},
           {"settings", {{"shots", 0}}}},
          {"no head"});
  const model::TempDir headless;  // a decoder whose config.json does not tell that it has no head
  headless.write("config.json", model::tiny_llama_config().dump());
  headless.write("model.safetensors", model::safetensors_of(model::headless_llama_tensors()));
  headless.write("tokenizer.json", sentence::bert_tokenizer_json());
  refused({{"models", {headless.path().string()}},
           {"workload", {{"name", "mmlu"}, {"file", bert_.path().string()}}},
           {"settings", {{"shots", 0}}}},
          {"no head"});
  refused({{"settings", {{"pooling", "men"}}}}, {"did you mean \"mean\""});
  refused({{"settings", {{"letters", "bar"}}}}, {"did you mean \"bare\""});
  refused({{"models", {{{"model", dir_.string()}, {"weights", "random"}}}}}, {"tokenizer"});
  refused({{"settings", {{"database_share", 0.9}, {"items", 1}}}}, {"cluster"});
  const reprise::testing::EnvironmentVariable data("REPRISE_DATA", ""),
      cache("XDG_CACHE_HOME", "/nowhere");  // hides what this user has fetched
  refused({{"models", {"checkpoints/bert-base-uncased-sst2"}},
           {"workload", {{"name", "sentiment"}, {"file", "SST-2"}}}},
          {"reprise data get bert-base-uncased-sst2", "reprise data get sst-2"});
}

// An interrupt is noticed during the preparation, and between the model's steps in a turn.
TEST_F(Sentences, AnInterruptEndsItAtTheNextText) {
  const Group one =
      group({{"methods", {"compute", {{"name", "attn_cache"}, {"options", {{"preset", "raw"}}}}}},
             {"settings", {{"database_share", 0.5}}}});
  for (const std::string part : {"is prepared: 2 texts", "compute, warm-up", "repetition 2 of 2"}) {
    SentencesKind kind(context_);
    std::vector<std::string> told;
    std::atomic<bool> stop = false;
    kind.tell_by([&](const std::string& doing) {
      told.push_back(doing);
      stop = stop || doing.find(part) != std::string::npos;
    });
    EXPECT_THROW((void)kind.measure(one, Machine(), stop), Interrupted) << part;
    ASSERT_FALSE(told.empty());
    EXPECT_NE(told.back().find(part), std::string::npos) << told.back();
  }
}

}  // namespace
}  // namespace reprise::experiments
