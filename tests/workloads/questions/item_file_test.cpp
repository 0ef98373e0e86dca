// Tests the file of items: every field, and every fault.
#include "workloads/questions/item_file.h"

#include <gtest/gtest.h>

#include "tests/core/model/checkpoint/model_files.h"

namespace reprise::workloads::questions {
namespace {

using model::expect_error;
using model::TempDir;
using Texts = std::vector<std::string>;

constexpr const char* kLine =
    R"({"id": "two_hop-1", "task": "two_hop", "preamble": "Facts.\n", "documents":)"
    R"( ["Ann is Bob's sister.\n", "Bob lives in Rome.\n"], "question":)"
    R"( "Q: where does Ann's brother live?\nA:", "answers": ["Rome"], "choices": null})";

std::string with(const std::string& from, const std::string& to) {
  std::string line = kLine;
  const size_t at = line.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return line.replace(at, from.size(), to);
}

// The line of an item of task "choice", with an id other than kLine's.
std::string choice_line(const std::string& answers, const std::string& choices) {
  std::string line = with("\"two_hop-1\", \"task\": \"two_hop\"", "\"c\", \"task\": \"choice\"");
  line.replace(line.find("[\"Rome\"]"), 8, answers);
  return line.replace(line.find("null"), 4, choices);
}

TEST(LoadItems, ReadsEveryField) {
  const TempDir dir;
  const auto items =
      load_items(dir.write("a.jsonl", std::string(kLine) + "\n" +
                                          choice_line("[\"B\", \"b\"]", "[\"A\", \"B\"]") + "\n"));
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].id, "two_hop-1");
  EXPECT_EQ(items[0].task, "two_hop");
  EXPECT_EQ(items[0].preamble, "Facts.\n");
  EXPECT_EQ(items[0].documents, (Texts{"Ann is Bob's sister.\n", "Bob lives in Rome.\n"}));
  EXPECT_EQ(items[0].question, "Q: where does Ann's brother live?\nA:");
  EXPECT_EQ(items[0].answers, Texts{"Rome"});
  EXPECT_TRUE(items[0].choices.empty());
  EXPECT_EQ(items[0].judgement, Judgement::kFirstLine);
  EXPECT_EQ(items[0].text(),
            "Facts.\nAnn is Bob's sister.\nBob lives in Rome.\nQ: where does Ann's brother "
            "live?\nA:");
  EXPECT_EQ(items[1].choices, (Texts{"A", "B"}));
  EXPECT_EQ(items[1].answers, (Texts{"B", "b"}));
}

TEST(LoadItems, KnowsItsTasks) {
  const TempDir dir;
  std::string text;
  for (const std::string_view task : item_tasks()) {
    std::string line =
        task == "choice" ? choice_line("[\"A\"]", "[\"A\", \"B\"]") : std::string(kLine);
    const size_t at = line.find("\"task\": \"") + 9;
    line.replace(at, line.find('"', at) - at, task);
    const size_t id = line.find("\"id\": \"") + 7;
    line.replace(id, line.find('"', id) - id, task);
    text += line + "\n";
  }
  EXPECT_EQ(load_items(dir.write("a.jsonl", text)).size(), item_tasks().size());
}

TEST(LoadItems, NamesFileLineAndKeyOfWhatIsWrong) {
  const TempDir dir;
  const auto refused = [&](const std::string& line, std::initializer_list<std::string> parts) {
    std::string first = kLine;
    first.replace(first.find("two_hop-1"), 9, "first");
    const auto path = dir.write("i.jsonl", first + "\n" + line + "\n");
    expect_error([&] { (void)load_items(path); }, {"i.jsonl:2"});
    expect_error([&] { (void)load_items(path); }, parts);
  };
  refused("{", {"not valid JSON"});
  refused("", {"empty", "remove"});
  refused(with("two_hop-1", "first"), {"\"id\"", "line 1 has the id \"first\" too"});
  refused(with("two_hop-1", ""), {"\"id\"", "empty"});
  refused(with("\"task\": \"two_hop\"", "\"task\": \"two_hops\""), {"did you mean \"two_hop\"?"});
  refused(with("\"preamble\"", "\"preambel\""), {"\"preamble\"", "missing"});
  refused(with("\"Facts.\\n\"", "3"), {"\"preamble\""});
  refused(with("\"answers\"", "\"extra\": 1, \"answers\""), {"unknown", "\"extra\""});
  refused(with("[\"Ann is Bob's sister.\\n\", \"Bob lives in Rome.\\n\"]", "[]"),
          {"\"documents\"", "empty list"});
  refused(with("\"Ann is Bob's sister.\\n\"", "\"\""), {"document 1 is empty"});
  refused(with("\"Bob lives in Rome.\\n\"", "\" Bob lives in Rome.\\n\""),
          {"document 2 begins with white space"});
  refused(with("Rome.\\n", "Rome."), {"document 2 does not end with a line feed"});
  refused(with("\"Q: where does Ann's brother live?\\nA:\"", "\"\""), {"\"question\" is empty"});
  refused(with("\\nA:", "\\nA: "), {"\"question\"", "white space"});
  refused(with("\"Q: ", "\" Q: "), {"\"question\"", "white space"});
  refused(with("[\"Rome\"]", "[]"), {"\"answers\"", "empty"});
  refused(with("[\"Rome\"]", "[\" Rome\"]"), {"\"answers\"", "\" Rome\""});
  refused(with("[\"Rome\"]", "[\"Rome\\nA\"]"), {"\"answers\"", "never be right"});
  refused(with("null", "[\"A\", \"B\"]"), {"\"choices\"", "two_hop", "null"});
  refused(choice_line("[\"A\"]", "null"), {"\"choices\"", "two choices"});
  refused(choice_line("[\"A\"]", "[\"A\", \"A\"]"), {"\"choices\"", "different"});
  refused(choice_line("[\"C\"]", "[\"A\", \"B\"]"), {"\"choices\"", "\"C\""});
  refused(choice_line("[\"A\"]", "[\"A\", \"\"]"), {"\"choices\"", "empty"});
  expect_error([&] { (void)load_items(dir.path() / "absent.jsonl"); }, {"absent.jsonl"});
}

}  // namespace
}  // namespace reprise::workloads::questions
