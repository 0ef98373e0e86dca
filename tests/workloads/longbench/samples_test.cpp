// Tests the official files, and question sets in forms of their own.
#include "workloads/longbench/samples.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/core/model/checkpoint/model_files.h"
#include "workloads/longbench/datasets.h"
#include "workloads/longbench/question_sets.h"

namespace reprise::workloads::longbench {
namespace {

using model::expect_error;
using model::TempDir;
using Texts = std::vector<std::string>;

constexpr const char* kLine =
    R"({"input": "Who?", "context": "Passage 1:\nA\nPassage 2:\nB\n", "answers": ["a", "b"],)"
    R"( "length": 6, "dataset": "hotpotqa", "language": "en", "all_classes": null, "_id": "7f"})";

std::string with(const std::string& from, const std::string& to) {
  std::string line = kLine;
  const size_t at = line.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return line.replace(at, from.size(), to);
}

TEST(LoadSamples, ReadsEveryField) {
  const TempDir dir;
  const auto samples = load_samples(dir.write(
      "a.jsonl", std::string(kLine) + "\n" +
                     with("\"all_classes\": null", "\"all_classes\": [\"x\", \"y\"]") + "\r\n"));
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].id, "7f");
  EXPECT_EQ(samples[0].dataset, "hotpotqa");
  EXPECT_EQ(samples[0].language, "en");
  EXPECT_EQ(samples[0].input, "Who?");
  EXPECT_EQ(samples[0].documents, Texts{"Passage 1:\nA\nPassage 2:\nB\n"});
  EXPECT_EQ(samples[0].answers, (Texts{"a", "b"}));
  EXPECT_EQ(samples[0].length, 6);
  EXPECT_TRUE(samples[0].classes.empty());
  EXPECT_EQ(samples[1].classes, (Texts{"x", "y"}));
}

TEST(LoadSamples, NamesFileLineAndKeyOfWhatIsWrong) {
  const TempDir dir;
  const auto refused = [&](const std::string& line, std::initializer_list<std::string> parts) {
    const auto path = dir.write("s.jsonl", std::string(kLine) + "\n" + line + "\n");
    expect_error([&] { (void)load_samples(path); }, {"s.jsonl:2"});
    expect_error([&] { (void)load_samples(path); }, parts);
  };
  refused("{", {"not valid JSON"});
  refused("[]", {"must be a JSON object"});
  refused("", {"empty", "remove"});
  refused(with("\"_id\"", "\"id\""), {"\"_id\"", "missing"});
  refused(with("\"length\": 6", "\"length\": \"6\""), {"\"length\"", "whole number"});
  refused(with("\"length\": 6", "\"length\": -1"), {"\"length\""});
  refused(with("[\"a\", \"b\"]", "\"a\""), {"\"answers\"", "list"});
  refused(with("[\"a\", \"b\"]", "[]"), {"\"answers\"", "empty"});
  refused(with("[\"a\", \"b\"]", "[1]"), {"\"answers\"", "number"});
  refused(with("\"language\"", "\"lang\": 1, \"language\""), {"\"lang\"", "did you mean"});
  refused(with("\"hotpotqa\"", "\"hotpotpa\""), {"did you mean \"hotpotqa\"?"});
  refused(with("\"Passage 1:\\nA\\nPassage 2:\\nB\\n\"", "\"\""), {"\"context\"", "empty"});
  refused(with("null", "\"x\""), {"\"all_classes\"", "list"});
  expect_error([&] { (void)load_samples(dir.write("none.jsonl", "")); }, {"none.jsonl", "empty"});
  expect_error([&] { (void)load_samples(dir.path() / "absent.jsonl"); }, {"absent.jsonl"});
}

TEST(Recut, CutsTheContextByTheDatasetsRule) {
  const TempDir dir;
  Sample sample = load_samples(dir.write("a.jsonl", kLine)).at(0);
  const std::string context = sample.context();
  sample.supporting = {0};
  recut(sample, find_dataset(sample.dataset).documents);
  EXPECT_EQ(sample.documents, (Texts{"Passage 1:\nA\n", "Passage 2:\nB\n"}));
  EXPECT_TRUE(sample.supporting.empty());
  recut(sample, {});
  EXPECT_EQ(sample.documents, Texts{context});
  expect_error([&] { recut(sample, find_dataset("trec").documents); },
               {"hotpotqa 7f", "\"Question:\""});
}

constexpr const char* kHotpot = R"([{"_id": "q1", "question": "Who?", "answer": "B.",
    "type": "bridge", "level": "easy", "supporting_facts": [["Two", 0], ["Two", 1]],
    "context": [["One", ["First.", " Second."]], ["Two", ["B is."]]]}])";

TEST(LoadHotpotqa, WritesEachParagraphAsAPassage) {
  const TempDir dir;
  const auto samples = load_hotpotqa(dir.write("h.json", kHotpot));
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].id, "q1");
  EXPECT_EQ(samples[0].dataset, "hotpotqa");
  EXPECT_EQ(samples[0].input, "Who?");
  EXPECT_EQ(samples[0].answers, Texts{"B."});
  EXPECT_EQ(samples[0].documents,
            (Texts{"Passage 1:\nOne\nFirst. Second.\n", "Passage 2:\nTwo\nB is.\n"}));
  EXPECT_EQ(samples[0].supporting, std::vector<size_t>{1});
  EXPECT_EQ(samples[0].length, 10);
}

