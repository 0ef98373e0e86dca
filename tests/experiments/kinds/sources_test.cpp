// Tests that fingerprints change with the content that they stand for, and with nothing else.
#include "experiments/kinds/sources.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "experiments/kinds/registry.h"
#include "results/identity.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/experiments/kinds/shared/tiny_model.h"
#include "tests/support/environment.h"
#include "tests/support/json.h"

namespace reprise::experiments {
namespace {

namespace fs = std::filesystem;

class SourcesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write_tiny_model(dir_);
    write_weights("{}", 8);
    std::ofstream(dir_ / "text.txt") << "some text";
  }
  void TearDown() override { fs::remove_all(dir_); }

  void write_weights(const std::string& header, size_t data, char value = 'x') const {
    std::ofstream file(dir_ / "model.safetensors", std::ios::binary);
    const uint64_t bytes = header.size();
    file.write(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
    file << header << std::string(data, value);
  }
  [[nodiscard]] static Json sources_of_file(const Json& file) {
    return json_of(sources_of(parse_experiment(file, "t.json", "desk", {}, known_vocabulary())));
  }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((dir_ / name).parent_path());
    std::ofstream(dir_ / name) << text;
  }
  // An experiment of `kind` with random weights whose workload `name` has the file `place`.
  [[nodiscard]] Json file_of(const std::string& kind, const std::string& series,
                             const std::string& name, const std::string& place) const {
    return {{"name", "t"},
            {"title", "t"},
            {"kind", kind},
            {"series", {series}},
            {"models", {{{"model", dir_.string()}, {"weights", "random"}}}},
            {"workload", {{"name", name}, {"file", (dir_ / place).string()}}}};
  }
  // The text of the differences between the sources of the file now and those before.
  [[nodiscard]] static std::string difference(const Json& now, const Json& before) {
    return results::difference_text(fields_of(now), fields_of(before));
  }
  [[nodiscard]] Json sources(const std::string& weights) const {
    const Json file = {
        {"name", "t"},
        {"title", "t"},
        {"kind", "ttft"},
        {"methods", {"contiguous"}},
        {"models", {{{"model", dir_.string()}, {"weights", weights}}}},
        {"workload", {{"name", "text_prompts"}, {"file", (dir_ / "text.txt").string()}}}};
    return sources_of_file(file);
  }

  const fs::path dir_ = fs::temp_directory_path() / fmt::format("reprise_sources_{}", ::getpid());
};

TEST_F(SourcesTest, ChangeWithEachFileThatIsRead) {
  const Json before = sources("checkpoint");
  EXPECT_EQ(sources("checkpoint"), before);
  const auto difference = [&] { return SourcesTest::difference(sources("checkpoint"), before); };
  write_weights(R"({"a": 1})", 2);  // as many bytes as before
  EXPECT_NE(difference().find("content"), std::string::npos) << difference();
  write_weights("{}", 9);
  EXPECT_NE(difference().find("bytes 19, was 18"), std::string::npos) << difference();
  write_weights("{}", 8, 'y');
  EXPECT_NE(difference().find("content"), std::string::npos) << "other weights of the same shape";
  write_weights("{}", 8);
  fs::last_write_time(dir_ / "model.safetensors", fs::file_time_type{});
  EXPECT_EQ(difference(), "") << "a copy of other times";
  std::ofstream(dir_ / "text.txt") << "other text";
  EXPECT_NE(difference().find("workload hash"), std::string::npos) << difference();
  std::ofstream(dir_ / "config.json", std::ios::app) << " ";
  EXPECT_NE(difference().find("config.json"), std::string::npos) << difference();
}

TEST_F(SourcesTest, EndTokensAndTheTokenizersConfigAreOfTheModel) {
  for (const std::string name :
       {"generation_config.json", "tokenizer_config.json", "added_tokens.json",
        "special_tokens_map.json", "chat_template.jinja"}) {
    write(name, "{}");
    const Json before = sources("checkpoint");
    write(name, "[]");
    const std::string found = difference(sources("checkpoint"), before);
    EXPECT_NE(found.find(name), std::string::npos) << found;
    fs::remove(dir_ / name);
  }
}

