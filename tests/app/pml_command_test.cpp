// Runs `reprise pml check`, `reprise pml layout` and `reprise pml run` as a user does.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>

#include "tests/app/command_line.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/json.h"

namespace reprise::app {
namespace {

constexpr const char* kSchema =
    "<schema name=\"trip\">one two\n<module name=\"plan\">three four <param name=\"days\" "
    "len=\"4\"/> "
    "five</module>\n<union><module name=\"miami\">sea</module><module name=\"rome\">hills and "
    "sea</module></union></schema>\n";
constexpr const char* kPrompt = "<prompt schema=\"trip\"><plan days=\"3\"/><miami/> six</prompt>\n";

class PmlCommand : public CommandLine {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ / name) << text;
    return (dir_ / name).string();
  }
  // Number of tokens of `text` by `reprise tokenize`.
  [[nodiscard]] int64_t tokens(const std::string& text) const {
    const Outcome outcome =
        reprise({"tokenize", "--tokenizer", std::string(REPRISE_SOURCE_DIR) + "/models/quickstart"},
                text + "\n");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    std::istringstream words(outcome.out);
    return std::distance(std::istream_iterator<std::string>(words), {});
  }
  [[nodiscard]] Outcome layout(std::vector<std::string> more) const {
    more.insert(more.begin(), {"pml", "layout"});
    more.insert(more.end(), {"--model", "quickstart", "--template", "plain"});
    return reprise(more);
  }
};

TEST_F(PmlCommand, CheckTellsWhatIsInGoodFiles) {
  const std::string schema = write("s.xml", kSchema), prompt = write("p.xml", kPrompt);
  const Outcome outcome = reprise({"pml", "check", prompt, schema});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, schema + ": schema \"trip\" with 3 modules, 1 union, 1 parameter\n" +
                             prompt + ": prompt of schema \"trip\"\n");
  const Outcome alone = reprise({"pml", "check", prompt});
  EXPECT_EQ(alone.status, 0) << alone.err;
  EXPECT_NE(alone.out.find("its imports are not checked"), std::string::npos);
}

TEST_F(PmlCommand, CheckTellsAllProblemsOfAllFiles) {
  const std::string broken =
      write("b.xml", "<schema name=\"b\">\n<module name=\"\"/>\n<union/></schema>");
  const std::string stray = write("c.xml", "<schema name=\"c\">a < b</schema>");
  const std::string prompt = write("p.xml", "<prompt schema=\"trip\"><miam/>x</prompt>");
  const std::string schema = write("s.xml", kSchema);
  expect_refused({"pml", "check", broken, stray, prompt, schema, "nothing.xml"},
                 {"5 problems", broken + ":2:9: <module> has no name",
                  broken + ":3:1: <union> has no", stray + ":1:20: \"<\" begins no tag",
                  prompt + ":1:23: unknown module \"miam\"", "nothing.xml"});
  const std::string again = write("t.xml", kSchema);
  expect_refused({"pml", "check", again, prompt, schema},
                 {prompt + ":1:1: schema \"trip\" is in " + again + " and in " + schema});
}

TEST_F(PmlCommand, LenientReadsAStrayCharacterWithANote) {
  const std::string file = write("stray.xml",
                                 "<schema name=\"s\">\n<module name=\"m\">a <= b &lt; c"
                                 "</module>\n</schema>\n");
  EXPECT_NE(reprise({"pml", "check", file}).status, 0);
  const Outcome read = reprise({"pml", "check", file, "--lenient"});
  EXPECT_EQ(read.status, 0) << read.err;
  EXPECT_NE(
      read.err.find("note: " + file + ":2:20: \"<\" begins no tag; it is read as the character"),
      std::string::npos)
      << read.err;
  const std::string broken = write("broken.xml", "<schema name=\"s\"> 1 < 2 <module></schema>");
  EXPECT_NE(reprise({"pml", "check", broken, "--lenient"}).status, 0);
}

TEST_F(PmlCommand, LayoutPrintsThePositionMap) {
  const std::string schema = write("s.xml", kSchema);
  const Outcome outcome = layout({schema});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const int64_t first = tokens("one two");
  const int64_t days = first + tokens("three four"), five = days + 4,
                choice = five + tokens(" five");
  const int64_t end = choice + tokens("hills and sea");
  EXPECT_EQ(
      outcome.out,
      fmt::format(". 0 {5}\n#1 0 {0}\nplan {0} {4}\nplan#1 {0} {1}\nplan:days {1} {2}\nplan#2 {2} "
                  "{4}\nmiami {4} {3}\nmiami#1 {4} {3}\nrome {4} {5}\nrome#1 {4} {5}\n",
                  first, days, five, choice + tokens("sea"), choice, end));
}

