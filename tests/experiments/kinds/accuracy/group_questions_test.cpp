// Tests the questions of a group as tokens, cut to the length asked for and to what the model has
// positions for.
#include "experiments/kinds/accuracy/group_questions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/base/temporary_folder.h"
#include "experiments/kinds/accuracy/user_turn.h"
#include "experiments/kinds/shared/bench.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/core/tokenizer/tokenizer_testing.h"
#include "tests/experiments/kinds/accuracy/question_items.h"
#include "tests/experiments/kinds/shared/kind_on_tiny_model.h"
#include "tests/support/json.h"

namespace reprise::experiments {
namespace {

using model::expect_error;

class GroupQuestionsTest : public KindOnTinyModel {
 protected:
  void SetUp() override {
    KindOnTinyModel::SetUp();
    write_question_items(dir_ / "items.jsonl");
  }

  Group group(const Json& settings, const Json& workload = nullptr) const {
    const Json items = {{"name", "questions"}, {"file", (dir_ / "items.jsonl").string()}};
    return group_of({{"kind", "accuracy"},
                     {"models", {"models/quickstart"}},
                     {"series", {"isolated"}},
                     {"workload", workload.is_null() ? items : workload},
                     {"settings", settings}});
  }
  // The questions for a model with `positions` positions, which a scaling stretches by `stretched`.
  GroupQuestions ask(const Json& settings, int64_t positions = 2048, const Json& workload = nullptr,
                     double stretched = 1.0) const {
    const Group one = group(settings, workload);
    model::ModelConfig config = Bench::config(one);
    config.max_positions = positions;
    if (stretched > 1.0) config.rotary.scaling = model::RopeScaling::kLinear;
    config.rotary.factor = stretched;
    return questions_of(one, config, load_tokenizer(resolve_model(one.model.model)));
  }
  static Json lines(int64_t documents) { return {{"items", 2}, {"documents", documents}}; }

