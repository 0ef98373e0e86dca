// Runs the program as a user does: help, names, and errors that name the remedy.
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "results/data_dir.h"
#include "results/store.h"
#include "tests/app/command_line.h"
#include "tests/support/environment.h"
#include "tests/support/json.h"

namespace reprise::app {
namespace {

namespace fs = std::filesystem;

TEST_F(CommandLine, EveryCommandExplainsItself) {
  EXPECT_EQ(reprise({"--help"}).status, 0);
  for (const char* command :
       {"run", "plot", "list", "generate", "logits", "tokenize", "probe", "check"}) {
    const Outcome help = reprise({command, "--help"});
    EXPECT_EQ(help.status, 0) << command;
    EXPECT_NE(help.out.find("Usage"), std::string::npos) << help.out;
    EXPECT_NE(reprise({"--help"}).out.find(command), std::string::npos);
  }
}

// `reprise data get` does not know the name of an experiment's copy, so the note must name the
// data.
TEST_F(CommandLine, AStandInsNoteNamesWhatFetchesTheMissingData) {
  const testing::EnvironmentVariable data("REPRISE_DATA", dir_.string()),
      cache("XDG_CACHE_HOME", dir_.string());
  const fs::path copy = dir_ / "my.json";
  fs::copy_file(results::data_dir() / "experiments/serving/trace_sharing.json", copy);
  const Outcome outcome = reprise({"run", copy.string(), "--dry-run"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("not here: mooncake_conversation.jsonl. What stands in for them runs. "
                             "Fetch them: reprise data get mooncake-conversation\n"),
            std::string::npos)
      << outcome.err;
}

TEST_F(CommandLine, VersionNamesRevisionCompilerAndLibraries) {
  const Outcome outcome = reprise({"--version"});
  EXPECT_EQ(outcome.status, 0);
  for (const char* part : {"reprise 0.", "\nrevision ", "\ncompiler ", "\nlibraries ", "highway "})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << outcome.out;
}

TEST_F(CommandLine, ListShowsEveryKindOfThing) {
  const Outcome all = reprise({"list"});
  EXPECT_EQ(all.status, 0) << all.err;
  for (const char* name : {"contiguous", "recompute", "llama-2-7b", "quickstart.json",
                           "random_tokens", "ttft", "decode", "libtorch"})
    EXPECT_NE(all.out.find(name), std::string::npos) << name;
  EXPECT_EQ(reprise({"list", "methods"}).out.find("random_tokens"), std::string::npos);
  EXPECT_NE(reprise({"list", "methods"}).out.find("load: no method runs in it"), std::string::npos);
  expect_refused({"list", "method"}, {"did you mean \"methods\""});
  const Outcome method = reprise({"list", "chunk_attention"});
  EXPECT_EQ(method.status, 0) << method.err;
  for (const char* part : {"chunk_tokens", "64", "16 to 65536, a multiple of 16", "tokens",
                           "as_published", "\"reuse_prefill\":true"})
    EXPECT_NE(method.out.find(part), std::string::npos) << part << " not in: " << method.out;
  const Outcome kind = reprise({"list", "decode"});
  EXPECT_EQ(kind.status, 0) << kind.err;
  for (const char* part : {"axis batch", "1 to 4096", "metric step_ms", "ms"})
    EXPECT_NE(kind.out.find(part), std::string::npos) << part << " not in: " << kind.out;
  EXPECT_EQ(kind.out.find("latency_us"), std::string::npos) << kind.out;
  EXPECT_NE(reprise({"list", "arrivals"}).out.find("poisson"), std::string::npos);
  EXPECT_NE(reprise({"list", "sources"}).out.find("mooncake"), std::string::npos);
  EXPECT_NE(reprise({"list", "mooncake"}).out.find("length_divisor"), std::string::npos);
  EXPECT_EQ(reprise({"list", "grid"}).out.find("length_divisor"), std::string::npos);
}

TEST_F(CommandLine, ListsFitTheTerminal) {
  ::setenv("COLUMNS", "80", 1);
  const Outcome narrow = reprise({"list", "methods"}), kind = reprise({"list", "decode"});
  ::unsetenv("COLUMNS");
  for (const Outcome* outcome : {&narrow, &kind}) {
    std::istringstream lines(outcome->out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  }
  const std::string piped = reprise({"list", "methods"}).out;
  EXPECT_LT(std::count(piped.begin(), piped.end(), '\n'),
            std::count(narrow.out.begin(), narrow.out.end(), '\n'));
}

TEST_F(CommandLine, MistakesOnTheCommandLineNameTheRemedy) {
  expect_refused({"rn"}, {"unknown command \"rn\"", "did you mean \"run\""});
  expect_refused({"run"}, {"experiment"});
  expect_refused({"run", "quikstart"}, {"did you mean \"quickstart\""});
  const std::string pipe = (dir_ / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_refused({"run", dir_.string()}, {"is a folder, and unknown experiment"});
  expect_refused({"run", pipe}, {"is a pipe or a device"});
  expect_refused({"plot", pipe}, {"is neither a folder nor a file"});
  expect_refused({"plot", (dir_ / "absent").string()}, {"absent does not exist; give the one"});
  expect_refused({"run", "quickstart", "--scale", "huge"}, {"unknown scale", "smoke"});
  expect_refused({"run", "quickstart", "--dry-run", "--metrics", "ttft"},
                 {"--metrics", "did you mean \"ttft_ms\""});
  expect_refused({"run", "quickstart", "--dry-run", "--metrics", "ttft_ms.p98"},
                 {"--metrics", "unknown percentile of ttft_ms \"p98\""});
  // The next two were once refused only after everything had been measured.
  expect_refused({"run", "quickstart", "--dry-run", "--metrics", "ttft_ms,ttft_ms"},
                 {"--metrics", "names ttft_ms twice"});
  expect_refused({"run", "quickstart", "--dry-run", "--format", "jsn"},
                 {"--format jsn", "did you mean \"json\""});
  expect_refused({"run", "quickstart", "--out", "--out"}, {"--out needs a value", "--out=--out"});
  expect_refused({"pml", "run", "--mode", "--copy", "a", "b"}, {"--mode needs a value"});
  expect_refused({"run", "quickstart", "--set", "repetition=1"}, {"did you mean \"repetitions\""});
  expect_refused({"run", "quickstart", "--device", "cuda"}, {"no CUDA backend", "--device cpu"});
  expect_refused({"plot", (dir_ / "nothing").string()}, {"records.jsonl"});
}

// A run once reported a fault only when it came to the faulty point, hours later, and then only
// this one.
TEST_F(CommandLine, EverythingWrongWithASweepIsToldBeforeItsFirstPoint) {
  fs::create_directories(dir_ / "cut");
  fs::copy_file(REPRISE_SOURCE_DIR "/models/quickstart/config.json", dir_ / "cut/config.json");
  fs::copy_file(REPRISE_SOURCE_DIR "/models/quickstart/model.safetensors",
                dir_ / "cut/model.safetensors");
  fs::resize_file(dir_ / "cut/model.safetensors", 1000000);
  const Json file = {{"name", "wrong"},
                     {"title", "Everything is wrong but the first point"},
                     {"kind", "ttft"},
                     {"models", {"quickstart", (dir_ / "cut").string(), "quickstar"}},
                     {"dtypes", {"f32", "f16"}},
                     {"methods", {"contiguous"}},
                     {"sweep", {{"prompt_tokens", {8, 16}}}}};
  std::ofstream(dir_ / "wrong.json") << file.dump();
  const std::vector<std::string> command = {"run", (dir_ / "wrong.json").string(), "--out",
                                            (dir_ / "out").string()};
  for (const bool is_dry : {false, true}) {
    std::vector<std::string> words = command;
    if (is_dry) words.emplace_back("--dry-run");
    expect_refused(words, {"3 problems", "quickstart f16 prompt_tokens=8", "dtype f16",
                           "cut f32 prompt_tokens=8", "model.safetensors",
                           "did you mean \"quickstart\"", "(and 3 more like it)"});
    EXPECT_FALSE(fs::exists(dir_ / "out"));
  }
  // Faults of several points are told together (5 and 7 KV heads do not divide 32 heads), and so
  // are several faults of the settings.
  expect_refused(
      {"run", "shared_prefix/crossover", "--dry-run", "--set", "sweep.kv_heads=32,5,7"},
      {"2 problems", "32 heads cannot share 5 kv_heads", "32 heads cannot share 7 kv_heads"});
  expect_refused({"run", "quickstart", "--set", "methods=contigous,paged", "--set", "dtypes=f8",
                  "--set", "metrics=ttft"},
                 {"3 problems", "\"contiguous\"?", "\"f8\"", "\"ttft_ms\"?"});
}

// The keys and values of one sequence of 131072 tokens take 0.3 GB, those of 4096 take 1.1 TB.
TEST_F(CommandLine, RunSkipsWhatDoesNotFitAndSaysSo) {
  const Json file = {{"name", "large"},
                     {"title", "A point too large for this machine"},
                     {"kind", "attention"},
                     {"methods", {"contiguous"}},
                     {"settings", {{"heads", 1}, {"head_dim", 256}, {"prompt_tokens", 131072}}},
                     {"sweep", {{"batch", {1, 4096}}}},
                     {"metrics", {"latency_us"}},
                     {"repetitions", 1},
                     {"warmup", 0}};
  std::ofstream(dir_ / "large.json") << file.dump();
  const Outcome outcome = reprise({"run", (dir_ / "large.json").string(), "--out",
                                   (dir_ / "large").string(), "--no-plot", "--threads", "1"});
  EXPECT_EQ(outcome.status, 3) << outcome.err;
  EXPECT_NE(outcome.out.find("skipped: f32 batch=4096 (1 point): needs "), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("GiB are available"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("1 of 2 points were skipped"), std::string::npos) << outcome.err;
  EXPECT_EQ(results::read_records(dir_ / "large").size(), 1u);
  EXPECT_EQ(results::read_skipped(dir_ / "large").size(), 1u);
}

class PlotCommandLine : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
    const Json file = {{"name", "t"},
                       {"title", "Prompts of {prompt_tokens} tokens"},
                       {"kind", "ttft"},
                       {"models", {{{"model", model()}, {"weights", "random"}}}},
                       {"methods", {"contiguous"}},
                       {"sweep", {{"prompt_tokens", {8, 16}}}},
                       {"repetitions", 3},
                       {"warmup", 0},
                       {"plot", {{"x", "prompt_tokens"}, {"y", "ttft_ms"}}}};
    fs::create_directories(dir_);
    std::ofstream(dir_ / "t.json") << file.dump();
    const Outcome outcome = run({});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
  }
  [[nodiscard]] Outcome run(const std::vector<std::string>& more) const {
    std::vector<std::string> command = {
        "run", (dir_ / "t.json").string(), "--out", out(), "--no-plot", "--threads", "1"};
    command.insert(command.end(), more.begin(), more.end());
    return reprise(command);
  }
  [[nodiscard]] std::string out() const { return (dir_ / "out").string(); }
  [[nodiscard]] std::string figures() const { return (dir_ / "figures").string(); }
  // The content of all files in the results folder.
  [[nodiscard]] std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(out()))
      if (entry.is_regular_file()) files[entry.path().string()] = read_file(entry.path());
    return files;
  }
};

TEST_F(PlotCommandLine, ReadOnlyFoldersAreDrawnElsewhere) {
  const auto before = contents();
  const Outcome outcome = reprise({"plot", out(), "--out", figures()});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(contents(), before) << "something was written into the folder of results";
  EXPECT_TRUE(fs::exists(dir_ / "figures" / "ttft_ms.png")) << outcome.err;
  expect_refused({"plot", out(), "--out", "/proc/no-such-folder"},
                 {"/proc/no-such-folder", "--out"});
}

TEST_F(PlotCommandLine, RecordsAloneAreDrawnWithADefaultThatIsSaid) {
  const std::string records = (dir_ / "alone.jsonl").string();
  fs::copy(dir_ / "out" / "records.jsonl", records);
  const Outcome outcome = reprise({"plot", records});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("ships no experiment \"t\" with figures; drawing ttft_ms against "
                             "prompt_tokens"),
            std::string::npos)
      << outcome.err;
  EXPECT_TRUE(fs::exists(dir_ / "alone-figures" / "ttft_ms.pdf"));
  EXPECT_NE(outcome.out.find("prompt_tokens"), std::string::npos) << outcome.out;
}

TEST_F(PlotCommandLine, RecordsAloneAreDrawnAsTheirShippedExperimentDrawsThem) {
  const std::string records = REPRISE_SOURCE_DIR "/results/measurements/cpu_fig5_desk.jsonl.gz";
  const Outcome outcome = reprise({"plot", records, "--out", figures()});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("as the shipped experiment prompt_cache_fig5"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(outcome.out.find("missing"), std::string::npos) << outcome.out;
  EXPECT_TRUE(fs::exists(dir_ / "figures" / "tpot_ms.png"));
}

TEST_F(PlotCommandLine, RecordsOfPointsThatAFileHasTwiceAreCounted) {
  const fs::path records = dir_ / "twice.jsonl";
  const std::string text = read_file(dir_ / "out" / "records.jsonl");
  std::ofstream(records) << text << text;
  const Outcome outcome = reprise({"plot", records.string(), "--out", figures()});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("2 records of points that an earlier line has are not shown"),
            std::string::npos)
      << outcome.err;
}

TEST_F(PlotCommandLine, WordsThatATerminalWouldObeyAreRefusedBeforeAnythingIsMeasured) {
  Json file = read_json(dir_ / "t.json");
  file["title"] = "\x1b[31mred";
  std::ofstream(dir_ / "t.json") << file.dump();
  const Outcome outcome = run({"--fresh"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("caption.title"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find('\x1b'), std::string::npos);
}

TEST_F(PlotCommandLine, MissingPointsOfTheSweepAreNamed) {
  const fs::path records = dir_ / "out" / "records.jsonl";
  const std::string text = read_file(records);
  const size_t entry_end = text.find('\n') + 1;
  std::ofstream(records, std::ios::binary) << text.substr(0, text.find('\n', entry_end) + 1);
  const Outcome outcome = reprise({"plot", out(), "--out", figures()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("missing: "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("prompt_tokens=16: contiguous"), std::string::npos) << outcome.out;
}

TEST_F(PlotCommandLine, FormatsForProgramsHaveStandardOutputForThemselves) {
  const Outcome json = reprise({"plot", out(), "--out", figures(), "--format", "json"});
  ASSERT_EQ(json.status, 0) << json.err;
  EXPECT_EQ(Json::parse(json.out).size(), 2u);
  const Outcome csv =
      reprise({"plot", out(), "--out", figures(), "--format", "csv", "--metrics", "ttft_ms"});
  EXPECT_TRUE(csv.out.starts_with("prompt_tokens,method,ttft_ms,ttft_ms_q1,ttft_ms_q3,noisy\r\n"))
      << csv.out;
  expect_refused({"plot", out(), "--format", "cvs"}, {"did you mean \"csv\""});
  expect_refused({"plot", out(), "--metrics", "ttft"}, {"did you mean \"ttft_ms\""});
  expect_refused({"plot", out(), "--metrics", ""}, {"--metrics", "it is empty"});
  expect_refused({"plot", out(), "--metrics", "ttft_ms,,tpot_ms"}, {"an empty name"});
  expect_refused({"plot", out(), "--metrics", "ttft_ms,"}, {"an empty name"});
  expect_refused({"plot", out(), "--metrics", "ttft_ms,ttft_ms"}, {"names ttft_ms twice"});
}

TEST_F(PlotCommandLine, RunIsNotContinuedWithAnotherModelOfTheSameName) {
  EXPECT_EQ(run({}).status, 0);
  std::ofstream(dir_ / "model" / "config.json", std::ios::app) << "\n";
  const Outcome refused = run({});
  EXPECT_EQ(refused.status, 1);
  for (const char* part : {"config.json of ", ", was ", "--fresh", "--mix"})
    EXPECT_NE(refused.err.find(part), std::string::npos) << part << " not in: " << refused.err;
  EXPECT_EQ(run({"--mix"}).status, 0);
  EXPECT_EQ(run({"--fresh"}).status, 0);
  EXPECT_EQ(run({}).status, 0);
}

TEST_F(CommandLine, GenerateRefusesWhatCannotBe) {
  const std::vector<std::string> base = {"generate", "--model", model(), "--random-weights"};
  const auto with = [&](std::initializer_list<std::string> more) {
    std::vector<std::string> command = base;
    command.insert(command.end(), more);
    return command;
  };
  expect_refused(with({}), {"--prompt", "--ids"});
  expect_refused(with({"--ids", "1,999"}), {"999"});
  expect_refused(with({"--ids", "1", "--method", "contigous"}), {"did you mean \"contiguous\""});
  expect_refused(with({"--ids", "1", "--top-p", "0"}), {"--top-p"});
  expect_refused(with({"--ids", "1", "--dtype", "f8"}), {"f8"});
  expect_refused(with({"--prompt", "hello"}), {"tokenizer"});
  expect_refused({"generate", "--model", "/nowhere", "--ids", "1"}, {"/nowhere"});
}

TEST_F(CommandLine, GeneratePrintsIdsForIdsTheSameForEveryExactMethod) {
  std::string first;
  for (const char* method : {"recompute", "contiguous"}) {
    const Outcome outcome =
        reprise({"generate", "--model", model(), "--random-weights", "--ids", "5,6,7", "--method",
                 method, "--max-new-tokens", "6", "--ignore-eos"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.err.find("TTFT"), std::string::npos);
    if (first.empty()) first = outcome.out;
    EXPECT_EQ(outcome.out, first);
  }
  EXPECT_EQ(std::count(first.begin(), first.end(), ' '), 5) << first;
}

TEST_F(CommandLine, GenerateStaysWithinTheModelsPositions) {
  const Outcome outcome = reprise({"generate", "--model", model(), "--random-weights", "--ids", "5",
                                   "--max-new-tokens", "100000", "--ignore-eos"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("at most 511 are generated"), std::string::npos) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), ' '), 510);
}

TEST_F(CommandLine, LogitsDoNotDependOnTheChunk) {
  const auto logits = [&](std::initializer_list<std::string> more) {
    std::vector<std::string> command = {"logits", "--model",   model(), "--random-weights",
                                        "--ids",  "1,2,3,4,5", "--out", (dir_ / "logits").string()};
    command.insert(command.end(), more);
    const Outcome outcome = reprise(command);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const std::string bytes = read_file(dir_ / "logits");
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  };
  const auto whole = logits({});
  ASSERT_EQ(whole.size(), 5u * 256);
  const auto chunked = logits({"--chunk", "2"});
  const auto last = logits({"--last"});
  const auto placed = logits({"--positions", "0,1,2,3,4"});
  ASSERT_EQ(chunked.size(), whole.size());
  ASSERT_EQ(last.size(), 256u);
  EXPECT_EQ(placed, whole);
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(chunked[i], whole[i], 1e-4);
  for (size_t i = 0; i < last.size(); ++i) EXPECT_NEAR(last[i], whole[4 * 256 + i], 1e-4);
  expect_refused({"logits", "--model", model(), "--random-weights", "--ids", "1,2", "--positions",
                  "0", "--out", "x"},
                 {"--positions has 1", "--ids has 2"});
}

// A method once had no room for prompts of these lengths. tests/core/engine/logits_mode_test.cpp
// tests every length.
TEST_F(CommandLine, LogitsOfAnyLengthByEveryMethod) {
  for (const char* method :
       {"recompute", "contiguous", "paged", "paged_shared", "chunk_attention", "relay_attention"})
    for (int tokens : {1, 50, 64, 78}) {
      std::string ids = "3";
      for (int i = 1; i < tokens; ++i) ids += fmt::format(",{}", 3 + i);
      const Outcome outcome = reprise({"logits", "--model", model(), "--random-weights", "--method",
                                       method, "--ids", ids, "--out", (dir_ / "logits").string()});
      EXPECT_EQ(outcome.status, 0) << method << " " << tokens << ": " << outcome.err;
      EXPECT_EQ(fs::file_size(dir_ / "logits"), static_cast<size_t>(tokens) * 256 * sizeof(float));
    }
}

TEST_F(CommandLine, RefusedRequestsAreErrorsThatSayWhy) {
  expect_refused({"generate", "--model", model(), "--random-weights", "--ids", "5,300"},
                 {"token id 300", "vocabulary of 256"});
  std::ofstream(dir_ / "logits") << "an earlier result";
  expect_refused({"logits", "--model", model(), "--random-weights", "--ids", "5,300", "--out",
                  (dir_ / "logits").string()},
                 {"token id 300", "vocabulary of 256"});
  EXPECT_EQ(read_file(dir_ / "logits"), "an earlier result")
      << "lost to a request that was refused";
}

TEST_F(CommandLine, ProbeWritesJson) {
  const Outcome outcome = reprise({"probe", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json facts = Json::parse(outcome.out);
  EXPECT_GT(facts["limits"]["dram_read_gb_s"].get<double>(), 0);
}

}  // namespace
}  // namespace reprise::app
