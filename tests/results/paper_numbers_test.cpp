// Tests the look-up of papers' numbers at a point's settings, from rows or from a published CSV.
#include "results/paper_numbers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/error.h"
#include "results/statistics.h"
#include "tests/support/data.h"
#include "tests/support/environment.h"
#include "tests/support/json.h"

namespace reprise::results {
namespace {

Json table() {
  return Json::parse(R"({
    "source": "A paper, table 3", "hardware": "a GPU", "fixed": {"batch": 32},
    "metrics": {"latency_us": "us"}, "baseline": {"method": "paged", "time": "latency_us", "speedup": "speedup"},
    "columns": ["method", "prompt_tokens", "latency_us"],
    "rows": [["paged", 1024, 300], ["chunk", 1024, 60], ["chunk", 2048, null]]
  })");
}

std::string refusal(const Json& file) {
  try {
    (void)PaperNumbers(file, "paper.json");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(PaperNumbers, AreFoundWhereAllTheirSettingsAreThePoints) {
  const PaperNumbers paper(table(), "paper.json");
  const Fields point = {{"method", "chunk"}, {"prompt_tokens", 1024}, {"batch", 32}, {"seed", 7}};
  EXPECT_EQ(paper.at(point).at("latency_us").value, 60);
  EXPECT_EQ(paper.at(point).at("latency_us").unit, "us");
  Fields other = point;
  other["batch"] = 16;
  EXPECT_TRUE(paper.at(other).empty());
  other = point;
  other.erase("prompt_tokens");
  EXPECT_TRUE(paper.at(other).empty());
  EXPECT_EQ(paper.source(), "A paper, table 3");
  EXPECT_EQ(paper.hardware(), "a GPU");
}

TEST(PaperNumbers, OptionsOfAMethodAreFoundAmongOthers) {
  Json file = table();
  file["columns"] = {"method", "method_options", "latency_us"};
  file["rows"] = {{"paged", nullptr, 300}, {"chunk", {{"copies", true}}, 60}};
  const PaperNumbers paper(file, "paper.json");
  const auto at = [&](const char* method, const Fields& options) {
    return paper.at({{"method", method}, {"method_options", options}, {"batch", 32}});
  };
  EXPECT_EQ(at("chunk", {{"copies", true}, {"mode", "joint"}}).at("speedup").value, 5.0);
  EXPECT_TRUE(at("chunk", {{"copies", false}, {"mode", "joint"}}).empty());
  EXPECT_TRUE(at("chunk", {}).empty());
  EXPECT_EQ(at("paged", {{"block_tokens", 64}}).at("latency_us").value, 300);
}

// A paper's model is recognized by the name of its checkpoint folder, wherever the folder is.
TEST(PaperNumbers, OfAModelAreThoseOfItsCheckpointsFolder) {
  const PaperNumbers paper = load_paper_numbers("prompt_cache_table1");
  const auto score = [&](const char* model, const char* method, const char* grouping) {
    return paper.at(
        {{"model", model}, {"task", "gov_report"}, {"method", method}, {"grouping", grouping}});
  };
  for (const char* model : {"mpt-7b", "checkpoints/mpt-7b", "/data/mpt-7b/"}) {
    EXPECT_EQ(score(model, "baseline", "documents").at("score").value, 0.2696) << model;
    EXPECT_EQ(score(model, "isolated", "whole").at("score").value, 0.2749) << model;
  }
  EXPECT_TRUE(score("mpt-7b", "isolated", "documents").empty()) << "the paper has one module";
  EXPECT_TRUE(score("mpt-7b-chat", "baseline", "whole").empty());
}

TEST(PaperNumbers, SpeedupsAreOverTheBaselineAtTheSameSettings) {
  const PaperNumbers paper(table(), "paper.json");
  const auto at = [&](const char* method, int tokens) {
    return paper.at({{"method", method}, {"prompt_tokens", tokens}, {"batch", 32}});
  };
  EXPECT_EQ(at("chunk", 1024).at("speedup").value, 5.0);
  EXPECT_EQ(at("paged", 1024).at("speedup").value, 1.0);
  EXPECT_FALSE(at("chunk", 2048).contains("speedup"));
}

TEST(PaperNumbers, FaultsNameFileAndKey) {
  Json file = table();
  file["rows"][0] = {"paged", 1024};
  EXPECT_NE(refusal(file).find("row 0 has 2 cells for 3 columns"), std::string::npos);
  file = table();
  file["rows"][1][2] = "fast";
  EXPECT_NE(refusal(file).find("latency_us must be a number"), std::string::npos);
  file = table();
  file["basline"] = "paged";
  EXPECT_NE(refusal(file).find("did you mean \"baseline\""), std::string::npos);
  file = table();
  file.erase("hardware");
  EXPECT_NE(refusal(file).find("hardware"), std::string::npos);
}

// A folder with one file. REPRISE_DATA names the folder as long as the object lives.
class DataFolder {
 public:
  DataFolder(const char* file, const char* text) {
    std::filesystem::create_directories((dir_ / file).parent_path());
    std::ofstream(dir_ / file) << text;
  }
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;
  ~DataFolder() { remove(); }
  void remove() const { std::filesystem::remove_all(dir_); }

 private:
  std::filesystem::path dir_ =
      std::filesystem::temp_directory_path() / fmt::format("reprise_paper_{}", ::getpid());
  reprise::testing::EnvironmentVariable variable_{"REPRISE_DATA", dir_.string()};
};

TEST(PaperNumbers, CsvIsReadBelowTheDataFolderOrNamedAsMissing) {
  const DataFolder data("op.csv", "nreqs,relay,time,unused\n4,false,80,x\n4,true,20,x\n");
  const Json file = Json::parse(R"({
    "source": "A paper", "hardware": "a GPU", "metrics": {"latency_us": "us"}, "baseline": {"method": "paged", "time": "latency_us", "speedup": "speedup"},
    "csv": {"file": "op.csv", "columns": {"nreqs": "batch", "relay": "method", "time": "latency_us"},
            "values": {"false": "paged", "true": "relay_attention"}}
  })");
  const PaperNumbers paper(file, "paper.json");
  EXPECT_EQ(paper.missing(), "");
  EXPECT_EQ(paper.at({{"method", "relay_attention"}, {"batch", 4}}).at("speedup").value, 4.0);
  data.remove();
  const PaperNumbers gone(file, "paper.json");
  EXPECT_EQ(gone.missing(), "op.csv");
  EXPECT_TRUE(gone.empty());
}

TEST(PaperNumbers, CsvOfSeveralHostsAndRepetitionsGivesMediansOfOne) {
  const DataFolder data("op.csv", "host,tokens,time\na,4,5\na,4,1\nb,4,90\na,4,3\na,8,7\n");
  const Json file = Json::parse(R"({
    "source": "A paper", "hardware": "a GPU", "metrics": {"latency_us": "us"},
    "csv": {"file": "op.csv", "columns": {"tokens": "prompt_tokens", "time": "latency_us"},
            "values": {}, "where": {"host": "a"}}
  })");
  const PaperNumbers paper(file, "paper.json");
  EXPECT_EQ(paper.at({{"prompt_tokens", 4}}).at("latency_us").value, 3.0);
  EXPECT_EQ(paper.at({{"prompt_tokens", 8}}).at("latency_us").value, 7.0);
}

TEST(PaperNumbers, CsvLinesMayEndWithACarriageReturn) {
  const DataFolder data("op.csv", "host,tokens,time\r\na,4,5\r\nb,4,90\r\n");
  const Json file = Json::parse(R"({
    "source": "A paper", "hardware": "a GPU", "metrics": {"latency_us": "us"},
    "csv": {"file": "op.csv", "columns": {"tokens": "prompt_tokens", "time": "latency_us"},
            "values": {}, "where": {"host": "a"}}
  })");
  EXPECT_EQ(PaperNumbers(file, "paper.json").at({{"prompt_tokens", 4}}).at("latency_us").value, 5);
}