  const Json made_up_ = {{"name", "line_retrieval"}};
};

TEST_F(GroupQuestionsTest, AreWholeUnlessACutIsAskedFor) {
  const GroupQuestions whole = ask(Json::object());
  EXPECT_EQ(whole.cut, 0);
  ASSERT_EQ(whole.items.size(), 4u);
  const int64_t longest = whole.longest();
  EXPECT_EQ(ask({{"most_prompt_tokens", longest}}).longest(), longest);
  expect_error([&] { (void)ask(Json::object(), longest - 1); },
               {fmt::format("at most {} tokens", longest - 1), "most_prompt_tokens"});
  EXPECT_EQ(ask(Json::object(), longest).longest(), longest);
}

TEST_F(GroupQuestionsTest, LoseTheirMiddleWhereTheyAreLonger) {
  Json settings = lines(40);
  const GroupQuestions whole = ask(settings, 4096, made_up_);
  settings["most_prompt_tokens"] = 200;
  const GroupQuestions cut = ask(settings, 4096, made_up_);
  EXPECT_EQ(cut.cut, 2);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(cut.items[i].preamble, whole.items[i].preamble);
    EXPECT_EQ(cut.items[i].documents.front(), whole.items[i].documents.front());
    EXPECT_EQ(cut.items[i].documents.back(), whole.items[i].documents.back());
    EXPECT_EQ(cut.items[i].question, whole.items[i].question);
    EXPECT_LT(cut.items[i].documents.size(), 40u);
    EXPECT_EQ(std::ssize(cut.items[i].documents) + 1, std::ssize(cut.prompts[i].schema.modules));
  }
}

// Encoded separately, the parts of a prompt have more tokens than the whole prompt. The model must
// have positions for all these tokens and for the answer's.
TEST_F(GroupQuestionsTest, AreCutToWhatTheModelPlaces) {
  Json settings = lines(40);
  settings["most_prompt_tokens"] = 4000;
  settings["most_answer_tokens"] = 10;
  for (const int64_t positions : {150, 200, 333}) {
    const GroupQuestions cut = ask(settings, positions, made_up_);
    EXPECT_EQ(cut.cut, 2);
    EXPECT_LE(cut.longest(), positions);
    EXPECT_GT(cut.longest(), positions - 40) << "little more is lost than must be";
    const GroupQuestions stretched = ask(settings, positions, made_up_, 2.0);
    EXPECT_LE(stretched.longest(), 2 * positions);
    EXPECT_GT(stretched.longest(), 2 * positions - 40);
  }
  settings["most_answer_tokens"] = 149;
  expect_error([&] { (void)ask(settings, 150, made_up_); },
               {"at most 150 tokens", "an answer takes 149", "most_answer_tokens"});
}

TEST_F(GroupQuestionsTest, AsCodedRepeatWhatFits) {
  const Json settings = {
      {"grouping", "whole"}, {"truncation", "as_coded"}, {"most_prompt_tokens", 1000}};
  const GroupQuestions whole = ask({{"grouping", "whole"}}), repeated = ask(settings);
  EXPECT_EQ(repeated.cut, 4);
  std::string read = whole.items[0].preamble;
  for (const std::string& document : whole.items[0].documents) read += document;
  EXPECT_EQ(repeated.items[0].documents[0], read + " " + read) << "a space ahead of each";
  EXPECT_EQ(repeated.items[0].question, whole.items[0].question);
  Json wrong = settings;
  wrong["grouping"] = "documents";
  expect_error([&] { (void)ask(wrong); }, {"as_coded", "grouping to whole"});
  wrong = settings;
  wrong["most_prompt_tokens"] = 0;
  expect_error([&] { (void)ask(wrong); }, {"as_coded", "most_prompt_tokens"});
  expect_error([&] { (void)ask({{"most_prompt_tokens", 1}}); }, {"most_prompt_tokens is 1"});
}

// The shipped model is a Llama: the token with which the tokenizer begins a text comes before the
// template's text.
TEST_F(GroupQuestionsTest, AreAUsersTurnWhereAChatTemplateIsAskedFor) {
  const GroupQuestions plain = ask(Json::object()), chat = ask({{"chat_template", "model"}});
  ASSERT_EQ(chat.items.size(), 4u);
  EXPECT_EQ(chat.items[0].preamble, "[INST] " + plain.items[0].preamble);
  EXPECT_EQ(chat.items[0].documents, plain.items[0].documents);
  EXPECT_EQ(chat.items[0].question, plain.items[0].question + " [/INST]");
  EXPECT_EQ(chat.prompts[0].schema.pieces[0].tokens[0], 1) << "<s>";
  EXPECT_GT(chat.prompts[0].tokens(), plain.prompts[0].tokens());
}

// TinyLlama's chat model is a Llama with Zephyr's template, whose turns end in </s>.
TEST(UserTurnOfModel, IsOfTheTemplateInItsFolder) {
  std::string jinja = "{% for message in messages %}\n", next = "{% if";
  for (const char* role : {"user", "system", "assistant"}) {
    jinja += fmt::format(
        "{} message['role'] == '{}' %}}\n{{{{ '<|{}|>\\n' + message['content'] + "
        "eos_token }}}}\n",
        next, role, role);
    next = "{% elif";
  }
  jinja +=
      "{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif "
      "%}\n{% endfor %}";
  const auto folder = make_temporary_folder("chat");
  const auto tokenizer = tokenizer::make_tokenizer(tokenizer::llama_json());
  const auto turn = [&](const std::string& text) {
    std::ofstream(*folder / "chat_template.jinja") << text;
    return user_turn_of(model::load_config("llama-2-7b"), tokenizer, folder->string());
  };
  const UserTurn zephyr = turn(jinja);
  EXPECT_EQ(zephyr.open, "<|user|>\n");
  EXPECT_EQ(zephyr.close, "</s>\n<|assistant|>\n");
  expect_error([&] { (void)turn("{{ messages }}"); }, {"is none of those that are known"});
}

TEST(PutInto, EndsTheQuestionWithTheCue) {
  const UserTurn turn{.open = "<u>", .close = "</u>"};
  workloads::questions::Item item{.preamble = "p", .question = "q", .cue = "A:"};
  const std::string without = item.text();
  workloads::questions::Item few_shot = item;
  few_shot.takes_chat_template = false;
  put_into(item, turn);
  put_into(few_shot, turn);
  EXPECT_EQ(item.text(), "<u>pq</u>A:");
  EXPECT_EQ(item.question, "q</u>A:");
  EXPECT_EQ(few_shot.text(), without);
  EXPECT_EQ(few_shot.question, "qA:");
}

TEST_F(GroupQuestionsTest, AreKeptUntilTheyAreTaken) {
  QuestionShelf shelf;
  const Group one = group(Json::object());
  const int64_t longest = shelf.longest(one);
  std::filesystem::remove(dir_ / "items.jsonl");
  EXPECT_EQ(shelf.longest(one), longest);
  const GroupQuestions taken = shelf.take(one);
  EXPECT_EQ(taken.longest(), longest);
  EXPECT_EQ(shelf.longest(one), longest);
  expect_error([&] { (void)shelf.take(one); }, {"items.jsonl"});
}

}  // namespace
}  // namespace reprise::experiments
