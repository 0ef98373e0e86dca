// Runs `generate` and `logits`: models by name, number formats, prompts, and how a generation ends.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "tests/app/command_line.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/json.h"

namespace reprise::app {
namespace {

namespace fs = std::filesystem;

class ModelCommands : public CommandLine {
 protected:
  // Runs `generate` greedily with the shipped model.
  [[nodiscard]] Outcome generate(const std::vector<std::string>& more,
                                 const std::string& input = "") const {
    std::vector<std::string> command = {"generate", "--model", "quickstart"};
    command.insert(command.end(), more.begin(), more.end());
    const Outcome outcome = reprise(command, input);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome;
  }
  // A checkpoint of one layer whose embedding begins with `first`.
  [[nodiscard]] std::string checkpoint(const std::string& name, float first,
                                       const std::string& torch_dtype = "float32") const {
    Json config = model::tiny_llama_config();
    config["torch_dtype"] = torch_dtype;
    std::vector<model::TestTensor> tensors = model::tiny_llama_tensors();
    tensors[0].first = first;
    fs::create_directories(dir_ / name);
    std::ofstream(dir_ / name / "config.json") << config.dump();
    std::ofstream(dir_ / name / "model.safetensors", std::ios::binary)
        << model::safetensors_of(tensors);
    return (dir_ / name).string();
  }
};

TEST_F(ModelCommands, TheCheckpointsDtypeIsTheDefault) {
  struct Case {
    const char* stored;
    const char* text;
  };
  for (const Case& one :
       {Case{"bfloat16", "computed in bf16 (as the checkpoint), keys and values in bf16"},
        Case{"float32", "computed in f32 (as the checkpoint), keys and values in f32"},
        Case{"float16", "computed in f32 (the checkpoint is in f16"}}) {
    const std::string place = checkpoint("model", 0.5f, one.stored);
    const std::string out = (dir_ / "logits").string();
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"generate", "--model", place, "--ids", "3"},
             {"logits", "--model", place, "--ids", "3", "--out", out}}) {
      const Outcome outcome = reprise(command);
      EXPECT_EQ(outcome.status, 0) << outcome.err;
      EXPECT_NE(outcome.err.find(one.text), std::string::npos) << outcome.err;
      std::vector<std::string> overridden = command;
      overridden.insert(overridden.end(), {"--dtype", "f32", "--kv-dtype", "bf16"});
      EXPECT_NE(reprise(overridden).err.find("f32 (by --dtype), keys and values in bf16"),
                std::string::npos);
    }
  }
}

// Each thread asks for a stack of 4 GiB, more than the program may have. Where FAISS is linked with
// OpenBLAS, OPENBLAS_NUM_THREADS=1 keeps OpenBLAS from starting threads of its own before main(),
// which would end the program.
TEST_F(ModelCommands, ThreadsThatCannotBeStartedAreAnErrorWithARemedy) {
  Subprocess limited(
      {"bash", "-c",
       R"(ulimit -S -s 4194304 && ulimit -v 4194304 && OPENBLAS_NUM_THREADS=1 exec "$@")", "bash",
       REPRISE_PROGRAM, "generate", "--model", "quickstart", "--prompt", "Once upon", "--threads",
       "2"},
      dir_, "");
  EXPECT_EQ(limited.wait(), 1);
  EXPECT_NE(limited.err().find("the system starts no thread to compute with"), std::string::npos)
      << limited.err();
  EXPECT_NE(limited.err().find("--threads"), std::string::npos);
}

TEST_F(ModelCommands, ShippedModelsAndShapesHaveNames) {
  const std::string text = generate({"--prompt", "Once upon", "--max-new-tokens", "8"}).out;
  EXPECT_GT(text.size(), 8u);
  const Outcome by_path = reprise({"generate", "--model", REPRISE_SOURCE_DIR "/models/quickstart",
                                   "--prompt", "Once upon", "--max-new-tokens", "8"});
  EXPECT_EQ(by_path.out, text);
  expect_refused({"generate", "--model", "quikstart", "--ids", "1"},
                 {"unknown model \"quikstart\"", "did you mean \"quickstart\""});
  expect_refused({"generate", "--model", "llama-2-7", "--ids", "1"},
                 {"did you mean \"llama-2-7b\""});
  expect_refused({"generate", "--model", "tinyllama-1.1b", "--ids", "1"}, {"--random-weights"});
}

