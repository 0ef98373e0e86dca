// Tests LongBench's samples as items, with a made-up configuration and with the real one.
#include "workloads/questions/longbench.h"

#include <gtest/gtest.h>

#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/data.h"
#include "tests/support/json.h"

namespace reprise::workloads::questions {
namespace {

using model::expect_error;
using model::TempDir;
using Texts = std::vector<std::string>;

Json sample(const std::string& dataset, const std::string& context) {
  return {{"input", "Who?"},
          {"context", context},
          {"answers", {"Paragraph 2"}},
          {"length", 2},
          {"dataset", dataset},
          {"language", "en"},
          {"all_classes", nullptr},
          {"_id", dataset + "-1"}};
}

const std::string kPassages = "Passage 1:\nA\x0c<b>\nPassage 2:\nB\n";

void write_official(const TempDir& dir) {
  dir.write("dataset2prompt.json",
            R"({"musique": "Read.\n{context}\nQ: {input}\nA:", "samsum": "{context}{input}"})");
  dir.write("dataset2maxlen.json", R"({"musique": 40, "samsum": 128})");
}

void write_authors(const TempDir& dir) {
  dir.write("dataset_prompt.json", R"({"musique": {"context": "Read.\n{context}\nDone.",
      "question": "Q: {input}\n", "answer": "A:"},
      "samsum": {"context": "{context}", "question": ""}})");
  dir.write("dataset_maxlen.json", R"({"musique": 40, "samsum": 128})");
}

TEST(LoadLongBench, CutsAContextIntoItsDocuments) {
  const TempDir dir;
  write_official(dir);
  const auto file = dir.write("any.jsonl", sample("musique", kPassages).dump());
  const auto items = load_longbench(file);
  ASSERT_EQ(items.size(), 1u);
  const Item& item = items[0];
  EXPECT_EQ(item.id, "musique-1");
  EXPECT_EQ(item.task, "musique");
  EXPECT_EQ(item.preamble, "Read.\n");
  EXPECT_EQ(item.documents, (Texts{"Passage 1:\nA <b>\n", "Passage 2:\nB\n"}));
  EXPECT_EQ(item.question, "\nQ: Who?\nA:");
  EXPECT_EQ(item.answers, Texts{"Paragraph 2"});
  EXPECT_EQ(item.judgement, Judgement::kLongBench);
  EXPECT_EQ(item.most_answer_tokens, 40);
  EXPECT_FALSE(item.stops_at_line_break);
  EXPECT_TRUE(item.takes_chat_template);
  const auto whole = load_longbench(file, {.cuts_documents = false});
  EXPECT_EQ(whole[0].documents, Texts{"Passage 1:\nA <b>\nPassage 2:\nB\n"});
  EXPECT_EQ(whole[0].text(), item.text());
}

TEST(LoadLongBench, TakesTheTemplatesThatAreNamed) {
  const TempDir dir, official, authors;
  write_official(official);
  write_authors(authors);
  const auto file = dir.write("any.jsonl", sample("musique", kPassages).dump());
  EXPECT_EQ(load_longbench(file, {.templates = official.path()})[0].question, "\nQ: Who?\nA:");
  const Item item = load_longbench(file, {.templates = authors.path()})[0];
  EXPECT_EQ(item.documents, (Texts{"Passage 1:\nA (b)\n", "Passage 2:\nB\n\nDone."}));
  EXPECT_EQ(item.question, "Q: Who?\n");
  EXPECT_EQ(item.cue, "A:");
  EXPECT_TRUE(item.text().ends_with("Done.Q: Who?\nA:")) << item.text();
  expect_error([&] { (void)load_longbench(file); }, {"dataset2prompt.json", "workload.templates"});
}

TEST(LoadLongBench, ReadsAFolderOrOneDatasetOfIt) {
  const TempDir dir;
  write_official(dir);
  dir.write("musique.jsonl", sample("musique", kPassages).dump());
  dir.write("samsum.jsonl", sample("samsum", "Dialogue: hi").dump());
  EXPECT_EQ(load_longbench(dir.path()).size(), 2u);
  const auto items = load_longbench(dir.path(), {.dataset = "samsum"});
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].task, "samsum");
  EXPECT_TRUE(items[0].stops_at_line_break);
  EXPECT_FALSE(items[0].takes_chat_template);
  expect_error([&] { (void)load_longbench(dir.path(), {.dataset = "qasper"}); },
               {"qasper.jsonl", "musique, samsum"});
}

TEST(LoadLongBench, NamesTheSampleThatCannotBeAsked) {
  const TempDir dir, authors;
  write_official(dir);
  write_authors(authors);
  const auto unlabelled = dir.write("a.jsonl", sample("musique", "no headings").dump());
  expect_error([&] { (void)load_longbench(unlabelled); }, {"musique musique-1", "Passage 1"});
  EXPECT_NO_THROW((void)load_longbench(unlabelled, {.cuts_documents = false}));
  const auto unasked = dir.write("b.jsonl", sample("samsum", "Dialogue: hi").dump());
  expect_error([&] { (void)load_longbench(unasked, {.templates = authors.path()}); },
               {"samsum samsum-1", "nothing is asked"});
  expect_error([&] { (void)load_longbench(dir.path() / "absent"); },
               {"absent", "do not come with this program", "--set workload.file="});
  const auto other = dir.write("c.jsonl", sample("trec", "Question: hi").dump());
  expect_error([&] { (void)load_longbench(other); }, {"dataset2prompt.json", "\"trec\""});
}

TEST(LoadLongBench, ReadsSetsInTheirOwnFormats) {
  REPRISE_NEEDS_DATA();
  const auto folder = testing::data_dir() / "datasets" / "longcontext";
  for (const auto& [name, dataset, size] : {std::tuple{"qmsum_test.jsonl", "qmsum", 281},
                                            {"hotpotqa_100.json", "hotpotqa", 100},
                                            {"musique_100.json", "musique", 100}}) {
    const auto items = load_longbench(folder / name, {.templates = folder / "longbench_config"});
    ASSERT_EQ(std::ssize(items), size) << name;
    EXPECT_EQ(items[0].task, dataset);
    EXPECT_FALSE(items[0].preamble.empty());
    const auto whole = load_longbench(
        folder / name, {.templates = folder / "longbench_config", .cuts_documents = false});
    EXPECT_EQ(whole[0].documents.size(), 1u);
    EXPECT_EQ(whole[0].text(), items[0].text());
  }
}

}  // namespace
}  // namespace reprise::workloads::questions