TEST_F(PmlCommand, LayoutsJsonCanHaveUnprintableCharacters) {
  const std::string schema =
      write("s.xml", R"(<schema name="Ann&#x92;s trip"><module name="m">Hi</module></schema>)");
  const Outcome json = layout({schema, "--json"});
  ASSERT_EQ(json.status, 0) << json.err;
  EXPECT_EQ(field_of(parse_json(json.out, "output"), "name"), Value("Ann\xC2\x92s trip"));
}

TEST_F(PmlCommand, LayoutOfAPromptTellsWhatIsNew) {
  const std::string schema = write("s.xml", kSchema), prompt = write("p.xml", kPrompt);
  const Outcome lines = layout({schema, prompt});
  ASSERT_EQ(lines.status, 0) << lines.err;
  const int64_t first = tokens("one two"), days = first + tokens("three four"), five = days + 4,
                choice = five + tokens(" five"), end = choice + tokens("hills and sea");
  EXPECT_EQ(
      lines.out,
      fmt::format("#1 0 {0}\nplan#1 {0} {1}\n+plan:days {1} {2}\nplan#2 {3} {4}\nmiami#1 {4} {5}\n"
                  "+#1 {6} {7}\n",
                  first, days, days + tokens(" 3"), five, choice, choice + tokens("sea"), end,
                  end + tokens(" six")));
  const Outcome json = layout({schema, prompt, "--json"});
  ASSERT_EQ(json.status, 0) << json.err;
  const Json both = parse_json(json.out, "output");
  EXPECT_EQ(both["schema"]["positions"], end);
  EXPECT_EQ(both["schema"]["joint_passes"], 3);
  EXPECT_EQ(both["prompt"]["end"], end + tokens(" six"));
  EXPECT_EQ(both["prompt"]["new"][0]["kind"], "argument");
  EXPECT_EQ(both["prompt"]["modules"], Json({".", "plan", "miami"}));
}

TEST_F(PmlCommand, WhatIsMissingOrMistypedIsNamed) {
  const std::string schema = write("s.xml", kSchema);
  expect_refused({"pml", "chek", schema}, {"pml: unknown command \"chek\"", "\"check\"?"});
  expect_refused({"pml"}, {"subcommand"});
  expect_refused({"pml", "check"}, {"FILE"});
  expect_refused({"pml", "layout", schema}, {"--model is required"});
  expect_refused({"pml", "layout", schema, "--modle", "quickstart"},
                 {"layout: unknown option \"--modle\"", "\"--model\"?"});
  expect_refused({"pml", "layout", schema, "--model", "quickstart", "--template", "lama-2"},
                 {"unknown chat template \"lama-2\"", "\"llama-2\"?"});
  std::filesystem::create_directories(dir_ / "tokenizer_alone");
  std::filesystem::copy_file(
      std::filesystem::path(REPRISE_SOURCE_DIR) / "models" / "quickstart" / "tokenizer.model",
      dir_ / "tokenizer_alone" / "tokenizer.model");
  const std::string alone = (dir_ / "tokenizer_alone").string();
  expect_refused({"pml", "layout", schema, "--model", alone}, {"no config.json", "--template"});
  EXPECT_EQ(reprise({"pml", "layout", schema, "--model", alone, "--template", "plain"}).status, 0);
}

class PmlRun : public PmlCommand {
 protected:
  void SetUp() override {
    PmlCommand::SetUp();
    schema_ = write("s.xml", kSchema);
    prompt_ = write("p.xml", kPrompt);
  }
  [[nodiscard]] Outcome run(std::vector<std::string> more) const {
    std::vector<std::string> words = {"pml", "run", schema_, prompt_, "--model", "quickstart"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--template", "plain", "--max-new-tokens", "8", "--ignore-eos"});
    return reprise(words);
  }
  // Flips a bit in the last layer of each segment's file.
  static void damage_segments(const std::filesystem::path& store) {
    for (const auto& entry : std::filesystem::directory_iterator(store)) {
      if (entry.path().extension() != ".segment") continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(-3, std::ios::end);
      const auto at = file.tellp();
      file.seekg(at);
      const int byte = file.get();
      file.seekp(at);
      file.put(static_cast<char>(byte ^ 0x40));
    }
  }
  static void expect_note(const Outcome& outcome, const std::string& text) {
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
  }
  std::string schema_, prompt_;
};

TEST_F(PmlRun, SplitsTheTimeToTheFirstToken) {
  for (const char* mode : {"isolated", "joint", "scaffold", "repair"}) {
    const Outcome outcome = run({"--mode", mode});
    expect_note(outcome, fmt::format("modules: {} states of 4 segments computed", mode));
    EXPECT_NE(outcome.err.find("TTFT "), std::string::npos);
    EXPECT_NE(outcome.err.find(" ms: lookup "), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("copy 0 (0 bytes), compute "), std::string::npos) << outcome.err;
    EXPECT_FALSE(outcome.out.empty());
    // Copied states give the same output.
    const Outcome copied = run({"--mode", mode, "--copy"});
    EXPECT_EQ(copied.out, outcome.out);
    EXPECT_EQ(copied.err.find("(0 bytes)"), std::string::npos) << copied.err;
  }
}

TEST_F(PmlRun, ADecoderWithoutAHeadIsRefused) {
  std::ofstream(dir_ / "model/config.json") << model::tiny_llama_config().dump();
  std::ofstream(dir_ / "model/model.safetensors")
      << model::safetensors_of(model::headless_llama_tensors());
  std::filesystem::copy_file(REPRISE_SOURCE_DIR "/models/quickstart/tokenizer.model",
                             dir_ / "model/tokenizer.model");
  expect_refused({"pml", "run", schema_, prompt_, "--model", model(), "--template", "plain"},
                 {"no head", "lm_head.weight"});
}

TEST_F(PmlRun, AnUnknownModeNamesTheNearest) {
  expect_refused({"pml", "run", schema_, prompt_, "--model", "quickstart", "--mode", "isolate"},
                 {"unknown mode \"isolate\"", "\"isolated\"?"});
}

TEST_F(PmlRun, AWholePromptAtTheSamePositionsIsThatOfARepairOfAll) {
  // The prompt gives no argument, so the argument's positions stay empty in both runs. With an
  // argument the runs would differ: in a whole prompt, the imported tokens behind the argument
  // attend to it, but in a repair they do not.
  const std::string text = "<prompt schema=\"trip\"><plan/><rome/> six</prompt>";
  write("p.xml", text);
  const Outcome whole = run({"--no-cache", "gapped", "--dtype", "f32"});
  expect_note(whole, "0 tokens imported");
  EXPECT_EQ(run({"--mode", "repair", "--repair-share", "1", "--dtype", "f32"}).out, whole.out);
}

TEST_F(PmlRun, ASchemaWithNothingToKeepSaysSo) {
  write("s.xml",
        "<schema name=\"trip\"><module name=\"m\" cache=\"false\">Hello</module></schema>");
  write("p.xml", "<prompt schema=\"trip\"><m/> six</prompt>");
  expect_note(run({}), "the schema has no text whose states are kept");
}

TEST_F(PmlRun, AStoreKeepsModulesFromRunToRunAndDamagedOnesAreComputedAnew) {
  const std::string store = (dir_ / "store").string();
  const Outcome first = run({"--store", store});
  expect_note(first, "segments computed");
  const Outcome second = run({"--store", store});
  expect_note(second, "all scaffold states were in the store");
  EXPECT_EQ(second.out, first.out);
  damage_segments(store);
  const Outcome damaged = run({"--store", store});
  EXPECT_EQ(damaged.status, 0) << damaged.err;
  EXPECT_NE(damaged.err.find(".segment"), std::string::npos) << damaged.err;
  expect_note(damaged, "computed anew");
  EXPECT_EQ(damaged.out, first.out) << "nothing is generated from wrong states";
  // The damaged run also removed modules that this prompt does not import. The next run encodes
  // them.
  const Outcome mended = run({"--store", store});
  EXPECT_EQ(mended.err.find("computed anew"), std::string::npos) << mended.err;
  EXPECT_EQ(mended.out, first.out);
  expect_note(run({"--store", store}), "all scaffold states were in the store");
  damage_segments(store);
  const Outcome copied = run({"--store", store, "--copy"});
  expect_note(copied, "computed anew");
  EXPECT_EQ(copied.out, first.out);
  write("store/store.json", "{\"format\": ");
  EXPECT_EQ(run({"--store", store}).out, first.out);
}

// The two schemas have equal texts at equal positions. They differ only in the names of their two
// modules, which are swapped.
TEST_F(PmlRun, FourWritersOfOneStoreGetTheirOwnStates) {
  const auto schema_of = [&](const std::string& one, const std::string& other) {
    return write(
        one + ".xml",
        fmt::format("<schema name=\"s\"><union><module name=\"{}\">The boss is Samir.</module>"
                    "<module name=\"{}\">The boss is Nadia.</module></union></schema>",
                    one, other));
  };
  const std::string schemas[] = {schema_of("a", "b"), schema_of("b", "a")};
  write("q.xml", "<prompt schema=\"s\"><a/> Who is the boss?</prompt>");
  const auto words = [&](int writer, const std::vector<std::string>& more) {
    std::vector<std::string> all = {"pml",
                                    "run",
                                    schemas[writer % 2],
                                    (dir_ / "q.xml").string(),
                                    "--model",
                                    "quickstart",
                                    "--max-new-tokens",
                                    "8",
                                    "--ignore-eos",
                                    "--template",
                                    "plain"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const std::string alone[] = {reprise(words(0, {})).out, reprise(words(1, {})).out};
  ASSERT_NE(alone[0], alone[1]) << "swapped states would go unnoticed";
  for (int round = 0; round < 4; ++round) {
    const std::string store = (dir_ / fmt::format("store{}", round)).string();
    std::vector<std::unique_ptr<Subprocess>> writers;
    for (int i = 0; i < 4; ++i) {
      const std::filesystem::path own = dir_ / fmt::format("writer{}", i);
      std::filesystem::create_directories(own);
      std::vector<std::string> command = words(i, {"--store", store});
      command.insert(command.begin(), REPRISE_PROGRAM);
      writers.push_back(std::make_unique<Subprocess>(command, own));
    }
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(writers[static_cast<size_t>(i)]->wait(), 0)
          << writers[static_cast<size_t>(i)]->err();
      EXPECT_EQ(writers[static_cast<size_t>(i)]->out(), alone[i % 2]) << "writer " << i;
    }
    for (int i = 0; i < 2; ++i) EXPECT_EQ(reprise(words(i, {"--store", store})).out, alone[i]);
  }
}

// The store cannot be written, because a folder has the name of its lock file.
TEST_F(PmlRun, AStoreThatCannotBeWrittenCostsNothingButTheKeeping) {
  std::filesystem::create_directories(dir_ / "store" / "store.lock");
  const std::string store = (dir_ / "store").string();
  const Outcome kept_nowhere = run({"--store", store});
  EXPECT_EQ(kept_nowhere.status, 0) << kept_nowhere.err;
  expect_note(kept_nowhere, "modules are not kept for later runs: cannot write");
  EXPECT_EQ(kept_nowhere.out, run({}).out);
}

TEST_F(PmlRun, DamagedStatesOfAStoreThatCannotBeWrittenAreComputedAnew) {
  const std::string store = (dir_ / "store").string();
  const Outcome first = run({"--store", store});
  damage_segments(store);
  std::filesystem::remove(dir_ / "store" / "store.lock");
  std::filesystem::create_directories(dir_ / "store" / "store.lock");
  const Outcome damaged = run({"--store", store});
  expect_note(damaged, "computed anew");
  expect_note(damaged, "modules are not kept for later runs: cannot write");
  EXPECT_EQ(damaged.out, first.out);
}

TEST_F(PmlRun, WhatIsWrongIsNamed) {
  EXPECT_NE(run({"--mode", "isolatd"}).status, 0);
  EXPECT_NE(run({"--mode", "repair", "--repair-share", "1.5"}).status, 0);
  expect_refused({"pml", "run", schema_, prompt_, "--model", "quickstart", "--mode", "isolated",
                  "--repair-share", "0.5"},
                 {"--repair-share: nothing is repaired", "--mode repair"});
  EXPECT_NE(run({"--no-cache", "yes"}).status, 0);
  for (const std::vector<std::string>& of_modules :
       std::vector<std::vector<std::string>>{{"--mode", "joint"},
                                             {"--repair-share", "0.5"},
                                             {"--copy"},
                                             {"--store", (dir_ / "store").string()}}) {
    std::vector<std::string> words = {"--no-cache", "gapped"};
    words.insert(words.end(), of_modules.begin(), of_modules.end());
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_NE(outcome.err.find(of_modules[0] + " excludes --no-cache"), std::string::npos)
        << outcome.err;
  }
  expect_refused({"pml", "run", schema_, "--model", "quickstart"}, {"PROMPT"});
}

}  // namespace
}  // namespace reprise::app