Fields llama(int64_t layers, int64_t hidden, int64_t kv_heads) {
  return {{"type", "llama"}, {"layers", layers},     {"hidden", hidden},
          {"heads", 32},     {"kv_heads", kv_heads}, {"vocab", 32000}};
}

TEST(PaperNumbers, OfPromptCachesFigure5AreFoundInThePublishedFile) {
  REPRISE_NEEDS_DATA();
  for (const char* name : {"cpu", "4090", "a40"})
    for (const char* method : {"contiguous", "prompt_cache"}) {
      const Metrics found = load_paper_numbers(std::string("prompt_cache_fig5_") + name)
                                .at({{"method", method},
                                     {"prompt_tokens", 1024},
                                     {"fresh_tokens", 1},
                                     {"model_shape", llama(32, 4096, 32)}});
      EXPECT_TRUE(found.contains("ttft_ms")) << name << " " << method;
    }
}

TEST(PaperNumbers, OfPromptCachesLatencyStandBesideTheirModelAlone) {
  const PaperNumbers paper = load_paper_numbers("prompt_cache_fig3_a40");
  Fields point = {{"dataset", "musique"}, {"method", "contiguous"}, {"context_limit", 3500}};
  EXPECT_FALSE(paper.at(point).contains("ttft_ms"));
  point["model_shape"] = llama(32, 4096, 32);
  EXPECT_EQ(paper.at(point).at("ttft_ms").value, 1386.5);
  for (const Fields& other : {llama(22, 2048, 4), llama(2, 4096, 32), llama(32, 4096, 8)}) {
    point["model_shape"] = other;
    EXPECT_FALSE(paper.at(point).contains("ttft_ms"));
  }
}