TEST_F(ModelCommands, PromptsComeFromFilesAndStandardInput) {
  std::ofstream(dir_ / "prompt") << "Once upon";
  const std::string wanted = generate({"--prompt", "Once upon", "--max-new-tokens", "8"}).out;
  EXPECT_EQ(generate({"--prompt-file", (dir_ / "prompt").string(), "--max-new-tokens", "8"}).out,
            wanted);
  EXPECT_EQ(generate({"--prompt-file", "-", "--max-new-tokens", "8"}, "Once upon").out, wanted);
  // A shell has read the first line already.
  Subprocess rest({"/bin/sh", "-c",
                   "read -r title; exec \"$0\" generate --model quickstart --prompt-file - "
                   "--max-new-tokens 8",
                   REPRISE_PROGRAM},
                  dir_, "Title\nOnce upon");
  EXPECT_EQ(rest.wait(), 0);
  EXPECT_EQ(rest.out(), wanted);
  expect_refused({"generate", "--model", "quickstart", "--prompt-file", "-"}, {"no token"});
  expect_refused({"generate", "--model", "quickstart", "--prompt-file", "-", "--prompt", "a"},
                 {"one of --prompt"});
}

TEST_F(ModelCommands, StopTextIsCutOutAndNamed) {
  const std::string whole = generate({"--prompt", "Once upon", "--max-new-tokens", "32"}).out;
  ASSERT_GT(whole.size(), 30u);
  // Tries stop texts from many places, so that some begin and end inside tokens or span several
  // tokens.
  for (size_t begin = 3; begin + 9 < whole.size(); begin += 5) {
    const std::string stop = whole.substr(begin, 9);
    if (stop.find('\n') != std::string::npos) continue;
    const Outcome outcome = generate(
        {"--prompt", "Once upon", "--max-new-tokens", "32", "--stop", "not there", "--stop", stop});
    EXPECT_EQ(outcome.out, whole.substr(0, whole.find(stop)) + "\n");
    EXPECT_NE(outcome.err.find(fmt::format("stopped by stop text \"{}\"", stop)), std::string::npos)
        << outcome.err;
  }
  EXPECT_EQ(
      generate({"--prompt", "Once upon", "--max-new-tokens", "32", "--stop", "not there"}).out,
      whole);
  expect_refused(on_model("generate", {"--ids", "1", "--stop", "a"}), {"--stop", "--prompt"});
}

TEST_F(ModelCommands, TheSummaryTellsWhyItStopped) {
  const Outcome length =
      reprise(on_model("generate", {"--ids", "5,6", "--max-new-tokens", "3", "--ignore-eos"}));
  EXPECT_NE(length.err.find("stopped by length, 3 tokens"), std::string::npos) << length.err;
  // At temperature 100, all 256 tokens are about equally likely. Among 40 seeds with up to 100
  // tokens each, some draw the token that ends the text.
  bool has_ended = false;
  for (int seed = 0; seed < 40 && !has_ended; ++seed) {
    const Outcome outcome =
        reprise(on_model("generate", {"--ids", "5", "--max-new-tokens", "100", "--temperature",
                                      "100", "--seed", std::to_string(seed)}));
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    has_ended = outcome.err.find("stopped by end of sequence, token 2") != std::string::npos;
    EXPECT_EQ(has_ended, outcome.out.ends_with(" 2\n")) << outcome.out << outcome.err;
  }
  EXPECT_TRUE(has_ended);
}

TEST_F(ModelCommands, PositionsBeyondTheModelAreRefused) {
  std::string ids = "1";
  for (int i = 1; i < 513; ++i) ids += ",1";
  const std::string out = (dir_ / "logits").string();
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           on_model("generate", {"--ids", ids}), on_model("logits", {"--ids", ids, "--out", out}),
           on_model("logits", {"--ids", "1,2", "--positions", "0,512", "--out", out})})
    expect_refused(command, {"places at most 512"});
  const std::string fits = ids.substr(2);
  EXPECT_EQ(reprise(on_model("logits", {"--ids", fits, "--out", out})).status, 0);
  EXPECT_EQ(
      reprise(on_model("logits", {"--ids", "1,2", "--positions", "0,511", "--out", out})).status,
      0);
}

TEST_F(ModelCommands, BenchRefusesBeforeItMeasures) {
  const Outcome beyond =
      reprise({"bench", "--model", "quickstart", "-p", "1", "-n", "2", "-d", "4096", "-r", "1"});
  EXPECT_EQ(beyond.status, 1);
  EXPECT_NE(beyond.err.find("--depth"), std::string::npos) << beyond.err;
  EXPECT_EQ(beyond.err.find("prefill 1:"), std::string::npos) << beyond.err;
  for (const char* option : {"--prompt-tokens", "--new-tokens", "--batch"})
    expect_refused(on_model("bench", {option, "16,8,16"}), {option, "16 twice"});
}

