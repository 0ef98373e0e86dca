// Runs every method in every command: it must run, or be refused with the reason that `reprise
// list` gives.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/model/network/decoder.h"
#include "core/sentence/embedder.h"
#include "core/tokenizer/tokenizer.h"
#include "experiments/kinds/registry.h"
#include "experiments/kinds/sentences/prefill_lane.h"
#include "experiments/kinds/shared/places.h"
#include "methods/registry.h"
#include "tests/app/command_line.h"
#include "tests/support/environment.h"
#include "tests/support/json.h"

namespace reprise::app {
namespace {

const std::string kPml = std::string(REPRISE_SOURCE_DIR) + "/experiments/prompt_cache/pml/travel";

class MethodCommands : public CommandLine {
 protected:
  [[nodiscard]] std::vector<std::string> command(const experiments::MethodCell& cell) const {
    if (cell.place == "generate")
      return {"generate", "--model", "quickstart", "--method",         cell.method, "--ids",
              "3,4,5",    "--dtype", "f32",        "--max-new-tokens", "2"};
    if (cell.place == "embed") {
      std::vector<std::string> words = {"embed", "--model", "quickstart", "--method", cell.method};
      if (methods::method_named(cell.method).info.uses_prompts)
        words.insert(words.end(), {"--stored", texts()});
      if (cell.method == "attn_cache")  // by default it trains, which may need libtorch
        words.insert(words.end(), {"--method-options", R"({"preset": "raw"})"});
      return words;
    }
    if (cell.place == "bench")
      return {"bench", "--model", "quickstart", "--method", cell.method, "-p",
              "8",     "-n",      "2",          "-r",       "1"};
    if (cell.place == "pml run")
      return {"pml",        "run",      kPml + ".schema.xml", kPml + ".prompt.xml", "--model",
              "quickstart", "--method", cell.method,          "--max-new-tokens",   "1"};
    return {"logits",   "--model",   "quickstart",
            "--method", cell.method, "--ids",
            "3,4,5",    "--out",     (dir_ / "logits").string()};
  }
  // A file of texts that methods may store or choose layers by.
  [[nodiscard]] std::string texts() const {
    std::ofstream(dir_ / "texts.txt") << "Once upon a time\nThe cat sat down\n";
    return (dir_ / "texts.txt").string();
  }
  // Starts a server, ends it once it prints its address, and returns its standard error.
  [[nodiscard]] std::string serve(const std::string& method, bool& has_started) const {
    std::filesystem::create_directories(dir_ / "server");
    Subprocess process(
        {REPRISE_PROGRAM, "serve", "--model", "quickstart", "--port", "0", "--method", method},
        dir_ / "server");
    has_started = false;
    const auto says = [&](const std::string& text, const std::string& what) {
      return text.find(what) != std::string::npos;
    };
    for (int i = 0; i < 600 && !has_started && !says(process.err(), "reprise: "); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      has_started = says(process.out(), "/v1\n");
    }
    if (has_started) process.send(SIGTERM);
    EXPECT_EQ(process.wait() == 0, has_started);
    return process.err();
  }
};

TEST_F(MethodCommands, EachCellRunsOrIsRefusedWithItsReason) {
  int accepted = 0, refused = 0;
  for (const experiments::MethodCell& cell : experiments::method_matrix()) {
    const std::string place = cell.method + " in " + cell.place;
    const std::string reason =
        fmt::format("method \"{}\" does not run here: {}", cell.method, cell.refusal);
    std::string err;
    bool has_run = false;
    if (cell.place == "serve") {
      err = serve(cell.method, has_run);
    } else if (cell.place == "generate" || cell.place == "logits" || cell.place == "embed" ||
               cell.place == "bench" || cell.place == "pml run") {
      // bench first measures the machine for four seconds, so only one method that it accepts is
      // run.
      if (cell.place == "bench" && cell.refusal.empty() && cell.method != "paged_shared") continue;
      const Outcome outcome = reprise(command(cell), "Once upon a time\n");
      has_run = outcome.status == 0;
      err = outcome.err;
    } else {
      continue;  // the cell is of a kind of experiment, not of a command
    }
    EXPECT_EQ(has_run, cell.refusal.empty()) << place << ": " << err;
    ++(has_run ? accepted : refused);
    if (!has_run) {
      EXPECT_NE(err.find(reason), std::string::npos) << place << ": " << err;
    }
  }
  EXPECT_GT(accepted, 20);
  EXPECT_GT(refused, 10);
}

// The vectors that a lane of kind "sentences" computes with a model and a method, one text a step.
std::vector<std::vector<float>> vectors_of_lane(const std::string& model, const Json& options,
                                                const std::vector<std::string>& stored,
                                                const std::vector<std::string>& asked) {
  const Context context = Context::machine();
  const std::string folder = experiments::resolve_model(model);
  const auto decoder = model::load_decoder(folder, {.dtype = DType::kF32}, context);
  const auto tokenizer = load_tokenizer(folder);
  sentence::Embedder embedder(*decoder, *tokenizer,
                              sentence::settings_of(folder, decoder->config()));
  const auto read = [&](const sentence::TextTokens& text, model::LayerPolicy* policy) {
    std::vector<float> vector(static_cast<size_t>(embedder.width()));
    embedder.read({&text, 1}, vector, policy);
    return vector;
  };
  std::vector<std::vector<int32_t>> database;
  for (const std::string& text : stored) database.push_back(embedder.tokens_of(text).ids);
  const methods::Setup setup = {.context = context,
                                .config = decoder->config(),
                                .model = model,
                                .run =
                                    [&](std::span<const int32_t> ids, model::LayerPolicy* policy) {
                                      return read({.ids = {ids.begin(), ids.end()}}, policy);
                                    },
                                .database = database};
  experiments::MethodChoice choice;
  choice.name = "attn_cache";
  choice.options = fields_of(options);
  experiments::PrefillLane lane(choice, setup, 1);
  std::vector<std::vector<float>> vectors(asked.size());
  lane.take(std::ssize(asked), /*is_warmup=*/false, [&](int64_t step, model::LayerPolicy* policy) {
    const auto i = static_cast<size_t>(step);
    vectors[i] = read({.ids = lane.formed(embedder.tokens_of(asked[i]).ids)}, policy);
  });
  return vectors;
}

TEST_F(MethodCommands, EmbedComputesWhatKindSentencesDoes) {
  const Json options = {{"preset", "raw"}, {"threshold", 0.5}};
  const std::vector<std::string> stored = {"Once upon a time", "The cat sat down"};
  const std::vector<std::string> asked = {"The cat sat down", "Once upon a hill", "A dog"};
  const auto want = vectors_of_lane("quickstart", options, stored, asked);
  const Outcome outcome =
      reprise({"embed", "--model", "quickstart", "--dtype", "f32", "--method", "attn_cache",
               "--method-options", options.dump(), "--stored", texts()},
              fmt::format("{}\n", fmt::join(asked, "\n")));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("2 of 3 texts hit"), std::string::npos) << outcome.err;
  std::istringstream lines(outcome.out);
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto got = Json::parse(line).get<std::vector<float>>();
    ASSERT_LT(count, want.size());
    ASSERT_EQ(got.size(), want[count].size());
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want[count][i], 1e-5 * (1 + std::abs(want[count][i]))) << count;
  }
  EXPECT_EQ(count, asked.size());
}