// The file modules.json names the folders of the transformer and of the pooling.
TEST_F(SourcesTest, OfASentenceTransformersFolderAreThoseOfItsSubfoldersToo) {
  write("modules.json", R"([
    {"path": "0_Transformer", "type": "sentence_transformers.models.Transformer"},
    {"path": "pool", "type": "sentence_transformers.models.Pooling"}])");
  write("pool/config.json", R"({"pooling_mode_mean_tokens": true})");
  write("0_Transformer/config.json", "{}");
  write("0_Transformer/vocab.txt", "a");
  write("0_Transformer/sentence_roberta_config.json", R"({"max_seq_length": 8})");
  fs::rename(dir_ / "model.safetensors", dir_ / "0_Transformer" / "model.safetensors");
  const Json before = sources("checkpoint");
  const Json& weights = before["models"][dir_.string()]["weights"];
  EXPECT_EQ(weights.size(), 1u) << before.dump();
  EXPECT_TRUE(weights.contains("0_Transformer/model.safetensors")) << before.dump();
  const auto changed = [&](const std::string& name, const std::string& text) {
    write(name, text);
    const std::string found = difference(sources("checkpoint"), before);
    EXPECT_NE(found.find(name), std::string::npos) << found;
  };
  changed("0_Transformer/sentence_roberta_config.json", R"({"max_seq_length": 9})");
  changed("0_Transformer/vocab.txt", "b");
  changed("pool/config.json", R"({"pooling_mode_max_tokens": true})");
  write_weights("{}", 8, 'y');
  fs::rename(dir_ / "model.safetensors", dir_ / "0_Transformer" / "model.safetensors");
  const std::string found = difference(sources("checkpoint"), before);
  EXPECT_NE(found.find("0_Transformer/model.safetensors content"), std::string::npos) << found;
}

TEST_F(SourcesTest, RandomWeightsBesideACheckpointDoNotHideItsWeights) {
  Json file = file_of("ttft", "", "text_prompts", "text.txt");
  file.erase("series");
  file["methods"] = {"contiguous"};
  file["models"] = {{{"model", dir_.string()}}, {{"model", dir_.string()}, {"weights", "random"}}};
  const Json before = sources_of_file(file);
  write_weights("{}", 8, 'y');
  EXPECT_NE(difference(sources_of_file(file), before).find("content"), std::string::npos);
  std::swap(file["models"][0], file["models"][1]);
  EXPECT_EQ(sources_of_file(file)["models"][dir_.string()].contains("weights"), true);
}

TEST_F(SourcesTest, OfAFolderOfDataAreThoseOfItsFiles) {
  write("data/trec.jsonl", "{}");
  write("data/readme.txt", "not read");
  write("config/dataset2prompt.json", "{}");
  const Json file = {{"name", "t"},
                     {"title", "t"},
                     {"kind", "accuracy"},
                     {"series", {"isolated"}},
                     {"models", {{{"model", dir_.string()}, {"weights", "random"}}}},
                     {"workload",
                      {{"name", "longbench"},
                       {"file", (dir_ / "data").string()},
                       {"templates", (dir_ / "config").string()}}}};
  const auto found = [&] { return sources_of_file(file)["workload"]; };
  const Json before = found();
  EXPECT_EQ(before["files"].size(), 1u) << before.dump();
  write("data/SICK_train.txt", "a table");
  write("data/test/law_test.csv", "a table");
  write("data/other/law_test.csv", "not read");
  const Json more = found();
  EXPECT_EQ(more["files"].size(), 3u) << more.dump();
  EXPECT_TRUE(more["files"].contains("test/law_test.csv"));
  write("data/test/law_test.csv", "a fable");
  EXPECT_NE(found(), more);
  fs::remove(dir_ / "data" / "SICK_train.txt");
  fs::remove_all(dir_ / "data" / "test");
  EXPECT_EQ(found(), before);
  EXPECT_TRUE(before["files"].contains("trec.jsonl"));
  write("data/readme.txt", "still not read");
  EXPECT_EQ(found(), before);
  write("data/trec.jsonl", "[]");  // as many bytes as before
  EXPECT_NE(found()["files"], before["files"]);
  EXPECT_EQ(found()["templates"], before["templates"]);
  write("config/dataset2prompt.json", "[]");
  EXPECT_NE(found()["templates"], before["templates"]);
  // A large file is identified by its size and the time of its last change.
  write("data/trec.jsonl", std::string(9 << 20, ' '));
  EXPECT_EQ(found()["files"]["trec.jsonl"]["bytes"], 9 << 20);
}

