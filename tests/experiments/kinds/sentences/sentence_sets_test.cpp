// Tests what kind "sentences" reads, and how it scores made-up vectors.
#include "experiments/kinds/sentences/sentence_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/data.h"
#include "tests/support/json.h"

namespace reprise::experiments {
namespace {

using model::expect_error;
using model::TempDir;

std::string pair_lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += std::to_string(i % 6) + "\tfirst " + std::to_string(i) + "\tsecond " +
            std::to_string(i) + "\n";
  return text;
}

TEST(LoadSentences, PairsStandTwoByTwoAndAFoldersSetsAreOne) {
  const TempDir dir;
  dir.write("a.tsv", pair_lines(5));
  dir.write("b.tsv", "3\tx\ty\n\tnobody\tscored\n4\tv\tw\n");
  const SentenceSet set = load_sentences({"sentence_pairs", dir.path().string()}, {});
  ASSERT_EQ(set.texts.size(), 14u);
  EXPECT_EQ(set.texts[2], "first 1");
  EXPECT_EQ(set.texts[3], "second 1");
  EXPECT_EQ(set.texts[13], "w");
  EXPECT_EQ(set.scores, (std::vector<double>{0, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(set.unscored, 1);
  EXPECT_TRUE(set.labels.empty() && set.database.empty());
  EXPECT_EQ(load_sentences({"sentence_pairs", dir.path().string()}, {.items = 2}).scores.size(),
            4u);
}

TEST(LoadSentences, ADatabaseIsSetApartWithAnyOfItsTexts) {
  const TempDir dir;
  const std::string file = dir.write("a.tsv", pair_lines(100)).string();
  const SentenceSet set =
      load_sentences({"sentence_pairs", file}, {.database_share = 0.4, .seed = 3});
  EXPECT_EQ(set.database.size(), 80u);
  EXPECT_EQ(set.scores.size(), 60u);
  std::set<std::string> texts(set.texts.begin(), set.texts.end());
  for (const std::string& text : set.database) EXPECT_FALSE(texts.contains(text)) << text;
  ASSERT_EQ(set.splits.size(), 2u);
  EXPECT_NE(set.splits[0].find("database: 40 of 100"), std::string::npos);
  EXPECT_NE(load_sentences({"sentence_pairs", file}, {.database_share = 0.4, .seed = 4}).database,
            set.database);
}

// The same pairs are asked, whether the stored texts are set apart or are the texts of these pairs.
TEST(LoadSentences, TheAskedTextsThemselvesMayBeStored) {
  const TempDir dir;
  const std::string file = dir.write("a.tsv", pair_lines(20)).string();
  SentenceChoice choice{.database_share = 0.4, .seed = 3};
  const SentenceSet apart = load_sentences({"sentence_pairs", file}, choice);
  choice.stores_asked = true;
  const SentenceSet asked = load_sentences({"sentence_pairs", file}, choice);
  EXPECT_EQ(asked.texts, apart.texts);
  ASSERT_EQ(asked.database.size(), asked.scores.size());
  for (size_t pair = 0; pair < asked.scores.size(); ++pair)
    EXPECT_EQ(asked.database[pair], asked.texts[2 * pair]);
  EXPECT_NE(asked.splits.back().find("contamination"), std::string::npos);
}

TEST(LoadSentences, TextsAreEditedAsPromptEolDoes) {
  EXPECT_EQ(edited_text("A cat"), "A cat.");
  EXPECT_EQ(edited_text("Is it?"), "Is it.");
  EXPECT_EQ(edited_text("He said \"no\""), "He said 'no'");
  EXPECT_EQ(edited_text("Done."), "Done.");
  EXPECT_EQ(edited_text("What?!"), "What?!.");
  EXPECT_EQ(edited_text(""), "");
  const TempDir dir;
  const std::string file = dir.write("a.tsv", pair_lines(20)).string();
  const SentenceSet set =
      load_sentences({"sentence_pairs", file}, {.database_share = 0.4, .edits_texts = true});
  for (const auto* texts : {&set.texts, &set.database})
    for (const std::string& text : *texts) EXPECT_EQ(text.back(), '.') << text;
}

// "Dog 3" and "Dog 3." are the same text after the edit, so their items go to the same part.
TEST(LoadSentences, EditedTextsAreInOnePartAlone) {
  const TempDir dir;
  std::string pairs, labelled;
  for (int i = 0; i < 60; ++i) {
    const std::string text = "Dog " + std::to_string(i / 2) + (i % 2 == 0 ? "" : ".");
    pairs += "3\t" + text + "\tother " + std::to_string(i) + "\n";
    labelled += text + "\t" + std::to_string(i / 2 % 2) + "\n";
  }
  const SentenceChoice choice{
      .database_share = 0.3, .training_share = 0.3, .edits_texts = true, .has_head = true};
  for (const Workload& workload :
       {Workload{"sentence_pairs", dir.write("pairs.tsv", pairs).string()},
        Workload{"sentiment", dir.write("labelled.txt", labelled).string()}}) {
    const SentenceSet set = load_sentences(workload, choice);
    const std::set<std::string> asked(set.texts.begin(), set.texts.end()),
        stored(set.database.begin(), set.database.end());
    EXPECT_FALSE(asked.empty() || stored.empty());
    for (const std::string& text : set.database) EXPECT_FALSE(asked.contains(text)) << text;
    for (const std::string& text : set.training)
      EXPECT_FALSE(asked.contains(text) || stored.contains(text)) << text;
  }
}

TEST(LoadSentences, WhatMethodsLearnFromIsNeitherStoredNorAsked) {
  const TempDir dir;
  const std::string file = dir.write("a.tsv", pair_lines(100)).string();
  const SentenceSet set =
      load_sentences({"sentence_pairs", file}, {.database_share = 0.5, .training_share = 0.3});
  EXPECT_EQ(set.database.size(), 100u);
  EXPECT_EQ(set.training.size(), 60u);
  EXPECT_EQ(set.texts.size(), 40u);
  std::set<std::string> all(set.texts.begin(), set.texts.end());
  all.insert(set.database.begin(), set.database.end());
  all.insert(set.training.begin(), set.training.end());
  EXPECT_EQ(all.size(), 200u);
  ASSERT_EQ(set.splits.size(), 3u);
  EXPECT_NE(set.splits[1].find("training: 30 of 100"), std::string::npos);
  expect_error(
      [&] {
        (void)load_sentences({"sentence_pairs", file},
                             {.database_share = 0.6, .training_share = 0.4});
      },
      {"database_share 0.6", "training_share 0.4", "below 1"});
}

// The names of the files say what they are for. All pairs of the test's file are asked. The pairs
// of the training's file are stored and learned from, except those with a sentence of the test's
// file.
TEST(LoadSentences, FilesOfTrainingAndTestAreKeptApart) {
  const TempDir dir;
  dir.write("x-train.tsv", pair_lines(20) + "3\tasked\tby the test\n");
  dir.write("x-test.tsv", "1\tAsked\tone\n2\ttwo\tthree\n4\tfour\tfive\n");
  const std::string folder = dir.path().string();
  const SentenceSet set =
      load_sentences({"sentence_pairs", folder}, {.database_share = 0.5, .training_share = 0.25});
  EXPECT_EQ(set.scores, (std::vector<double>{1, 2, 4}));
  EXPECT_EQ(set.texts.size(), 6u);
  EXPECT_EQ(set.database.size(), 20u);
  EXPECT_EQ(set.training.size(), 10u);
  ASSERT_EQ(set.splits.size(), 3u);
  EXPECT_NE(set.splits[2].find("3 of 24 items, as published; 1 others"), std::string::npos)
      << set.splits[2];
  EXPECT_EQ(load_sentences({"sentence_pairs", folder}, {}).splits.size(), 1u);
  // If all texts are the test's, nothing is left for the other parts. This is an error only where
  // another part is wanted.
  const TempDir same;
  for (const char* name : {"x-train.tsv", "x-test.tsv"}) same.write(name, pair_lines(5));
  const Workload of_same{"sentence_pairs", same.path().string()};
  EXPECT_EQ(load_sentences(of_same, {}).scores.size(), 5u);
  expect_error([&] { (void)load_sentences(of_same, {.database_share = 0.5}); },
               {"part \"database\" would be empty"});

  std::string labelled;
  for (int i = 0; i < 20; ++i)
    labelled += "text " + std::to_string(i) + "\t" + std::to_string(i % 2) + "\n";
  const TempDir sentiment;
  sentiment.write("train.tsv", labelled);
  sentiment.write("dev.tsv", "new\t1\nold\t0\n");
  const SentenceSet labels =
      load_sentences({"sentiment", sentiment.path().string()}, {.database_share = 0.25});
  EXPECT_EQ(labels.database.size(), 5u);
  EXPECT_EQ(labels.probe.size(), 15u);
  ASSERT_EQ(labels.queries.size(), 2u);
  EXPECT_EQ(labels.texts[labels.queries[0]], "new");
}

// AttnCache's table 2 names only SICK's test file, which is divided by texts: hardly any pair of
// the training file is free of the test file's texts.
TEST(LoadSentences, OfAttnCachesTable2HalfOfSickIsStored) {
  REPRISE_NEEDS_DATA();
  const std::filesystem::path sts = testing::data_dir() / "datasets" / "sts";
  const Json table2 =
      Json::parse(read_file(REPRISE_SOURCE_DIR "/experiments/attn_cache/table2.json"));
  const std::string sick = table2["sweep"]["set"].back();
  ASSERT_TRUE(sick.starts_with("sick"));
  const SentenceSet set = load_sentences({"sentence_pairs", (sts / sick).string()},
                                         {.database_share = 0.5, .training_share = 0.2});
  // The file has 4,927 pairs. Its largest cluster, which is not divided, has 368.
  EXPECT_GT(set.database.size(), 4000u);
  EXPECT_GT(set.training.size(), 1000u);
  EXPECT_GT(set.texts.size(), 2000u);
}

TEST(LoadSentences, LabelsAreLearnedFromFourOfFive) {
  const TempDir dir;
  std::string text;
  for (int i = 0; i < 50; ++i)
    text += "text " + std::to_string(i) + "\t" + std::to_string(i % 2) + "\n";
  const std::string file = dir.write("a.txt", text).string();
  const SentenceSet set = load_sentences({"sentiment", file}, {});
  EXPECT_EQ(set.probe.size(), 40u);
  EXPECT_EQ(set.queries.size(), 10u);
  EXPECT_EQ(set.labels.size(), 50u);
  const SentenceSet with_database = load_sentences({"sentiment", file}, {.database_share = 0.5});
  EXPECT_EQ(with_database.database.size(), 25u);
  EXPECT_EQ(with_database.probe.size(), 20u);
  EXPECT_EQ(with_database.queries.size(), 5u);
}

TEST(LoadSentences, TooLittleIsNamed) {
  const TempDir dir;
  const std::string file = dir.write("a.tsv", pair_lines(2)).string();
  expect_error([&] { (void)load_sentences({"sentence_pairs", file}, {.items = 1}); }, {"1 pairs"});
  expect_error(
      [&] {
        (void)load_sentences({"sentence_pair", file}, {});
      },
      {"did you mean \"sentence_pairs\""});
  expect_error([&] { (void)load_sentences({"sentiment", file}, {}); }, {"a.tsv:1", "label"});
  std::string labelled;
  for (int i = 0; i < 20; ++i) labelled += fmt::format("text {}\t{}\n", i, i < 10 ? 1 : 0);
  const Workload sentiment{"sentiment", dir.write("labels.txt", labelled).string()};
  expect_error([&] { (void)load_sentences(sentiment, {.items = 10}); },
               {"labels.txt", "8 texts", "all have label 1", "items 10"});
  EXPECT_EQ(load_sentences(sentiment, {.items = 10, .has_head = true}).queries.size(), 10u);
}

std::string question(char answer) { return std::string("Q?,a,b,c,d,") + answer + "\n"; }

TEST(LoadSentences, QuestionsOfAGroupAreAskedByTheirLetters) {
  const TempDir dir;
  dir.write("anatomy_dev.csv", question('B'));
  dir.write("anatomy_test.csv", "One?,a,b,c,d,C\nTwo?,a,b,c,d,A\n");
  dir.write("astronomy_test.csv", "Three?,a,b,c,d,D\n");
  const Workload mmlu{"mmlu", dir.path().string()};
  const SentenceSet set = load_sentences(mmlu, {.group = "health", .mmlu = {.shots = 1}});
  EXPECT_EQ(set.texts.size(), 2u);
  EXPECT_EQ(set.answers, (std::vector<size_t>{2, 0}));
  EXPECT_EQ(set.choices, (std::vector<std::string>{" A", " B", " C", " D"}));
  EXPECT_TRUE(set.texts[0].ends_with("One?\nA. a\nB. b\nC. c\nD. d\nAnswer:"));
  EXPECT_NE(set.texts[0].find("Answer: B\n\n"), std::string::npos);
  EXPECT_EQ(load_sentences(mmlu, {.mmlu = {.shots = 0}}).answers, (std::vector<size_t>{2, 0, 3}));
  const SentenceSet relay =
      load_sentences(mmlu, {.mmlu = {.shots = 0, .question_template = "vllm_ra"}});
  EXPECT_EQ(relay.choices.front(), "\nA");
  EXPECT_TRUE(relay.texts[0].ends_with("D. d\nAnswer: \n"));  // a letter's token follows
}

// AttnCache's program compares the letters' own tokens behind the same prompts.
TEST(LoadSentences, BareLettersFollowTheSameTexts) {
  const TempDir dir;
  dir.write("anatomy_test.csv", "One?,a,b,c,d,C\n");
  const Workload mmlu{"mmlu", dir.path().string()};
  const SentenceSet spaced = load_sentences(mmlu, {.mmlu = {.shots = 0}});
  const SentenceSet bare = load_sentences(mmlu, {.mmlu = {.shots = 0}, .has_bare_letters = true});
  EXPECT_EQ(bare.choices, (std::vector<std::string>{"A", "B", "C", "D"}));
  EXPECT_EQ(bare.texts, spaced.texts);
}

// At scale paper, the first pair is the one in the caption of AttnCache's figure 1.
TEST(LoadSentences, TheCaptionsPairComesFirstOfAttnCachesTexts) {
  const SentenceSet set = load_sentences(
      {"sentence_pairs", REPRISE_SOURCE_DIR "/experiments/attn_cache"}, {.items = 100});
  EXPECT_EQ(set.texts[0], "you should never do it.");
  EXPECT_EQ(set.texts[1], "how do you do that?");
  EXPECT_GT(set.scores.size(), 20u);
}

TEST(LoadSentences, QuestionsOfAnotherSplitAreStored) {
  const TempDir dir;
  dir.write("anatomy_val.csv", "One?,a,b,c,d,C\nTwo?,a,b,c,d,A\nStored 1?,a,b,c,d,A\n");
  std::string stored;
  for (int i = 0; i < 10; ++i) stored += "Stored " + std::to_string(i) + "?,a,b,c,d,B\n";
  dir.write("anatomy_test.csv", stored);
  const SentenceSet set =
      load_sentences({"mmlu", dir.path().string()}, {.items = 8,
                                                     .mmlu = {.shots = 0, .split = "val"},
                                                     .database_split = "test",
                                                     .database_share = 0.5,
                                                     .training_share = 0.4});
  EXPECT_EQ(set.answers, (std::vector<size_t>{2, 0, 0}));  // all of the split that is asked
  // One of the first eight questions of the other split is asked, so seven are left.
  EXPECT_EQ(set.database.size() + set.training.size() + 1, 7u);
  // The database holds the first questions that are not asked, in the order of the file. The next
  // ones are learned from.
  const auto numbers = [](const std::vector<std::string>& texts) {
    std::vector<std::string> found;
    for (const std::string& text : texts) found.push_back(text.substr(text.find("Stored ") + 7, 1));
    return found;
  };
  EXPECT_EQ(numbers(set.database), (std::vector<std::string>{"0", "2", "3", "4"}));
  EXPECT_EQ(numbers(set.training), (std::vector<std::string>{"5", "6"}));
}

TEST(ScoreSentences, TheLikeliestChoiceCountsAndOfEqualOnesTheFirst) {
  SentenceSet set;
  set.texts = {"a", "b", "c"};
  set.choices = {" A", " B"};
  set.answers = {1, 0, 1};
  const std::vector<float> logits = {0, 1, 2, 2, 5, 3};
  EXPECT_NEAR(score_sentences(set, logits, 2, 1).value, 2.0 / 3, 1e-15);
}

// In two dimensions, the angle between a pair's vectors shrinks as the pair's score grows.
TEST(ScoreSentences, AnglesThatFollowTheScoresCorrelateFully) {
  SentenceSet set;
  std::vector<float> vectors;
  for (int i = 0; i < 30; ++i) {
    set.texts.insert(set.texts.end(), {"a", "b"});
    set.scores.push_back(i % 10);
    const auto angle = static_cast<float>(3.0 - 0.3 * (i % 10));
    vectors.insert(vectors.end(), {2.0f, 0.0f, 5 * std::cos(angle), 5 * std::sin(angle)});
  }
  const SentenceScore score = score_sentences(set, vectors, 2, 1);
  EXPECT_DOUBLE_EQ(score.value, 1.0);
  EXPECT_DOUBLE_EQ(score.interval.high, 1.0);
  std::reverse(set.scores.begin(), set.scores.begin() + 10);
  EXPECT_LT(score_sentences(set, vectors, 2, 1).value, 0.9);
}

TEST(ScoreSentences, NumbersThatAreNotFiniteAreAnError) {
  SentenceSet pairs, questions, labelled, with_head;
  for (SentenceSet* set : {&pairs, &questions, &labelled, &with_head})
    set->texts = {"a", "b", "c", "d"};
  pairs.scores = {1, 5};
  questions.choices = {" A", " B"};
  questions.answers = {0, 0, 0, 0};
  labelled.labels = with_head.labels = {0, 1, 0, 1};
  labelled.probe = {0, 1};
  labelled.queries = {2, 3};
  with_head.queries = {0, 1, 2, 3};
  with_head.has_head = true;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {nan, std::numeric_limits<float>::infinity()}) {
    const std::vector<float> numbers = {1, 2, 3, 4, 5, bad, 7, 8};
    const auto expect_named = [&](const SentenceSet& set, const char* what) {
      expect_error([&] { (void)score_sentences(set, numbers, 2, 1); }, {"text 3", what});
    };
    expect_named(pairs, "vector is not finite");
    expect_named(questions, "logits are not finite");
    expect_named(labelled, "vector is not finite");
    expect_named(with_head, "logits are not finite");
  }
}

TEST(ScoreSentences, AProbeIsAskedWhatItHasNotSeen) {
  SentenceSet set;
  std::vector<float> vectors;
  for (size_t i = 0; i < 40; ++i) {
    set.texts.emplace_back("a");
    set.labels.push_back(i % 2);
    (i < 30 ? set.probe : set.queries).push_back(i);
    // For queries the vectors are mirrored, so that all of them are answered wrong.
    const float side = (i % 2 == 0) == (i < 30) ? 1.0f : -1.0f;
    vectors.insert(vectors.end(), {side, 0.01f * static_cast<float>(i % 7)});
  }
  const SentenceScore score = score_sentences(set, vectors, 2, 1);
  EXPECT_EQ(score.value, 0.0);
  EXPECT_EQ(score.interval.low, 0.0);
  EXPECT_GT(score.interval.high, 0.1);  // 0 of 10 does not prove a rate of 0
}

}  // namespace
}  // namespace reprise::experiments