TEST_F(MethodCommands, APromptThatImportsModulesGeneratesWhatPmlRunDoes) {
  const std::vector<std::string> run = {"pml",
                                        "run",
                                        kPml + ".schema.xml",
                                        kPml + ".prompt.xml",
                                        "--model",
                                        "quickstart",
                                        "--dtype",
                                        "f32",
                                        "--max-new-tokens",
                                        "16"};
  const auto generate = [&](const std::string& options, const std::string& prompt) {
    return reprise({"generate", "--model", "quickstart", "--dtype", "f32", "--max-new-tokens", "16",
                    "--method", "prompt_cache", "--method-options", options, "--schema",
                    kPml + ".schema.xml", prompt.starts_with("/") ? "--prompt-file" : "--prompt",
                    prompt});
  };
  for (const std::string mode : {"isolated", "joint", "scaffold", "repair"}) {
    std::vector<std::string> with_mode = run;
    with_mode.insert(with_mode.end(), {"--mode", mode});
    const Outcome wanted = reprise(with_mode);
    ASSERT_EQ(wanted.status, 0) << wanted.err;
    const Outcome found =
        generate(fmt::format(R"({{"mode": "{}", "cache": "paged"}})", mode), kPml + ".prompt.xml");
    ASSERT_EQ(found.status, 0) << found.err;
    EXPECT_EQ(found.out, wanted.out) << mode;
    EXPECT_NE(found.err.find("of them cached"), std::string::npos) << found.err;
  }
  // A prompt without markup gives the same text as without a method and a schema.
  EXPECT_EQ(generate("{}", "Once upon").out,
            reprise({"generate", "--model", "quickstart", "--dtype", "f32", "--max-new-tokens",
                     "16", "--prompt", "Once upon"})
                .out);
  EXPECT_NE(generate("{}", "<prompt schema=\"travel\"><nowhere/>x</prompt>").err.find("nowhere"),
            std::string::npos);
}