TEST_F(SourcesTest, TheTemplatesBesideAFileOfLongBenchAreOneToo) {
  write("data/trec.jsonl", "{}");
  write("data/sick.jsonl", "not read");
  const Json file = file_of("accuracy", "isolated", "longbench", "data/trec.jsonl");
  const auto now = [&] { return sources_of_file(file); };
  for (const std::string name : {"dataset2prompt.json", "config__dataset_maxlen.json"}) {
    write("data/" + name, "{}");
    const Json before = now();
    write("data/sick.jsonl", "changed before " + name);
    EXPECT_EQ(now(), before);
    write("data/" + name, "[]");
    const std::string found = difference(now(), before);
    EXPECT_NE(found.find(name), std::string::npos) << found;
  }
}

TEST_F(SourcesTest, OfAFolderOfSystemPromptsAreItsTexts) {
  write("prompts/a.txt", "Be brief.");
  write("prompts/b.md", "Be kind.");
  write("prompts/c.json", "not read");
  const Json file = file_of("request_lengths", "own", "system_prompts", "prompts");
  const auto now = [&] { return sources_of_file(file); };
  const Json before = now();
  EXPECT_EQ(before["workload"]["files"].size(), 2u) << before.dump();
  write("prompts/b.md", "Be rude.");
  EXPECT_NE(difference(now(), before).find("b.md"), std::string::npos);
}

TEST_F(SourcesTest, FilesThatMmluReadsBesideItsOwnAreToo) {
  write("mmlu/test/law_test.csv", "a table");
  write("mmlu/dev/law_dev.csv", "examples");
  write("mmlu/dev/art_dev.csv", "not read with the file of law");
  const auto of = [&](const std::string& name, const std::string& place) {
    return sources_of_file(file_of("request_lengths", "own", name, place));
  };
  const Json file = of("mmlu", "mmlu/test/law_test.csv"), folder = of("mmlu", "mmlu/test/");
  write("mmlu/dev/art_dev.csv", "other");
  EXPECT_EQ(of("mmlu", "mmlu/test/law_test.csv"), file);
  write("mmlu/dev/law_dev.csv", "other");
  EXPECT_NE(difference(of("mmlu", "mmlu/test/law_test.csv"), file).find("examples_hash"),
            std::string::npos);
  EXPECT_NE(difference(of("mmlu", "mmlu/test/"), folder).find("law_dev.csv"), std::string::npos);
  const Json before = of("mmlu", "mmlu/test/");
  write("mmlu/results.csv", "not read with a folder of questions");
  EXPECT_EQ(of("mmlu", "mmlu/test/"), before);

  write("lists/mmlu_prompt_stat.json", "[2]");
  write("lists/mmlu_5shotprefix_stat.json", "[3]");
  write("lists/trace.jsonl", "not read");
  const Json lists = of("mmlu_lengths", "lists/mmlu_prompt_stat.json");
  EXPECT_EQ(lists["workload"]["files"].size(), 2u) << lists.dump();
  write("lists/mmlu_5shotprefix_stat.json", "[4]");
  EXPECT_NE(of("mmlu_lengths", "lists/mmlu_prompt_stat.json"), lists);
}

TEST_F(SourcesTest, TheScoresBesideSentencesAreOneToo) {
  const Json file = {
      {"name", "t"},
      {"title", "t"},
      {"kind", "sentences"},
      {"methods", {"compute"}},
      {"models", {{{"model", dir_.string()}, {"weights", "random"}}}},
      {"workload", {{"name", "sentence_pairs"}, {"file", (dir_ / "STS.input.a.txt").string()}}}};
  const auto now = [&] { return sources_of_file(file); };
  std::ofstream(dir_ / "STS.input.a.txt") << "a\tb\n";
  std::ofstream(dir_ / "STS.gs.a.txt") << "1\n";
  const Json before = now();
  std::ofstream(dir_ / "STS.gs.a.txt") << "2\n";
  EXPECT_NE(difference(now(), before).find("scores_hash"), std::string::npos);
}

