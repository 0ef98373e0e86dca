// Tests sources with real texts: ShareGPT's first turns, whole conversations, MMLU.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/base/json.h"
#include "tests/support/data.h"
#include "tests/support/json.h"
#include "tests/workloads/serving/sample_sources.h"
#include "workloads/questions/mmlu.h"
#include "workloads/serving/json_array_file.h"

namespace reprise::workloads {
namespace {

using model::expect_error;
using model::TempDir;
using Tokens = std::vector<int32_t>;

std::unique_ptr<RequestSource> make_of_texts(const std::string& name, SourceOptions options) {
  if (!options.tokenizer) options.tokenizer = sample_tokenizer;
  return make_sample(name, options);
}

Tokens encode(const std::string& text, bool add_special = true) {
  return sample_tokenizer()->encode(text, {.add_special = add_special});
}

Tokens joined(std::initializer_list<Tokens> parts) {
  Tokens all;
  for (const Tokens& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(ShareGpt, AsksTheFirstTextsAndWantsTheLengthOfTheSecond) {
  const TempDir dir;
  const auto file = dir.write("s.json", kShareGpt);
  const auto source = make_of_texts("sharegpt", {.file = file, .order = "recorded"});
  ASSERT_EQ(source->size(), 2);  // of the fourth, the first text is empty
  EXPECT_EQ(source->dropped().by_rule, 3);
  EXPECT_EQ(source->request(0).prompt, encode("Tell me a story about a red fox, please."));
  EXPECT_EQ(source->request(0).output_tokens,
            std::ssize(encode("Once upon a time there was a fox in a wood.")));
  EXPECT_EQ(source->request(1).prompt, encode("Tell me a story about a red hen, please."));
  const auto behind =
      make_of_texts("sharegpt", {.file = file, .order = "recorded", .shared_tokens = 9});
  const std::vector<DeclaredPrefix> prefixes = behind->prefixes();
  ASSERT_EQ(prefixes.size(), 1u);
  EXPECT_EQ(prefixes[0].tokens.size(), 9u);
  EXPECT_EQ(
      behind->request(1).prompt,
      joined({prefixes[0].tokens, encode("Tell me a story about a red hen, please.", false)}));
}

// The rule accepts texts of at least 4 tokens, if the prompt has at most 1024 tokens, and prompt
// and answer together at most 2048.
TEST(ShareGpt, TheRuleDropsWhatTheAuthorsDrop) {
  const TempDir dir;
  const auto file =
      dir.write("pairs.csv", "4,4\n3,4\n4,3\n1024,1024\n1025,4\n1024,1025\n5,2043\n5,2044\n");
  const auto source = make_of_texts("sharegpt", {.file = file, .order = "recorded"});
  std::vector<std::pair<int64_t, int64_t>> kept;
  for (int64_t i = 0; i < source->size(); ++i)
    kept.emplace_back(source->lengths(i).prompt, source->lengths(i).output);
  EXPECT_EQ(kept, (std::vector<std::pair<int64_t, int64_t>>{{4, 4}, {1024, 1024}, {5, 2043}}));
  EXPECT_EQ(source->dropped().by_rule, 5);
}

TEST(ShareGpt, NamesFileAndLineOfWhatIsWrong) {
  const TempDir dir;
  const auto refused = [&](const std::string& text, std::initializer_list<std::string> parts) {
    expect_error([&] { (void)make_of_texts("sharegpt", {.file = dir.write("s.json", text)}); },
                 parts);
  };
  refused("", {"s.json:1", "a list"});
  refused("{}", {"s.json:1", "a list"});
  refused("[]", {"no request is left of 0"});
  refused("[\n{\"conversations\": [", {"s.json:2", "cut off"});
  refused("[\n{\"conversations\": \"[]", {"s.json:2", "cut off"});
  refused("[{\"conversations\": []}\n", {"s.json:2", "cut off"});
  refused("[{\"conversations\": []},\n]", {"s.json:2", "an entry is missing"});
  refused("[{\"conversations\": []}] x", {"s.json:1", "more behind the list"});
  refused("[\n\n{\"conversations\": 3}]", {"s.json:3", "conversations", "a list"});
  refused("[{\"id\": 1}]", {"s.json:1", "conversations", "missing"});
  refused("[{\"conversations\": [{\"from\": \"human\"}]}]", {"conversations[0].value"});
  refused("[{\"conversations\": [{\"from\": \"human\", \"value\": NaN}]}]", {"s.json:1", "JSON"});
  refused("[{\"a\": 1} {\"b\": 2}]", {"s.json:1", "JSON"});
  expect_error([&] { (void)make_of_texts("sharegpt", {.file = "talk.txt"}); },
               {".json", ".csv", "talk.txt"});
  expect_error(
      [&] {
        (void)make_of_texts("sharegpt",
                            {.file = dir.write("s.json", kShareGpt), .length_divisor = 2});
      },
      {"length_divisor", "texts"});
}

// The list has every kind of entry, and each must be as the parser reads it in the whole file.
TEST(JsonArrayFile, FindsTheEntries) {
  const TempDir dir;
  const std::string text =
      "\n [ {\"a\": \"],}\\\"\\\\\"} ,\n[1,[2,{\"b\":[]}]], \"x,]\\\"\", 3.5e2, null\n, {} ]\n";
  const auto path = dir.write("list.json", text);
  const serving::JsonArrayFile file(path);
  const Json whole = Json::parse(text);
  ASSERT_EQ(file.size(), static_cast<int64_t>(whole.size()));
  for (int64_t i = 0; i < file.size(); ++i)
    EXPECT_EQ(json_of(file.entry(i)), whole[static_cast<size_t>(i)]) << i;
  EXPECT_EQ(file.where(0), path.string() + ":2");
  EXPECT_EQ(file.where(1), path.string() + ":3");
  EXPECT_EQ(file.where(5), path.string() + ":4");
}

TEST(JsonArrayFile, ABeginningByteOrderMarkIsNoPartOfTheList) {
  const TempDir dir;
  EXPECT_EQ(serving::JsonArrayFile(dir.write("list.json", "\xEF\xBB\xBF[1]")).size(), 1);
}

TEST(Conversations, TurnsAskTheWholeHistory) {
  const TempDir dir;
  const auto file = dir.write("s.json", kShareGpt);
  const auto source =
      make_of_texts("conversations", {.file = file, .conversations = 0, .under_way = 1});
  ASSERT_EQ(source->size(), 5);
  // The third conversation has no answer, the fourth has an empty last answer, and the fifth is
  // empty.
  EXPECT_EQ(source->dropped().by_rule, 3);
  std::vector<Tokens> prompts;
  for (const ServingRequest& request : requests_of(*source)) prompts.push_back(request.prompt);
  const Tokens sea = encode("Tell me a story about the sea and a boat.");
  const auto first = std::find(prompts.begin(), prompts.end(), sea);
  ASSERT_GE(prompts.end() - first, 2);  // one conversation at a time: its next turn follows
  EXPECT_EQ(first[1], joined({sea, encode("The sea was blue and the boat was white.", false),
                              encode("And then?", false)}));
  EXPECT_EQ(source->request(first - prompts.begin() + 1).output_tokens,
            std::ssize(encode("Then it rained.", false)));
}

TEST(Conversations, CountTheOnesOfWhichNothingIsLeft) {
  const TempDir dir;
  const std::string turn = R"({"from": "human", "value": "Who?"}, {"from": "gpt", "value": "I."})";
  const auto make = [&](const std::string& messages) {
    return make_of_texts("conversations", {.file = dir.write("s.json", "[{\"conversations\": [" +
                                                                           messages + "]}]")});
  };
  EXPECT_EQ(make(turn)->dropped().by_rule, 0);
  const auto kept = make(turn + R"(, {"from": "human", "value": "And who are you?"})");
  EXPECT_EQ(kept->size(), 1);
  EXPECT_EQ(kept->dropped().by_rule, 0) << "its last message asks for nothing that is recorded";
  for (const std::string none : {"", R"({"from": "gpt", "value": "Nobody asked."})",
                                 R"({"from": "human", "value": "Nobody answers."})"})
    expect_error([&] { (void)make(none); },
                 {"no request is left of 1", "1 are dropped by the source's rule"});
}

// Each prompt of a conversation begins with the prompt before it, and turns of a conversation come
// in order.
TEST(Conversations, InterleaveWithTheirTurnsInOrder) {
  for (const int64_t under_way : {0, 1, 3}) {
    const SourceOptions options{.shared_tokens = 10,
                                .user_tokens = 5,
                                .user_tokens_most = 9,
                                .output_tokens = 4,
                                .conversations = 20,
                                .turns = 1,
                                .turns_most = 6,
                                .under_way = under_way};
    const std::vector<ServingRequest> requests =
        requests_of(*make_of_texts("conversations", options));
    std::map<Tokens, std::pair<Tokens, size_t>> last;  // by 15 first tokens: prompt, place
    size_t most_open = 0, switches = 0;
    Tokens before;
    for (size_t i = 0; i < requests.size(); ++i) {
      const Tokens key(requests[i].prompt.begin(), requests[i].prompt.begin() + 15);
      const auto [at, is_new] = last.try_emplace(key, requests[i].prompt, i);
      if (!is_new) {
        const Tokens& earlier = at->second.first;
        EXPECT_GT(requests[i].prompt.size(), earlier.size());
        EXPECT_TRUE(std::equal(earlier.begin(), earlier.end(), requests[i].prompt.begin()));
        EXPECT_GE(requests[i].shared_tokens, std::ssize(earlier));
        at->second = {requests[i].prompt, i};
      }
      switches += key == before ? 0 : 1;
      before = key;
    }
    EXPECT_EQ(last.size(), 20u);
    for (size_t i = 0; i < requests.size(); ++i) {
      size_t open = 0;  // conversations asked up to now and again later
      std::map<Tokens, bool> seen;
      for (size_t j = 0; j <= i; ++j)
        seen[Tokens(requests[j].prompt.begin(), requests[j].prompt.begin() + 15)] = true;
      for (const auto& [key, is] : seen) open += last.at(key).second > i ? 1 : 0;
      most_open = std::max(most_open, open);
    }
    EXPECT_LE(most_open, under_way == 0 ? 20u : static_cast<size_t>(under_way));
    if (under_way == 1) {
      EXPECT_EQ(switches, 20u);
    } else {
      EXPECT_GT(switches, 30u);
    }
  }
}

TEST(SystemPrompts, EachTextIsADeclaredPrefix) {
  const TempDir dir;
  const std::string fox = "You are a fox.", hen = "You are a hen. Tell the truth.";
  dir.write("b.md", hen);
  dir.write("a.txt", fox);
  dir.write("c.json", "{}");  // no text
  const SourceOptions options{
      .file = dir.path(), .requests = 40, .user_tokens = 3, .output_tokens = 2};
  const auto source = make_of_texts("system_prompts", options);
  const std::vector<DeclaredPrefix> prefixes = source->prefixes();
  ASSERT_EQ(prefixes.size(), 2u);
  EXPECT_EQ(prefixes[0].name, "a.txt");
  EXPECT_EQ(prefixes[0].tokens, encode(fox));
  EXPECT_EQ(prefixes[1].tokens, encode(hen));
  std::array<int, 2> drawn{};
  for (const ServingRequest& request : requests_of(*source)) {
    const Tokens& prefix = prefixes.at(static_cast<size_t>(request.prefix)).tokens;
    ++drawn.at(static_cast<size_t>(request.prefix));
    ASSERT_EQ(request.prompt.size(), prefix.size() + 3);
    EXPECT_TRUE(std::equal(prefix.begin(), prefix.end(), request.prompt.begin()));
    EXPECT_GE(request.shared_tokens, std::ssize(prefix));
  }
  EXPECT_GT(std::min(drawn[0], drawn[1]), 0);
}

TEST(SystemPrompts, WhatIsNoTextIsRefused) {
  const TempDir dir;
  const auto message = [&](const std::filesystem::path& file) -> std::string {
    try {
      make_of_texts("system_prompts",
                    {.file = file, .requests = 1, .user_tokens = 1, .output_tokens = 1});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message(dir.path()).find("no .txt"), std::string::npos);
  EXPECT_NE(message(dir.path() / "missing").find("missing"), std::string::npos);
  for (const char* blank : {"", " \r\n\t\n"})
    EXPECT_NE(message(dir.write("a.txt", blank)).find("a.txt holds no text"), std::string::npos);
}

constexpr const char* kDev = "One?,a,b,c,d,C\n\"Two, or\n2?\",e,f,g,h,A\n";

TEST(Mmlu, PromptsHaveTheTokensOfTheWholeText) {
  const TempDir dir;
  dir.write("art_dev.csv", kDev);
  const auto file = dir.write("art_test.csv", "Three?,i,j,k,l,D\nFour?,m,n,o,p,B\n");
  for (const int64_t shots : {0, 1, 2}) {
    const auto source = make_of_texts("mmlu", {.file = file, .order = "recorded", .shots = shots});
    const std::vector<questions::Item> items = questions::load_mmlu(file, {.shots = shots});
    ASSERT_EQ(source->size(), 2);
    for (int64_t i = 0; i < 2; ++i) {
      const ServingRequest request = source->request(i);
      EXPECT_EQ(request.prompt, encode(items[static_cast<size_t>(i)].text()));
      EXPECT_EQ(request.output_tokens, 32);
      EXPECT_EQ(request.prefix, 0);
    }
    // The prefix has all tokens of the examples, except perhaps a last token that reaches into the
    // question.
    std::string prefix = items[0].preamble;
    for (const std::string& example : items[0].documents) prefix += example;
    const Tokens declared = source->prefixes().at(0).tokens;
    EXPECT_GE(declared.size() + 1, encode(prefix).size());
    EXPECT_EQ(source->prefixes().at(0).name, "art");
  }
  EXPECT_EQ(
      make_of_texts("mmlu", {.file = file, .output_tokens = 5, .shots = 1})->lengths(0).output, 5);
}

TEST(Mmlu, SubjectsAreChosenByName) {
  const TempDir dir;
  for (const char* subject : {"art", "bees", "cats"}) {
    dir.write(std::string(subject) + "_dev.csv", kDev);
    dir.write(std::string(subject) + "_test.csv", "Three?,i,j,k,l,D\n");
  }
  const auto names = [&](const char* subjects) {
    std::vector<std::string> found;
    for (const DeclaredPrefix& prefix :
         make_of_texts("mmlu", {.file = dir.path(), .subjects = subjects, .shots = 1})->prefixes())
      found.push_back(prefix.name);
    return found;
  };
  EXPECT_EQ(names(""), (std::vector<std::string>{"art", "bees", "cats"}));
  EXPECT_EQ(names("cats,art"), (std::vector<std::string>{"cats", "art"}));
  expect_error([&] { names("cat"); }, {"unknown subject", "did you mean \"cats\""});
  expect_error([&] { names("art,art"); }, {"\"art\"", "twice"});
  expect_error([&] { names("art,"); }, {"unknown subject \"\""});
  expect_error([&] { (void)make_of_texts("mmlu", {.file = dir.path(), .shots = 3}); },
               {"2 examples"});
  const TempDir empty;
  expect_error([&] { (void)make_of_texts("mmlu", {.file = empty.path()}); }, {"SUBJECT_test.csv"});
}

TEST(Mmlu, AsksASplitInAWording) {
  const TempDir dir;
  dir.write("art_dev.csv", kDev);
  dir.write("art_val.csv", "Five?,i,j,k,l,D\n");
  const auto file = dir.write("art_test.csv", "Three?,i,j,k,l,D\nFour?,m,n,o,p,B\n");
  const SourceOptions options{
      .file = dir.path(), .shots = 2, .split = "val", .question_template = "vllm_ra"};
  const auto items = questions::load_mmlu(
      dir.path() / "art_val.csv", {.shots = 2, .split = "val", .question_template = "vllm_ra"});
  const auto source = make_of_texts("mmlu", options);
  ASSERT_EQ(source->size(), 1);
  EXPECT_EQ(source->request(0).prompt, encode(items.at(0).text()));
  std::filesystem::remove(dir.path() / "art_val.csv");
  expect_error([&] { (void)make_of_texts("mmlu", options); }, {"no split val", "It has dev, test"});
  expect_error(
      [&] {
        (void)make_of_texts("mmlu", {.file = file, .shots = 0, .question_template = "hendricks"});
      },
      {"question_template", "did you mean \"hendrycks\"?"});
}

// The authors count 586 tokens before the questions of college_biology.
TEST(Mmlu, DeclaresTheAuthorsPrefix) {
  REPRISE_NEEDS_DATA();
  const std::shared_ptr<const Tokenizer> tokenizer =
      load_tokenizer(testing::data_dir() / "tokenizers" / "llama2");
  const auto source = make_of_texts("mmlu", {.file = testing::data_dir() / "datasets" / "mmlu",
                                             .tokenizer = [&] { return tokenizer; },
                                             .subjects = "college_biology",
                                             .question_template = "vllm_ra"});
  EXPECT_EQ(source->prefixes().at(0).tokens.size(), 586u);
}

// Uses the tokenizer of the paper's model.
TEST(Mmlu, AsksThePublishedQuestions) {
  REPRISE_NEEDS_DATA();
  const auto data = testing::data_dir();
  const std::shared_ptr<const Tokenizer> tokenizer = load_tokenizer(data / "tokenizers" / "llama2");
  const auto source = make_of_texts("mmlu", {.file = data / "datasets" / "mmlu" / "test",
                                             .tokenizer = [&] { return tokenizer; },
                                             .requests = 100});
  EXPECT_EQ(source->size(), 100);
  EXPECT_GT(source->prefixes().size(), 20u);
  for (const DeclaredPrefix& prefix : source->prefixes()) EXPECT_GT(prefix.tokens.size(), 200u);
}

}  // namespace
}  // namespace reprise::workloads
