// Tests LongEval's official files, made-up files of the same form, and files whose content
// contradicts itself.
#include "workloads/questions/longeval.h"

#include <gtest/gtest.h>

#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/data.h"
#include "tests/support/json.h"

namespace reprise::workloads::questions {
namespace {

using model::expect_error;
using model::TempDir;
using Texts = std::vector<std::string>;

Json lines_case() {
  return {{"random_idx", {"odd hoc-kid", 1}},
          {"expected_number", 70},
          {"num_lines", 3},
          {"token_size", 48},
          {"correct_line", "line odd hoc-kid: REGISTER_CONTENT is <70>\n"},
          {"prompt",
           "Remember.\n\nline a-b: REGISTER_CONTENT is <5>\nline odd hoc-kid: REGISTER_CONTENT is "
           "<70>\nline c-d: REGISTER_CONTENT is <9>\n\nOver. Tell me. "},
          {"prompt_length", -1}};
}

Json topics_case() {
  return {{"test_id", 4},
          {"topics", Json::array({"The sea", "Tea, and coffee"})},
          {"prompt",
           "Remember. USER: I would like to discuss the topic of the sea. \n ASSISTANT: Yes. "
           "USER: I would like to discuss the topic of tea, and coffee. \n ASSISTANT: Yes. Now the "
           "record ends. What was it?"},
          {"prompt_length", -1}};
}

TEST(LoadLongEval, CutsLines) {
  const TempDir dir;
  const auto items =
      load_longeval(dir.write("l.jsonl", lines_case().dump() + "\n" + lines_case().dump() + "\n"));
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[1].id, "lines-2");
  EXPECT_EQ(items[0].preamble, "Remember.\n\n");
  EXPECT_EQ(items[0].documents, (Texts{"line a-b: REGISTER_CONTENT is <5>\n",
                                       "line odd hoc-kid: REGISTER_CONTENT is <70>\n",
                                       "line c-d: REGISTER_CONTENT is <9>\n\n"}));
  EXPECT_EQ(items[0].question, "Over. Tell me. ");
  EXPECT_EQ(items[0].answers, Texts{"70"});
  EXPECT_EQ(items[0].text(), lines_case()["prompt"].get<std::string>());
  EXPECT_TRUE(is_right(items[0], "It is <70>."));
}

TEST(LoadLongEval, CutsTopics) {
  const TempDir dir;
  const auto items = load_longeval(dir.write("t.jsonl", topics_case().dump()));
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].id, "topics-1");
  EXPECT_EQ(items[0].preamble, "Remember. ");
  ASSERT_EQ(items[0].documents.size(), 2u);
  EXPECT_TRUE(items[0].documents[1].starts_with("USER: I would like to discuss the topic of tea"));
  EXPECT_EQ(items[0].question, "Now the record ends. What was it?");
  EXPECT_EQ(items[0].answers, Texts{"The sea"});
  EXPECT_EQ(items[0].text(), topics_case()["prompt"].get<std::string>());
  EXPECT_TRUE(is_right(items[0], "The Sea"));
  EXPECT_FALSE(is_right(items[0], "Tea and coffee"));
}

TEST(LoadLongEval, RefusesACaseThatDoesNotHoldWhatItSays) {
  const TempDir dir;
  const auto refused = [&](Json base, const Json& changes,
                           std::initializer_list<std::string> parts) {
    base.merge_patch(changes);
    const auto path = dir.write("c.jsonl", topics_case().dump() + "\n" + base.dump() + "\n");
    expect_error([&] { (void)load_longeval(path); }, {"c.jsonl:2"});
    expect_error([&] { (void)load_longeval(path); }, parts);
  };
  const Json lines = lines_case(), topics = topics_case();
  refused(lines, {{"num_lines", 4}}, {"of 4 lines the 4. is \"\\n\""});
  refused(lines, {{"num_lines", 2}}, {"more lines than num_lines, 2"});
  refused(lines, {{"num_lines", 0}}, {"\"num_lines\""});
  refused(lines, {{"prompt", "nothing"}}, {"\"prompt\"", "no lines"});
  refused(lines, {{"prompt", "x\n\nline a: REGISTER_CONTENT is <b>\n"}}, {"of 3 lines the 1."});
  refused(lines, {{"random_idx", {"a", 3}}}, {"\"random_idx\"", "0 to 2"});
  refused(lines, {{"random_idx", "a"}}, {"\"random_idx\"", "[name, place]"});
  refused(lines, {{"random_idx", {"a", 0}}}, {"\"correct_line\"", "line 1 of the prompt"});
  refused(lines, {{"expected_number", 71}}, {"\"expected_number\"", "71"});
  refused(lines, {{"correct_line", nullptr}}, {"\"correct_line\"", "missing"});
  refused(lines, {{"more", 1}}, {"\"more\""});
  refused(topics, {{"topics", Json::array({"The sea"})}},
          {"\"topics\"", "1 topics", "2 conversations"});
  refused(topics, {{"topics", Json::array({"The sea", "Coffee"})}},
          {"conversation 2 is not about \"Coffee\""});
  refused(topics, {{"prompt", "USER: hello"}}, {"\"prompt\"", "no conversations"});
  std::string unasked = lines["prompt"].get<std::string>();
  unasked.resize(unasked.find("Over."));
  refused(lines, {{"prompt", unasked}}, {"asks nothing"});
}

TEST(LoadLongEval, ReadsTheOfficialFiles) {
  REPRISE_NEEDS_DATA();
  const auto folder = testing::data_dir() / "datasets" / "longcontext";
  const auto lines = load_longeval(folder / "longeval_lines_200.jsonl");
  ASSERT_EQ(lines.size(), 50u);
  for (const Item& item : lines) {
    EXPECT_EQ(item.documents.size(), 200u) << item.id;
    EXPECT_TRUE(item.preamble.ends_with("Now the record start:\n\n")) << item.id;
    EXPECT_TRUE(item.question.starts_with("Now the record is over.")) << item.id;
  }
  // Answers of the official program to its first two questions (longchat-7b-16k).
  EXPECT_TRUE(is_right(lines[0], "The <REGISTER\\_CONTENT> in line torpid-kid is <2416>."));
  EXPECT_TRUE(
      is_right(lines[1], "The <REGISTER\\_CONTENT> in line moaning-conversation is <41869>."));
  EXPECT_FALSE(is_right(lines[1], "The <REGISTER\\_CONTENT> in line torpid-kid is <2416>."));
  const auto topics = load_longeval(folder / "longeval_topics_5.jsonl");
  ASSERT_EQ(topics.size(), 50u);
  for (const Item& item : topics) EXPECT_EQ(item.documents.size(), 5u) << item.id;
  EXPECT_EQ(topics[0].answers, Texts{"The psychology of creativity"});
}

}  // namespace
}  // namespace reprise::workloads::questions