TEST_F(SourcesTest, TheLengthsBesideAClientsRatesAreOneToo) {
  write("client-trace.csv", "0,30,1.2,Gamma,0.7,0.5\n");
  write("client-dataset.json", "{}");
  const Json file = file_of("request_lengths", "own", "servegen", "client-trace.csv");
  const Json before = sources_of_file(file);
  write("client-dataset.json", "[]");
  EXPECT_NE(difference(sources_of_file(file), before).find("lengths_hash"), std::string::npos);
}

TEST_F(SourcesTest, TheFileThatAMethodsOptionNamesIsOneToo) {
  const std::string projector = (dir_ / "projector.safetensors").string();
  const Json file = {
      {"name", "t"},
      {"title", "t"},
      {"kind", "sentences"},
      {"methods", {{{"name", "attn_cache"}, {"options", {{"projector_file", projector}}}}}},
      {"models", {{{"model", dir_.string()}, {"weights", "random"}}}},
      {"workload", {{"name", "sentence_pairs"}, {"file", (dir_ / "pairs.tsv").string()}}}};
  EXPECT_FALSE(sources_of_file(file).contains("method_files")) << "it is absent";
  write("projector.safetensors", "trained");
  const Json before = sources_of_file(file);
  write("projector.safetensors", "learned");
  const std::string found = difference(sources_of_file(file), before);
  EXPECT_NE(found.find("method_files " + projector), std::string::npos) << found;
}

TEST_F(SourcesTest, RandomWeightsDoNotDependOnFilesThatAreNotRead) {
  const Json before = sources("random");
  write_weights(R"({"a": 1})", 100);
  EXPECT_EQ(sources("random"), before);
}

TEST_F(SourcesTest, ThePromptBesideASchemaIsOneToo) {
  const Json file = file_of("pml", "baseline", "pml", "a.schema.xml");
  const auto now = [&] { return sources_of_file(file); };
  std::ofstream(dir_ / "a.schema.xml") << "<schema/>";
  EXPECT_FALSE(now()["workload"].contains("prompt_hash"));
  std::ofstream(dir_ / "a.prompt.xml") << "<prompt/>";
  const Json before = now();
  EXPECT_EQ(before, now());
  std::ofstream(dir_ / "a.prompt.xml") << "<prompt>other</prompt>";
  EXPECT_NE(difference(now(), before).find("prompt_hash"), std::string::npos);
}

TEST_F(SourcesTest, TheTextsThatASchemaNamesAreToo) {
  write("a.schema.xml",
        R"(<schema name="a"><module name="m" src="texts/a&amp;b.txt"/>1 < 2</schema>)");
  write("texts/a&b.txt", "some text");
  write("texts/other.txt", "not named");
  const Json file = file_of("pml", "baseline", "pml", "a.schema.xml");
  const auto now = [&] { return sources_of_file(file); };
  const Json before = now();
  write("texts/other.txt", "changed");
  EXPECT_EQ(now(), before);
  write("texts/a&b.txt", "same text");
  EXPECT_NE(difference(now(), before).find("texts/a&b.txt"), std::string::npos)
      << difference(now(), before);
  // A file outside of the schema's folder is not read.
  write("below/a.schema.xml", R"(<schema name="a"><module name="m" src="../text.txt"/></schema>)");
  const Json outside =
      sources_of_file(file_of("pml", "baseline", "pml", "below/a.schema.xml"))["workload"];
  EXPECT_FALSE(outside.contains("texts")) << outside.dump();
}