TEST(PaperNumbers, OfPromptCachesTable1StandBesideThePapersReadingAndTheCodes) {
  const PaperNumbers paper = load_paper_numbers("prompt_cache_table1");
  for (const char* method : {"isolated", "joint"})
    EXPECT_EQ(paper
                  .at({{"model", "checkpoints/llama-2-7b"},
                       {"task", "2wikimqa"},
                       {"method", method},
                       {"grouping", "whole"}})
                  .at("score")
                  .value,
              0.1395);
}

TEST(PaperNumbers, ADataSetIsKnownWhereverItsFolderLies) {
  const PaperNumbers paper = load_paper_numbers("attn_cache_table2");
  for (const char* file : {"sts/sts12", "/data/sets/sts12/", "sts12"}) {
    const Fields point = {{"model", "models/llama-2-7b"},
                          {"workload", Fields{{"name", "sts"}, {"file", file}}},
                          {"method", "compute"},
                          {"method_options", Fields()}};
    EXPECT_EQ(paper.at(point).at("score").value, 0.6088) << file;
  }
  EXPECT_TRUE(paper.at({{"workload", Fields{{"file", 12}}}}).empty());
}

// In a sweep over data sets, each set is named by its place below the workload's folder. The
// paper's averages are shown at mean rows.
TEST(PaperNumbers, ASweptDataSetIsKnownByItsName) {
  const auto at = [](const char* set) {
    return load_paper_numbers("attn_cache_table2")
        .at({{"model", "llama-2-7b"},
             {"workload", Fields{{"name", "sentence_pairs"}, {"file", "/data/sts"}}},
             {"set", set},
             {"method", "san"},
             {"method_options", Fields()}});
  };
  EXPECT_EQ(at("sts12").at("score").value, 0.0502);
  EXPECT_FALSE(at("sts12").contains("text_speedup"));
  EXPECT_EQ(at("mean").at("score").value, 0.3034);
  EXPECT_EQ(at("mean").at("text_speedup").value, 1.45);
  EXPECT_TRUE(at("").empty());
}

// The paper's mean over its sets must not stand beside a mean over some of them, or over others.
TEST(PaperNumbers, OfMeansStandBesideMeansOverTheSameSets) {
  const auto mean_beside = [](const Values& sets) {
    Manifest manifest;
    manifest.paper_numbers = {"attn_cache_table8"};
    manifest.mean_over = "set";
    manifest.settings.axes["set"] = sets;
    const PaperNumbers paper = paper_numbers_of(manifest).at(0);
    const auto at = [&](const char* set) {
      return paper.at({{"model", "llama-3.2-3b"},
                       {"weight_format", "f32"},
                       {"workload", Fields{{"file", "sts"}}},
                       {"set", set},
                       {"method", "compute"},
                       {"method_options", Fields()}});
    };
    EXPECT_EQ(at("sts15").at("score").value, 0.7476);
    return !at("mean").empty();
  };
  EXPECT_TRUE(mean_beside({"sts13", "sts14", "sts15", "sts16"}));
  EXPECT_TRUE(mean_beside({"sts/STS16-en-test", "sts15", "sts14", "sts13"}));
  EXPECT_FALSE(mean_beside({"sts15", "sts16"}));
  EXPECT_FALSE(mean_beside({"sts12", "sts14", "sts15", "sts16"}));
  EXPECT_FALSE(mean_beside({"sts12", "sts13", "sts14", "sts15", "sts16"}));
}

