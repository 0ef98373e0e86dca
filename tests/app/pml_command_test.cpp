// `reprise pml check` and `reprise pml layout` as a user meets them.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/app/command_line.h"

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
  // Tokens of `text` by the program's other command.
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
  const std::string broken = write("b.xml", "<schema name=\"b\">\n<module/>\n<union/></schema>");
  const std::string stray = write("c.xml", "<schema name=\"c\">a < b</schema>");
  const std::string prompt = write("p.xml", "<prompt schema=\"trip\"><miam/>x</prompt>");
  const std::string schema = write("s.xml", kSchema);
  expect_refused({"pml", "check", broken, stray, prompt, schema, "nothing.xml"},
                 {"5 problems", broken + ":2:1: <module> has no name",
                  broken + ":3:1: <union> has no", stray + ":1:20: \"<\" begins no tag",
                  prompt + ":1:23: unknown module \"miam\"", "nothing.xml"});
  const std::string again = write("t.xml", kSchema);
  expect_refused({"pml", "check", again, prompt, schema},
                 {prompt + ":1:1: schema \"trip\" is in " + again + " and in " + schema});
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

}  // namespace
}  // namespace reprise::app
