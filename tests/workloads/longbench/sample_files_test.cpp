// Tests files of all forms, which are told apart by their content, and folders of the official
// files.
#include "workloads/longbench/sample_files.h"

#include <gtest/gtest.h>

#include "tests/core/model/checkpoint/model_files.h"

namespace reprise::workloads::longbench {
namespace {

using model::expect_error;
using model::TempDir;

constexpr const char* kOfficial =
    R"({"input": "Who?", "context": "A", "answers": ["a"], "length": 1, "dataset": "qasper",)"
    R"( "language": "en", "all_classes": null, "_id": "7f"})";

TEST(LoadAny, TellsTheFormByTheFirstEntry) {
  const TempDir dir;
  const auto dataset_in = [&](const std::string& text) {
    return load_any(dir.write("any", text)).at(0).dataset;
  };
  EXPECT_EQ(dataset_in(kOfficial), "qasper");
  EXPECT_EQ(dataset_in(R"([{"_id": "q", "question": "Who?", "answer": "B", "level": "hard",
      "type": "bridge", "supporting_facts": [["One", 0]], "context": [["One", ["First."]]]}])"),
            "hotpotqa");
  EXPECT_EQ(dataset_in(R"( [{"id": "2hop__1", "question": "Who?", "answer": "B",
      "answer_aliases": [], "answerable": true, "question_decomposition": [],
      "paragraphs": [{"idx": 0, "title": "One", "paragraph_text": "First."}]}])"),
            "musique");
  EXPECT_EQ(dataset_in(R"({"topic_list": [], "specific_query_list": [],)"
                       R"( "general_query_list": [{"query": "All?", "answer": "X."}],)"
                       R"( "meeting_transcripts": [{"speaker": "A", "content": "Hi."}]})"),
            "qmsum");
}

TEST(LoadAny, LeavesWhatIsWrongToTheLoaders) {
  const TempDir dir;
  expect_error([&] { (void)load_any(dir.write("a.jsonl", "{\n")); }, {"a.jsonl:1", "not valid"});
  expect_error([&] { (void)load_any(dir.write("b.json", "[]")); }, {"b.json", "nothing"});
  expect_error([&] { (void)load_any(dir.write("c.json", "[")); }, {"c.json"});
  expect_error([&] { (void)load_any(dir.write("d.jsonl", "")); }, {"d.jsonl", "empty"});
  expect_error([&] { (void)load_any(dir.path() / "absent"); }, {"absent"});
}

TEST(DatasetFiles, AreNamedAfterTheirDatasets) {
  const TempDir dir;
  expect_error([&] { (void)dataset_files(dir.path()); }, {dir.path().string(), "trec.jsonl"});
  for (const char* name : {"trec.jsonl", "trec_e.jsonl", "qasper_e.jsonl", "other.jsonl"})
    dir.write(name, kOfficial);
  const auto files = dataset_files(dir.path());
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files.at("trec").filename(), "trec.jsonl");
  EXPECT_EQ(files.at("qasper").filename(), "qasper_e.jsonl");
}

}  // namespace
}  // namespace reprise::workloads::longbench