TEST_F(MethodCommands, ASchemaIsRefusedWhereNobodyReadsIt) {
  expect_refused({"generate", "--model", "quickstart", "--method", "paged", "--schema",
                  kPml + ".schema.xml", "--prompt", "x"},
                 {"--schema", "method \"paged\" reads no schemas", "prompt_cache"});
  expect_refused({"generate", "--model", "quickstart", "--method", "prompt_cache", "--schema",
                  kPml + ".schema.xml", "--ids", "3"},
                 {"--schema", "--prompt"});
  expect_refused({"generate", "--model", "quickstart", "--method", "prompt_cache", "--schema",
                  "nothing.xml", "--prompt", "x"},
                 {"nothing.xml"});
}

// The schema's modules take seconds to encode. The signal comes when the first of them are stored.
TEST_F(MethodCommands, AnInterruptWhileModulesAreEncodedLeavesNoneBehind) {
  const auto temporary = dir_ / "temporary";
  const std::string schema = (dir_ / "s.xml").string();
  std::filesystem::create_directory(temporary);
  const testing::EnvironmentVariable tmpdir("TMPDIR", temporary.string());
  std::string modules;
  for (int i = 0; i < 300; ++i)
    modules += fmt::format("<module name=\"m{0}\">word {0} is here</module>", i);
  std::ofstream(schema) << "<schema name=\"s\">" << modules << "</schema>";
  for (std::vector<std::string> words :
       {std::vector<std::string>{"generate", "--prompt", "x"}, {"serve", "--port", "0"}}) {
    words.insert(words.begin(), REPRISE_PROGRAM);
    words.insert(words.end(), {"--model", "quickstart", "--random-weights", "--method",
                               "prompt_cache", "--method-options",
                               R"({"tier": "disk", "mode": "isolated"})", "--schema", schema});
    Subprocess process(words, dir_);
    for (int looks = 0; std::filesystem::is_empty(temporary) && looks < 20000; ++looks)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_FALSE(std::filesystem::is_empty(temporary)) << process.err();
    process.send(SIGTERM);
    EXPECT_EQ(process.wait(), 130) << process.err();
    EXPECT_TRUE(std::filesystem::is_empty(temporary)) << words[1];
    EXPECT_NE(process.err().find("interrupted before"), std::string::npos) << process.err();
  }
}

// The program watches for interrupts only after it has read the prompt, so that an interrupt ends
// the wait for the prompt at once.
TEST_F(MethodCommands, AnInterruptEndsTheWaitForAPromptWithMarkup) {
  const std::string pipe = (dir_ / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  Subprocess process({REPRISE_PROGRAM, "generate", "--model", "quickstart", "--method",
                      "prompt_cache", "--schema", kPml + ".schema.xml", "--prompt-file", pipe},
                     dir_);
  int writer = -1;  // can be opened as soon as the program reads
  for (int looks = 0; writer < 0 && looks < 20000; ++looks) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    writer = ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  }
  ASSERT_GE(writer, 0) << process.err();
  process.send(SIGINT);
  ::close(writer);  // a program that ignored the signal would wait for ever
  EXPECT_EQ(process.wait(), 130) << process.err();
}

}  // namespace
}  // namespace reprise::app