// Data sets are recognized by the folder names of SentEval and GLUE, and by names that a user may
// choose.
TEST(PaperNumbers, ADataSetIsKnownBySentEvalsAndGluesNames) {
  const auto score = [](const char* paper, const char* model, const char* file) {
    return load_paper_numbers(paper).at(
        {{"model", model},
         {"workload", Fields{{"name", "sentence_pairs"}, {"file", file}}},
         {"weight_format", "f32"},
         {"method", "compute"},
         {"method_options", Fields()}});
  };
  for (const char* file : {"/data/STS/STSBenchmark", "/GLUE/STS-B", "sts/stsb", "/data/sts/STSB/",
                           "sts/stsb/sts-test.csv"})
    EXPECT_EQ(score("attn_cache_table2", "llama-2-7b", file).at("score").value, 0.7389) << file;
  EXPECT_EQ(score("attn_cache_table2", "llama-2-7b", "sts/sick/SICK_test_annotated.txt")
                .at("score")
                .value,
            0.6744);
  EXPECT_TRUE(score("attn_cache_table2", "llama-2-7b", "sts/sick/SICK_train.txt").empty());
  for (const char* file : {"/data/STS/STS15-en-test", "/data/STS15/", "sts/sts15"})
    EXPECT_EQ(score("attn_cache_table8", "llama-3.2-3b", file).at("score").value, 0.7476) << file;
  for (const char* file : {"sts/sts15/images.test.tsv", "sts15/other", "mysts15", ""})
    EXPECT_TRUE(score("attn_cache_table8", "llama-3.2-3b", file).empty()) << file;
}

TEST(PaperNumbers, OfAttnCachesFigure6StandBesideSts15Alone) {
  const auto hits = [](const char* file) {
    return load_paper_numbers("attn_cache_fig6")
        .at({{"workload", Fields{{"file", file}}},
             {"method", "attn_cache"},
             {"method_options", Fields{{"preset", "as_published"}}},
             {"threshold", 0.99}});
  };
  EXPECT_EQ(hits("/data/sts/sts15/images.test.tsv").at("hit_rate").value, 0.3);
  EXPECT_EQ(hits("sts/sts15").at("hit_rate").value, 0.3);
  EXPECT_TRUE(hits("sts/sts14/images.test.tsv").empty());
  EXPECT_TRUE(hits("experiments/attn_cache/pairs.tsv").empty());
}

// AttnCache's table 3 and figure 5 give separate speed-ups for a CPU and a GPU, but one accuracy
// for both.
TEST(PaperNumbers, OfACpuAndOfAGpuStandBesidePointsOfThatDevice) {
  const auto at = [](const char* paper, const char* device, Fields point) {
    point["device"] = device;
    point["method"] = "attn_cache";
    return load_paper_numbers(paper).at(point);
  };
  const Fields math = {{"model", "llama-3.2-3b-instruct"},
                       {"task", "math"},
                       {"shots", 0},
                       {"split", "val"},
                       {"question_template", "hendrycks"},
                       {"letters", "bare"},
                       {"method_options", Fields{{"preset", "as_published"}}}};
  for (const char* paper : {"attn_cache_fig5", "attn_cache_table3"}) {
    EXPECT_EQ(at(paper, "cpu", math).at("attention_speedup_hits").value, 2.09) << paper;
    EXPECT_EQ(at(paper, "cuda", math).at("attention_speedup_hits").value, 3.01) << paper;
    for (const char* device : {"cpu", "cuda"})
      EXPECT_EQ(at(paper, device, math).at("score").value, 0.2957) << paper << " " << device;
  }
  const auto hit = [](const char* loading) {
    return Fields{
        {"model", "llama-3.2-3b-2-layers"},
        {"prompt_tokens", 94},
        {"method_options", Fields{{"threshold", 1.0}, {"map_form", "bf16"}, {"loading", loading}}}};
  };
  EXPECT_EQ(at("attn_cache_speed", "cpu", hit("warm")).at("text_speedup_hits").value, 1.22);
  EXPECT_EQ(at("attn_cache_speed", "cuda", hit("warm")).at("text_speedup_hits").value, 1.66);
  EXPECT_TRUE(at("attn_cache_speed", "cpu", hit("cold")).empty());
}