TEST(LoadHotpotqa, NamesTheQuestionOfWhatIsWrong) {
  const TempDir dir;
  const auto refused = [&](const std::string& text, std::initializer_list<std::string> parts) {
    expect_error([&] { (void)load_hotpotqa(dir.write("h.json", text)); }, parts);
  };
  const auto with_part = [](const std::string& from, const std::string& to) {
    std::string text = kHotpot;
    return text.replace(text.find(from), from.size(), to);
  };
  refused("{}", {"h.json", "list"});
  refused("[]", {"h.json", "nothing"});
  refused(with_part("\"answer\": \"B.\",", ""), {"h.json: question 1", "\"answer\"", "missing"});
  refused(with_part("[\"One\", [", "[[\"One\"], ["), {"question 1", "\"context\"", "title"});
  refused(with_part("[\"B is.\"]", "\"B is.\""), {"question 1", "list of sentences"});
  refused(with_part("[\"B is.\"]", "[1]"), {"question 1", "no text"});
  refused(with_part("\"type\"", "\"typ\""), {"question 1", "\"typ\"", "\"type\""});
  refused(with_part("[[\"One\", [\"First.\", \" Second.\"]], [\"Two\", [\"B is.\"]]]", "[]"),
          {"question 1", "\"context\"", "empty"});
}

constexpr const char* kMusique = R"([
    {"id": "2hop__1", "question": "Who?", "answer": "B", "answer_aliases": ["Bee"],
     "answerable": true, "question_decomposition": [],
     "paragraphs": [{"idx": 0, "title": "One", "paragraph_text": "First.", "is_supporting": true},
                    {"idx": 1, "title": "Two", "paragraph_text": "Second.",
                     "is_supporting": false}]},
    {"id": "2hop__2", "question": "Who?", "answer": "", "answer_aliases": [], "answerable": false,
     "question_decomposition": [],
     "paragraphs": [{"idx": 0, "title": "One", "paragraph_text": "First."}]}])";

TEST(LoadMusique, TakesAliasesAndLeavesOutWhatHasNoAnswer) {
  const TempDir dir;
  const auto samples = load_musique(dir.write("m.json", kMusique));
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].id, "2hop__1");
  EXPECT_EQ(samples[0].dataset, "musique");
  EXPECT_EQ(samples[0].answers, (Texts{"B", "Bee"}));
  EXPECT_EQ(samples[0].documents,
            (Texts{"Passage 1:\nOne\nFirst.\n", "Passage 2:\nTwo\nSecond.\n"}));
  EXPECT_EQ(samples[0].supporting, std::vector<size_t>{0});
}

TEST(LoadQmsum, GivesEachQueryTheWholeTranscript) {
  const TempDir dir;
  const std::string meeting =
      R"({"topic_list": [], "general_query_list": [{"query": "All?", "answer": "X."}],)"
      R"( "specific_query_list": [{"query": "This?", "answer": "Y.", "relevant_text_span": []}],)"
      R"( "meeting_transcripts": [{"speaker": "A", "content": "Hi."},)"
      R"( {"speaker": "B", "content": "Yes."}]})";
  const auto samples = load_qmsum(dir.write("q.jsonl", meeting + "\n" + meeting));
  ASSERT_EQ(samples.size(), 4u);
  EXPECT_EQ(samples[1].id, "meeting1-query2");
  EXPECT_EQ(samples[2].id, "meeting2-query1");
  EXPECT_EQ(samples[1].input, "This?");
  EXPECT_EQ(samples[1].answers, Texts{"Y."});
  EXPECT_EQ(samples[1].documents, Texts{"A: Hi.\nB: Yes.\n"});
  EXPECT_EQ(samples[0].documents, samples[3].documents);
}

TEST(FindDataset, KnowsAll21AndTheirNamesInLongBenchE) {
  EXPECT_EQ(datasets().size(), 21u);
  for (const Dataset& dataset : datasets()) EXPECT_EQ(&find_dataset(dataset.name), &dataset);
  EXPECT_EQ(find_dataset("2wikimqa_e").name, "2wikimqa");
  expect_error([] { (void)find_dataset("narativeqa"); }, {"did you mean \"narrativeqa\"?"});
}

TEST(Datasets, AreScoredAsTheOfficialProgramScoresThem) {
  std::map<std::string_view, int> count;
  int first_line = 0, without_template = 0;
  for (const Dataset& dataset : datasets()) {
    ++count[metric_name(dataset.metric)];
    first_line += dataset.is_first_line_scored;
    without_template += !dataset.takes_chat_template;
    EXPECT_EQ(dataset.stops_at_line_break, dataset.name == "samsum");
  }
  EXPECT_EQ(count, (std::map<std::string_view, int>{{"qa_f1_score", 7},
                                                    {"qa_f1_zh_score", 1},
                                                    {"rouge_score", 4},
                                                    {"rouge_zh_score", 2},
                                                    {"classification_score", 2},
                                                    {"retrieval_score", 1},
                                                    {"retrieval_zh_score", 1},
                                                    {"count_score", 1},
                                                    {"code_sim_score", 2}}));
  EXPECT_EQ(first_line, 4);
  EXPECT_EQ(without_template, 6);
  for (const char* name : {"trec", "triviaqa", "samsum", "lsht"})
    EXPECT_TRUE(find_dataset(name).is_first_line_scored) << name;
}

}  // namespace
}  // namespace reprise::workloads::longbench