// 4096 sequences of 500000 tokens take 1 TB.
TEST_F(ModelCommands, BenchSkipsWhatDoesNotFitAndSaysSo) {
  Json config = Json::parse(read_file(dir_ / "model" / "config.json"));
  config["max_position_embeddings"] = 600000;
  std::ofstream(dir_ / "model" / "config.json") << config.dump();
  const Outcome outcome = reprise(on_model(
      "bench", {"-p", "4", "-n", "2", "-b", "4096", "-d", "500000", "-r", "1", "--threads", "1"}));
  EXPECT_EQ(outcome.status, 3) << outcome.err;
  EXPECT_NE(outcome.out.find("prefill 4"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("GiB"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("1 of the tests above were skipped"), std::string::npos)
      << outcome.err;
}

// Linear and dynamic scaling stretch the range of the model's positions; with ALiBi there is no
// limit.
TEST_F(ModelCommands, PositionsOfScaledAndEndlessModelsAreTaken) {
  std::string ids = "1";
  for (int i = 1; i < 40; ++i) ids += ",1";
  const std::string out = (dir_ / "logits").string();
  const fs::path folder = dir_ / "long";
  fs::create_directories(folder);
  const auto on_long = [&](const Json& config, std::vector<std::string> command) {
    std::ofstream(folder / "config.json") << config.dump();
    command.insert(command.begin() + 1, {"--model", folder.string(), "--random-weights"});
    return command;
  };
  Json llama = model::tiny_llama_config();
  llama["max_position_embeddings"] = 32;
  const Json mpt = {{"model_type", "mpt"}, {"d_model", 32},    {"n_heads", 2},
                    {"n_layers", 1},       {"vocab_size", 64}, {"max_seq_len", 32}};
  for (const char* type : {"linear", "dynamic"}) {
    llama["rope_scaling"] = {{"type", type}, {"factor", 4.0}};
    EXPECT_EQ(reprise(on_long(llama, {"logits", "--ids", ids, "--out", out})).status, 0);
    const Outcome generated =
        reprise(on_long(llama, {"generate", "--ids", ids, "--max-new-tokens", "100"}));
    EXPECT_EQ(generated.status, 0) << generated.err;
    EXPECT_NE(generated.err.find("places 128 tokens, so at most 88"), std::string::npos)
        << generated.err;
    expect_refused(on_long(llama, {"logits", "--ids", "1", "--positions", "128", "--out", out}),
                   {"places at most 128"});
  }
  EXPECT_EQ(reprise(on_long(mpt, {"logits", "--ids", ids, "--out", out})).status, 0);
  EXPECT_EQ(reprise(on_long(mpt, {"generate", "--ids", ids, "--max-new-tokens", "3"})).status, 0);
}

TEST_F(ModelCommands, TextThatIsNotUtf8NamesItsFileAndLine) {
  const std::string file = (dir_ / "prompt.txt").string();
  std::ofstream(file) << "one\ntw\xffo\n";
  expect_refused({"generate", "--model", "quickstart", "--prompt-file", file},
                 {file, "byte 6, in line 2"});
  expect_refused({"generate", "--model", "quickstart", "--prompt", "tw\xffo"},
                 {"--prompt is not valid UTF-8 at byte 2;"});
  expect_refused({"run", "quickstart", "--scale", "smoke", "--dry-run", "--set",
                  "workload={\"name\":\"text_prompts\",\"file\":\"" + file + "\"}"},
                 {file, "in line 2"});
  // A prompt of far more bytes than the model has positions is refused before it is tokenized.
  std::ofstream(file) << std::string(3 << 20, 'a');
  expect_refused({"generate", "--model", "quickstart", "--prompt-file", file},
                 {file, "3145728 bytes", "at most 2048 tokens"});
}

TEST_F(ModelCommands, CorruptLogitsAreRefusedByBoth) {
  const std::string place = checkpoint("nan", std::numeric_limits<float>::quiet_NaN());
  const std::string out = (dir_ / "logits").string();
  expect_refused({"generate", "--model", place, "--ids", "3"}, {"NaN", "corrupt"});
  expect_refused({"logits", "--model", place, "--ids", "3,4", "--out", out},
                 {"NaN", "entry 1 of the ids", "corrupt"});
  EXPECT_FALSE(fs::exists(out));
}

// Without batch invariance, chunks of one token are computed by other kernels than a whole prompt.
TEST_F(ModelCommands, BatchInvariantLogitsDoNotDependOnTheChunks) {
  const auto logits = [&](const char* chunk) {
    const fs::path out = dir_ / "logits";
    const Outcome outcome = reprise({"logits", "--model", "quickstart", "--ids", "1,5,9,77,300,4",
                                     "--chunk", chunk, "--batch-invariant", "--out", out.string()});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return read_file(out, size_t{1} << 20);
  };
  EXPECT_EQ(logits("1"), logits("512"));
}

}  // namespace
}  // namespace reprise::app