// Every file fixes the model, or the shape of the one layer or operator that it describes. Only
// figure 6 of AttnCache cannot, because the paper does not name its model.
TEST(PaperNumbers, NeverStandBesideAnotherModel) {
  const std::filesystem::path folder =
      std::filesystem::path(REPRISE_SOURCE_DIR) / "results" / "papers";
  for (const std::string& name : known_paper_numbers()) {
    std::ifstream stream(folder / (name + ".json"));
    const Json file = Json::parse(stream);
    std::set<std::string> settings;
    if (file.contains("fixed"))
      for (const auto& fixed : file["fixed"].items()) settings.insert(fixed.key());
    if (file.contains("columns"))
      for (const auto& column : file["columns"]) settings.insert(column.get<std::string>());
    const bool has_model = settings.contains("model") || settings.contains("model_shape");
    const bool has_heads = settings.contains("kv_heads") && settings.contains("head_dim");
    EXPECT_TRUE(has_model || has_heads || name == "attn_cache_fig6") << name;
  }
  const Fields point = {{"method", "compute"}, {"method_options", Fields()}};
  Fields of_paper = point, of_another = point;
  of_paper["model"] = "llama-3-8b";
  of_another["model"] = "mistral-7b-2-layers";
  EXPECT_TRUE(load_paper_numbers("attn_cache_table4").at(of_paper).contains("text_ms"));
  EXPECT_TRUE(load_paper_numbers("attn_cache_table4").at(of_another).empty());
}

// If the paper fixed a setting, its numbers stand only beside points with this setting, even if the
// paper's table has no column for it.
TEST(PaperNumbers, StandBesideTheSettingsThatTheirPaperFixed) {
  const auto expect_fixed = [](const char* name, Fields point, const char* setting,
                               const Value& other) {
    EXPECT_FALSE(load_paper_numbers(name).at(point).empty()) << name;
    point[setting] = other;
    EXPECT_TRUE(load_paper_numbers(name).at(point).empty()) << name << " " << setting;
  };
  const Fields layer = {{"heads", 32}, {"kv_heads", 32}, {"head_dim", 128}, {"batch", 32}};
  Fields point = layer;
  point.merge(Fields{{"method", "paged"},
                     {"prompt_tokens", 2048},
                     {"shared_tokens", 0},
                     {"completion_tokens", 1},
                     {"hidden", 4096},
                     {"intermediate", 11008}});
  expect_fixed("chunk_attention_table3", point, "completion_tokens", 512);
  expect_fixed("chunk_attention_table1", point, "completion_tokens", 512);
  point.insert_or_assign("method", "chunk_attention");
  point.insert_or_assign("shared_tokens", 2048);
  point.insert_or_assign("completion_tokens", 64);
  point.insert_or_assign("batch", 16);
  expect_fixed("chunk_attention_figure4", point, "prompt_tokens", 4096);
  {
    const DataFolder data("datasets/reference_results/relayattention/relay_op__NVIDIA-A40.csv",
                          "nreqs,ctxlen,prefixlen,relay,Lantency (us)\n32,128,64,false,9\n");
    expect_fixed("relay_attention_operator_a40",
                 {{"heads", 52},
                  {"kv_heads", 52},
                  {"head_dim", 128},
                  {"batch", 32},
                  {"context_tokens", 128},
                  {"shared_tokens", 64},
                  {"completion_tokens", 1},
                  {"method", "paged"}},
                 "completion_tokens", 128);
  }
  {
    const DataFolder data(
        "datasets/reference_results/relayattention/"
        "interactive_bench_sharegpt__NVIDIA-A40.Llama-2-7b-hf.csv",
        "reqrate,prefixlen,relay,throughput\n1,512,false,0.9\n");
    const Fields served = {{"model", "llama-2-7b"},
                           {"workload", Fields{{"name", "sharegpt"}, {"file", "lengths.csv"}}},
                           {"length_divisor", 1.0},
                           {"arrivals", "poisson"},
                           {"search", "one_rate"},
                           {"modelled_step_ms", 0.0},
                           {"rate_rps", 1.0},
                           {"shared_tokens", 512},
                           {"method", "paged"}};
    expect_fixed("relay_attention_interactive_a40", served, "length_divisor", 4.0);
    expect_fixed("relay_attention_interactive_a40", served, "arrivals", "closed");
    expect_fixed("relay_attention_interactive_a40", served, "search", "highest_rate");
    expect_fixed("relay_attention_interactive_a40", served, "modelled_step_ms", 1.0);
    expect_fixed("relay_attention_interactive_a40", served, "workload", Fields{{"name", "grid"}});
  }
  const DataFolder data("datasets/reference_results/prompt_cache/critical_point.csv",
                        "host,device,kind,seq_len,time_ms\na40,unstated,upload,64,3\n");
  expect_fixed("prompt_cache_fig5_a40",
               {{"model_shape", llama(32, 4096, 32)},
                {"method", "prompt_cache"},
                {"prompt_tokens", 64},
                {"fresh_tokens", 1}},
               "fresh_tokens", 32);
}

