// Runs every method in every command: it must run, or be refused with the reason that `reprise
// list` gives.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "experiments/kinds/registry.h"
#include "tests/app/command_line.h"

namespace reprise::app {
namespace {

const std::string kPml = std::string(REPRISE_SOURCE_DIR) + "/experiments/prompt_cache/pml/travel";

class MethodCommands : public CommandLine {
 protected:
  [[nodiscard]] std::vector<std::string> command(const experiments::MethodCell& cell) const {
    if (cell.place == "generate")
      return {"generate", "--model", "quickstart", "--method",         cell.method, "--ids",
              "3,4,5",    "--dtype", "f32",        "--max-new-tokens", "2"};
    return {"logits",   "--model",   "quickstart",
            "--method", cell.method, "--ids",
            "3,4,5",    "--out",     (dir_ / "logits").string()};
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
    } else if (cell.place == "generate" || cell.place == "logits") {
      const Outcome outcome = reprise(command(cell));
      has_run = outcome.status == 0;
      err = outcome.err;
    } else {
      continue;  // this column is a kind, not a command
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
  // Plain prompts stay plain.
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

}  // namespace
}  // namespace reprise::app