TEST_F(SourcesTest, OfAFolderOfUseCasesAreTheChosenSchemasAndPrompts) {
  write("cases/code.schema.xml", R"(<schema name="a"><module name="m" src="a.txt"/></schema>)");
  write("cases/code.prompt.xml", "<prompt/>");
  write("cases/a.txt", "some text");
  write("cases/travel.schema.xml", "not chosen");
  Json file = file_of("pml", "baseline", "use_cases", "cases");
  file["settings"] = {{"use_case", "code"}};
  const auto now = [&] { return sources_of_file(file); };
  const Json before = now();
  write("cases/travel.schema.xml", "changed");
  EXPECT_EQ(now(), before);
  for (const std::string name : {"a.txt", "code.prompt.xml", "code.schema.xml"}) {
    std::ofstream(dir_ / "cases" / name, std::ios::app) << " ";
    EXPECT_NE(now(), before) << name;
  }
}

TEST_F(SourcesTest, ShippedShapesAndDamagedFilesHaveFingerprintsToo) {
  const Json file = {{"name", "t"},
                     {"title", "t"},
                     {"kind", "ttft"},
                     {"methods", {"contiguous"}},
                     {"models", {{{"model", "tinyllama-1.1b"}, {"weights", "random"}}}}};
  const Json shape = sources_of_file(file);
  EXPECT_TRUE(shape["models"]["tinyllama-1.1b"].contains("config.json")) << shape.dump();
  std::ofstream(dir_ / "model.safetensors", std::ios::binary) << "\xff\xff\xff\xff\xff\xff\xff\x7f";
  const Json damaged = sources("checkpoint");
  std::ofstream(dir_ / "model.safetensors", std::ios::binary) << "short";
  EXPECT_NE(sources("checkpoint"), damaged);
  fs::remove(dir_ / "model.safetensors");
  fs::create_directory(dir_ / "model.safetensors");
  EXPECT_NE(sources("checkpoint").dump().find("unreadable"), std::string::npos);
}

TEST_F(SourcesTest, WhatIsNotHereIsNamedOnce) {
  const auto missing = [&](const Json& models, const std::string& data) {
    const Json file = {{"name", "t"},
                       {"title", "t"},
                       {"kind", "sentences"},
                       {"methods", {"compute"}},
                       {"models", models},
                       {"sweep", {{"set", {"text.txt", "no.tsv"}}}},
                       {"workload", {{"name", "sentence_pairs"}, {"file", data}}}};
    return missing_inputs(parse_experiment(file, "t.json", "desk", {}, known_vocabulary()));
  };
  const Json models = {{{"model", "no/such"}},
                       {{"model", "no/such"}, {"weight_format", "int8"}},
                       {{"model", "no/other"}, {"weights", "random"}},
                       {{"model", dir_.string()}}};
  EXPECT_EQ(missing(models, dir_.string()),
            (std::vector<std::string>{"no/such", (dir_ / "no.tsv").string()}));
  // The files may belong to data that `reprise data get` knows, here sts.
  EXPECT_EQ(missing({dir_.string()}, "sts/none"),
            (std::vector<std::string>{"sts/none/text.txt", "sts/none/no.tsv"}));
}

// Without any download, each experiment of AttnCache's paper can be started at scale desk.
TEST(ShippedExperiments, OfAttnCacheStandInForWhatIsNotHere) {
  const model::TempDir nothing;
  const reprise::testing::EnvironmentVariable cache("XDG_CACHE_HOME", nothing.path());
  const reprise::testing::EnvironmentVariable data("REPRISE_DATA", "");
  int stand_ins = 0;
  for (const auto& entry : fs::directory_iterator(REPRISE_SOURCE_DIR "/experiments/attn_cache")) {
    if (entry.path().extension() != ".json") continue;
    const Experiment named = load_experiment(entry.path(), "desk", {}, known_vocabulary());
    if (missing_inputs(named).empty()) continue;
    ASSERT_TRUE(named.has_stand_in) << entry.path();
    const Experiment other =
        load_experiment(entry.path(), "desk", {}, known_vocabulary(), Inputs::kStandIn);
    EXPECT_EQ(missing_inputs(other), std::vector<std::string>{}) << entry.path();
    EXPECT_NE(other.note.find("tands in"), std::string::npos) << entry.path();
    ++stand_ins;
  }
  EXPECT_EQ(stand_ins, 10);
}

}  // namespace
}  // namespace reprise::experiments