// Settings that choose other questions, words or tokens make another score.
TEST(PaperNumbers, StandBesideTheQuestionsThatTheirPaperAsked) {
  const auto expect_fixed = [](const char* name, const Fields& point, const Fields& others) {
    EXPECT_FALSE(load_paper_numbers(name).at(point).empty()) << name;
    for (const auto& [setting, other] : others) {
      Fields changed = point;
      changed.insert_or_assign(setting, other);
      EXPECT_TRUE(load_paper_numbers(name).at(changed).empty()) << name << " " << setting;
    }
  };
  for (const char* name : {"relay_attention_table3", "relay_attention_table3_a100"})
    expect_fixed(name,
                 {{"model", "checkpoints/llama-2-7b"},
                  {"method", "relay_attention"},
                  {"shots", 5},
                  {"output_tokens", 32},
                  {"question_template", "vllm_ra"},
                  {"split", "test"},
                  {"subjects", ""},
                  {"requests", 0},
                  {"workload", Fields{{"name", "mmlu"}, {"file", "mmlu"}}},
                  {"arrivals", "closed"},
                  {"modelled_step_ms", 0.0}},
                 {{"question_template", "hendrycks"},
                  {"split", "val"},
                  {"subjects", "anatomy"},
                  {"requests", 1000},
                  {"arrivals", "poisson"},
                  {"modelled_step_ms", 1.0}});
  for (const auto& [name, model] : {std::pair{"attn_cache_fig5", "llama-3.2-3b-instruct"},
                                    {"attn_cache_table3", "llama-3.2-3b-instruct"},
                                    {"attn_cache_table5", "llama-3-8b"}})
    expect_fixed(name,
                 {{"model", model},
                  {"method", "compute"},
                  {"method_options", Fields()},
                  {"task", "math"},
                  {"shots", 0},
                  {"split", "val"},
                  {"question_template", "hendrycks"},
                  {"letters", "bare"}},
                 {{"split", "test"}, {"question_template", "vllm_ra"}, {"letters", "spaced"}});
  expect_fixed("attn_cache_table7",
               {{"model", "bert-base-uncased-sst2"},
                {"method", "compute"},
                {"method_options", Fields()},
                {"threshold", 0.95},
                {"workload", Fields{{"name", "sentiment"}, {"file", "/data/SST-2"}}}},
               {{"workload", Fields{{"name", "sentiment"}, {"file", "datasets/sentiment"}}}});
  for (const char* name : {"prompt_cache_fig3_4090_texts", "prompt_cache_fig3_a40_texts",
                           "prompt_cache_fig3_a100_texts", "prompt_cache_fig4_intel_texts",
                           "prompt_cache_fig4_amd_texts"})
    expect_fixed(name,
                 {{"model", "llama-2-7b"},
                  {"task", "musique"},
                  {"method", "joint"},
                  {"grouping", "whole"},
                  {"truncation", "as_coded"},
                  {"most_prompt_tokens", 3500}},
                 {{"grouping", "documents"}, {"truncation", "official"}});
}

