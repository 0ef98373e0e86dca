// Tests templates of a made-up configuration, which samples fill.
#include "workloads/longbench/prompts.h"

#include <gtest/gtest.h>

#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/json.h"
#include "workloads/longbench/datasets.h"

namespace reprise::workloads::longbench {
namespace {

using model::expect_error;
using model::TempDir;

Json lengths() {
  Json json;
  for (const Dataset& dataset : datasets()) json[std::string(dataset.name)] = 40;
  return json;
}

Json official() {
  Json json;
  for (const Dataset& dataset : datasets())
    json[std::string(dataset.name)] = "Read {{this}}.\n{context}\nQ: {input}\nA:";
  return json;
}

Json authors() {
  Json json;
  for (const Dataset& dataset : datasets())
    json[std::string(dataset.name)] = {
        {"context", "Read.\n{context}\nDone."}, {"question", "Q: {input}\n"}, {"answer", "A:"}};
  return json;
}

PromptTemplates load_official(const TempDir& dir, const Json& prompts, const Json& most) {
  dir.write("dataset2prompt.json", prompts.dump());
  dir.write("dataset2maxlen.json", most.dump());
  return load_official_templates(dir.path());
}

PromptTemplates load_authors(const TempDir& dir, const Json& prompts) {
  dir.write("config__dataset_prompt.json", prompts.dump());
  dir.write("config__dataset_maxlen.json", lengths().dump());
  return load_authors_templates(dir.path());
}

Sample sample() {
  Sample made;
  made.input = "<why>";
  made.documents = {"one <b>\n", "two {input}"};
  return made;
}

TEST(OfficialTemplates, FillAroundTheDocuments) {
  const TempDir dir;
  const auto templates = load_official(dir, official(), lengths());
  EXPECT_EQ(templates.size(), 21u);
  const PromptTemplate& prompt = templates.at("trec");
  EXPECT_EQ(prompt.most_answer_tokens, 40);
  const PromptParts parts = fill(prompt, sample());
  EXPECT_EQ(parts.before, "Read {this}.\n");
  EXPECT_EQ(parts.documents, sample().documents);
  EXPECT_EQ(parts.behind, "");
  EXPECT_EQ(parts.question, "\nQ: <why>\nA:");
  EXPECT_EQ(parts.cue, "");
  // Field names within the sample's own text are not replaced.
  EXPECT_EQ(parts.text(), "Read {this}.\none <b>\ntwo {input}\nQ: <why>\nA:");
}

TEST(AuthorsTemplates, KeepTheQuestionOutOfWhatIsCached) {
  const TempDir dir;
  Json prompts = authors();
  prompts["squad_v2"] = {{"context", "none"}};  // not of LongBench
  prompts["lsht"].erase("answer");
  const auto templates = load_authors(dir, prompts);
  EXPECT_EQ(templates.size(), 21u);
  const PromptParts parts = fill(templates.at("hotpotqa"), sample());
  EXPECT_EQ(parts.before, "Read.\n");
  EXPECT_EQ(parts.documents, (std::vector<std::string>{"one (b)\n", "two {input}"}));
  EXPECT_EQ(parts.behind, "\nDone.");
  EXPECT_EQ(parts.question, "Q: (why)\n");
  EXPECT_EQ(parts.cue, "A:");
  EXPECT_EQ(parts.text(), "Read.\none (b)\ntwo {input}\nDone.Q: (why)\n");
  EXPECT_EQ(fill(templates.at("lsht"), sample()).cue, "");
}

TEST(AuthorsTemplates, CutTheQuestionAfterAThousandCharacters) {
  const TempDir dir;
  const auto templates = load_authors(dir, authors());
  Sample long_one = sample();
  long_one.input.clear();
  std::string thousand;
  for (int i = 0; i < 1001; ++i) {
    if (i == 1000) thousand = long_one.input;
    long_one.input += "\u6bb5";
  }
  EXPECT_EQ(fill(templates.at("lsht"), long_one).question, "Q: " + thousand + "\n");
}

TEST(Templates, NameFileAndKeyOfWhatIsWrong) {
  const TempDir dir;
  const auto refused = [&](const Json& prompts, const Json& most,
                           std::initializer_list<std::string> parts) {
    expect_error([&] { (void)load_official(dir, prompts, most); }, parts);
  };
  Json prompts = official();
  prompts.erase("trec");
  refused(prompts, lengths(), {"dataset2prompt.json", "\"trec\"", "missing"});
  prompts = official();
  prompts["hotpotqua"] = "{context}";
  refused(prompts, lengths(), {"dataset2prompt.json", "did you mean \"hotpotqa\"?"});
  for (const char* text : {"{contxt}", "{context} {", "{context} }", "{}", "{context!r}"}) {
    prompts = official();
    prompts["trec"] = text;
    refused(prompts, lengths(),
            {"dataset2prompt.json", "\"trec\"", "neither {context} nor {input}"});
  }
  for (const char* text : {"no field", "{context} {context}", "{{context}}"}) {
    prompts = official();
    prompts["trec"] = text;
    refused(prompts, lengths(), {"\"trec\"", "exactly once"});
  }
  Json most = lengths();
  most["trec"] = 0;
  refused(official(), most, {"dataset2maxlen.json", "\"trec\""});
  const TempDir empty;
  expect_error([&] { (void)load_official_templates(empty.path()); }, {"dataset2prompt.json"});
  expect_error([&] { (void)load_authors_templates(empty.path()); }, {"dataset_prompt.json"});
}

TEST(Templates, OfDatasetsThatNobodyAsksForNeedNotBeThere) {
  const TempDir dir;
  const Json prompts = {{"trec", "{context}{input}"}, {"qmsum", "{context}"}};
  const Json most = {{"trec", 7}};
  dir.write("dataset2prompt.json", prompts.dump());
  dir.write("dataset2maxlen.json", most.dump());
  const auto templates = load_official_templates(dir.path(), {"trec"});
  EXPECT_EQ(templates.size(), 1u);
  EXPECT_EQ(templates.at("trec").most_answer_tokens, 7);
  expect_error(
      [&] {
        (void)load_official_templates(dir.path(), {"trec", "qmsum"});
      },
      {"dataset2maxlen.json", "\"qmsum\"", "missing"});
  dir.write("dataset2maxlen.json", R"({"trec": 7, "trek": 8})");
  expect_error([&] { (void)load_official_templates(dir.path(), {"trec"}); },
               {"did you mean \"trec\"?"});
}

TEST(Templates, AreThoseThatTheFolderHolds) {
  const TempDir dir;
  expect_error([&] { (void)load_templates(dir.path()); },
               {"dataset2prompt.json", "dataset_prompt.json", "--set workload.templates="});
  (void)load_official(dir, official(), lengths());
  EXPECT_FALSE(load_templates(dir.path()).at("trec").is_as_coded);
  const TempDir other;
  (void)load_authors(other, authors());
  EXPECT_TRUE(load_templates(other.path()).at("trec").is_as_coded);
  (void)load_authors(dir, authors());
  expect_error([&] { (void)load_templates(dir.path()); },
               {"dataset2prompt.json", "config__dataset_prompt.json", "move one of them"});
}

}  // namespace
}  // namespace reprise::workloads::longbench