TEST(PaperNumbers, OfOneManifestHaveDifferentLabels) {
  Manifest manifest;
  manifest.paper_numbers = {"chunk_attention_table3", "prompt_cache_fig5_a40",
                            "chunk_attention_table1", "chunk_attention_figure4"};
  std::vector<std::string> labels;
  for (const PaperNumbers& paper : paper_numbers_of(manifest)) labels.push_back(paper.label());
  EXPECT_EQ(labels, (std::vector<std::string>{"paper", "A40", "paper 2", "paper 3"}));
}

TEST(PaperNumbers, CsvIsFoundInTheCacheFolderToo) {
  const DataFolder data("reprise/op.csv", "nreqs,time\n4,80\n");
  const std::string folder = std::getenv("REPRISE_DATA");
  const reprise::testing::EnvironmentVariable cache("XDG_CACHE_HOME", folder);
  const reprise::testing::EnvironmentVariable none("REPRISE_DATA", folder + "/nowhere");
  const Json file = Json::parse(R"({
    "source": "A paper", "hardware": "a GPU", "metrics": {"latency_us": "us"},
    "csv": {"file": "op.csv", "columns": {"nreqs": "batch", "time": "latency_us"}, "values": {}}
  })");
  EXPECT_EQ(PaperNumbers(file, "paper.json").at({{"batch", 4}}).at("latency_us").value, 80);
}

TEST(PaperNumbers, ShippedFilesAreSound) {
  const std::vector<std::string> names = known_paper_numbers();
  EXPECT_GE(names.size(), 5u);
  for (const std::string& name : names) EXPECT_NO_THROW((void)load_paper_numbers(name)) << name;
  const Fields point = {{"method", "chunk_attention"},
                        {"batch", 32},
                        {"heads", 32},
                        {"kv_heads", 32},
                        {"head_dim", 128},
                        {"prompt_tokens", 4096},
                        {"shared_tokens", 4096},
                        {"completion_tokens", 1}};
  EXPECT_EQ(load_paper_numbers("chunk_attention_table3").at(point).at("latency_us").value, 206.22);
}

// Copy and response times of the authors' runs, by data set and by whether the cache was used.
using Times = std::map<std::pair<std::string, bool>, std::vector<std::pair<double, double>>>;

Times published_times(const std::string& host, const std::string& device) {
  std::ifstream csv(reprise::testing::data_dir() / "datasets" / "reference_results" /
                    "prompt_cache" / "latency.csv");
  EXPECT_TRUE(csv);
  std::string line;
  std::getline(csv, line);
  EXPECT_EQ(line, "host,model,device,cache,dataset,sample,cache_time_ms,response_time_ms\r");
  Times times;
  while (std::getline(csv, line)) {
    std::istringstream cells(line);
    std::vector<std::string> cell;
    for (std::string text; std::getline(cells, text, ',');) cell.push_back(text);
    if (cell.at(0) == host && cell.at(2) == device)
      times[{cell.at(4), cell.at(3) == "cache"}].emplace_back(std::stod(cell.at(6)),
                                                              std::stod(cell.at(7)));
  }
  return times;
}

TEST(PaperNumbers, OfPromptCachesFigures3And4AreMediansOfThePublishedTimes) {
  REPRISE_NEEDS_DATA();
  for (const auto& [name, host, device] : {std::tuple{"fig4_intel", "13900k", "cpu"},
                                           {"fig4_amd", "ryzen", "cpu"},
                                           {"fig3_4090", "13900k", "gpu"},
                                           {"fig3_a40", "a40", "gpu"},
                                           {"fig3_a100", "a100", "gpu"}}) {
    const PaperNumbers paper = load_paper_numbers(std::string("prompt_cache_") + name);
    const Times times = published_times(host, device);
    EXPECT_EQ(times.size(), 2 * 13u) << name;
    for (const auto& [key, runs] : times) {
      const auto& [dataset, is_cached] = key;
      std::vector<double> whole, response;
      for (const auto& [copy_ms, response_ms] : runs) {
        whole.push_back(copy_ms + response_ms);
        response.push_back(response_ms);
      }
      const Metrics found = paper.at({{"dataset", dataset},
                                      {"method", is_cached ? "prompt_cache" : "contiguous"},
                                      {"method_options", Fields{{"copies", is_cached}}},
                                      {"context_limit", 3500},
                                      {"model_shape", llama(32, 4096, 32)}});
      const auto value = [&](const char* metric) { return found.at(metric).value; };
      const double kRounded = 0.0501;  // numbers are rounded to a tenth
      ASSERT_TRUE(found.contains("ttft_ms")) << name << " " << dataset;
      EXPECT_NEAR(value("ttft_ms"), summarize(whole).median, kRounded) << name << " " << dataset;
      if (is_cached) {
        EXPECT_NEAR(value("compute_ms"), summarize(response).median, kRounded) << dataset;
        EXPECT_GT(value("ttft_speedup"), 1) << dataset;
      }
    }
  }
}

// The released code encodes modules jointly. Kind "accuracy" names this mode differently from kind
// "ttft".
TEST(PaperNumbers, OfAnotherFileStandBesideOtherNamesOfTheSame) {
  const PaperNumbers lengths = load_paper_numbers("prompt_cache_fig4_intel");
  const PaperNumbers texts = load_paper_numbers("prompt_cache_fig4_intel_texts");
  EXPECT_EQ(texts.source(), lengths.source());
  EXPECT_EQ(texts.label(), "i9-13900K");
  const auto at = [&](const char* model, const char* method, int tokens = 3500) {
    return texts.at({{"model", model},
                     {"task", "2wikimqa"},
                     {"method", method},
                     {"grouping", "whole"},
                     {"truncation", "as_coded"},
                     {"most_prompt_tokens", tokens}});
  };
  EXPECT_EQ(at("checkpoints/llama-2-7b", "baseline").at("ttft_ms").value, 59066.7);
  EXPECT_EQ(at("checkpoints/llama-2-7b", "joint").at("ttft_ms").value, 1119.4);
  EXPECT_EQ(at("checkpoints/llama-2-7b", "joint").at("ttft_speedup").value, 59066.7 / 1119.4);
  EXPECT_TRUE(at("checkpoints/llama-2-7b", "isolated").empty()) << "the authors have no such run";
  EXPECT_TRUE(at("checkpoints/tinyllama", "baseline").empty());
  EXPECT_TRUE(at("checkpoints/llama-2-7b", "baseline", 400).empty());
}

TEST(PaperNumbers, UnknownNamesOfferTheNearest) {
  try {
    (void)load_paper_numbers("chunk_attention_tabel3");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("chunk_attention_table3"), std::string::npos);
  }
}

TEST(PaperPoints, OfSeveralSourcesStandApartWithTheirLabels) {
  const Record record{
      .point = "p1",
      .settings = {.resolved = {{"method", "chunk"}, {"prompt_tokens", 1024}, {"batch", 32}}}};
  Json other = table();
  other["label"] = "A40";
  other["rows"][1][2] = 90;
  const auto papers =
      paper_points({PaperNumbers(table(), "a.json"), PaperNumbers(other, "b.json")}, {record});
  ASSERT_EQ(papers.size(), 2u);
  EXPECT_EQ(papers[1].label, "A40");
  EXPECT_EQ(papers[1].points.at("p1").at("latency_us").value, 90);
}

TEST(PaperPoints, HoldOnlyThePointsThePaperHas) {
  const Record record{
      .point = "p1",
      .settings = {.resolved = {{"method", "chunk"}, {"prompt_tokens", 1024}, {"batch", 32}}}};
  Record other = record;
  other.point = "p2";
  other.settings.resolved["batch"] = 1;
  const PaperNumbers paper(table(), "paper.json");
  const auto papers = paper_points({paper}, {record, other});
  ASSERT_EQ(papers.size(), 1u);
  EXPECT_EQ(papers[0].label, "paper");
  EXPECT_EQ(papers[0].points.size(), 1u);
  EXPECT_EQ(papers[0].points.at("p1").at("latency_us").value, 60);
  EXPECT_TRUE(paper_points({PaperNumbers()}, {record}).empty());
  EXPECT_TRUE(paper_points({paper}, {other}).empty());
}

}  // namespace
}  // namespace reprise::results
