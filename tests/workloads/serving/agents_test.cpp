// Tests recorded work of agents: which requests wait for which, how long, and what their prompts
// share.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/support/data.h"
#include "tests/workloads/serving/sample_sources.h"

namespace reprise::workloads {
namespace {

using model::expect_error;
using model::TempDir;
using Waits = std::vector<std::vector<int64_t>>;

SourceOptions with_texts(const std::filesystem::path& file) {
  SourceOptions options{.file = file};
  options.tokenizer = sample_tokenizer;
  return options;
}

std::vector<int64_t> prompts_of(const RequestSource& source) {
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < source.size(); ++i) tokens.push_back(source.lengths(i).prompt);
  return tokens;
}

TEST(Weka, AgentsBeginAtAnAnswerAndAreWaitedFor) {
  const TempDir dir;
  const auto source = make_sample("weka", {.file = dir.write("w.json", kWeka)});
  EXPECT_EQ(prompts_of(*source), (std::vector<int64_t>{9, 12, 6, 8, 7, 18, 21}));
  EXPECT_EQ(source->waits_for(), (Waits{{}, {0}, {1}, {2}, {1}, {1, 3, 4}, {5}}));
  // The second agent answered last, after 46 s.
  EXPECT_EQ(source->pauses_s(), (std::vector<double>{0, 8.5, 2, 2, 0, 4, 2}));
  EXPECT_EQ(source->dropped().by_rule, 1);
}

TEST(Weka, BlocksAreSharedWithinAConversationAndTheRestIsTheRequestsOwn) {
  const TempDir dir;
  const auto source = make_sample("weka", {.file = dir.write("w.json", kWeka)});
  const std::vector<ServingRequest> requests = requests_of(*source);
  const auto shared = [&](size_t i) { return requests[i].shared_tokens; };
  EXPECT_LE(shared(0), 2);
  EXPECT_NEAR(static_cast<double>(shared(1)), 8, 2);  // not the ninth token of the first
  EXPECT_NEAR(static_cast<double>(shared(4)), 4, 2);  // with the other agent
  EXPECT_NEAR(static_cast<double>(shared(5)), 12, 2);
  EXPECT_NEAR(static_cast<double>(shared(6)), 16, 2);
}

TEST(Weka, IdsOfOtherConversationsAreOtherBlocksUnlessTheyAreGlobal) {
  const TempDir dir, global;
  const auto shared = [](const RequestSource& source) {
    return source.request(source.size() - 1).shared_tokens;
  };
  dir.write("1.json", kWeka);
  dir.write("2.json", kWekaSecond);
  const auto local = make_sample("weka", {.file = dir.path()});
  EXPECT_EQ(local->size(), 8);
  EXPECT_LE(shared(*local), 2);
  EXPECT_TRUE(local->waits_for().back().empty());
  std::string first(kWeka), second(kWekaSecond);
  first.replace(first.find("local"), 5, "global");
  second.insert(1, R"("hash_id_scope": "global", )");
  global.write("1.json", first);
  global.write("2.json", second);
  EXPECT_EQ(shared(*make_sample("weka", {.file = global.path()})), 8);
}

TEST(Weka, LinesAndASampleOfConversations) {
  const TempDir dir;
  std::string lines(kWeka);
  std::erase(lines, '\n');
  lines += "\n" + std::string(kWekaSecond) + "\n";
  const auto file = dir.write("w.jsonl", lines);
  EXPECT_EQ(make_sample("weka", {.file = file})->size(), 8);
  std::set<int64_t> sizes;
  for (uint64_t seed = 1; seed < 20; ++seed)
    sizes.insert(
        make_sample("weka", {.file = file, .prompts_seed = seed, .conversations = 1})->size());
  EXPECT_EQ(sizes, (std::set<int64_t>{1, 7}));
}

// If a request is dropped, those that would wait for it wait for the requests before it instead.
TEST(Weka, RequestsThatAreDroppedLeaveNoGap) {
  const TempDir dir;
  const auto file = dir.write("w.json", kWeka);
  const auto source = make_sample("weka", {.file = file, .most_prompt_tokens = 11});
  EXPECT_EQ(prompts_of(*source), (std::vector<int64_t>{9, 6, 8, 7}));
  EXPECT_EQ(source->waits_for(), (Waits{{}, {0}, {1}, {0}}));
  const auto long_ones = make_sample("weka", {.file = file, .most_output_tokens = 2});
  EXPECT_EQ(prompts_of(*long_ones), (std::vector<int64_t>{6, 8, 7}));
  EXPECT_EQ(long_ones->waits_for(), (Waits{{}, {0}, {}}));
}

// Reads a conversation of these requests, with blocks of 4 tokens.
std::unique_ptr<RequestSource> weka_of(const std::string& requests) {
  const TempDir dir;
  const std::string conversation = R"({"block_size": 4, "requests": [)" + requests + "]}";
  return make_sample("weka", {.file = dir.write("w.json", conversation)});
}

// All times count from the conversation's beginning. An agent's `t` is the time at which it began.
TEST(Weka, TimesOfAnAgentMayCountFromTheConversationsBeginning) {
  const auto source = weka_of(R"(
    {"t": 0, "type": "s", "in": 4, "out": 1, "hash_ids": [1], "api_time": 10},
    {"t": 3600, "type": "subagent", "duration_ms": 20000, "requests": [
      {"t": 3600, "type": "s", "in": 4, "out": 1, "hash_ids": [2], "api_time": 5},
      {"t": 3607, "type": "s", "in": 4, "out": 1, "hash_ids": [2], "api_time": 13}]},
    {"t": 3621, "type": "s", "in": 4, "out": 1, "hash_ids": [3]})");
  EXPECT_EQ(source->waits_for(), (Waits{{}, {0}, {1}, {0, 2}}));
  EXPECT_EQ(source->pauses_s(), (std::vector<double>{0, 3590, 2, 1}));
}

// The conversation goes on while the first agent works. think_time counts from another agent's
// answer.
TEST(Weka, AgentsOnTheConversationsClockAreWaitedForOnlyIfTheyHadAnswered) {
  const auto source = weka_of(R"(
    {"t": 0, "type": "s", "in": 4, "out": 1, "hash_ids": [1], "api_time": 1},
    {"t": 2, "type": "subagent", "duration_ms": 600000, "requests": [
      {"t": 2, "type": "n", "in": 4, "out": 1, "hash_ids": [2], "api_time": 5},
      {"t": 40, "type": "n", "in": 4, "out": 1, "hash_ids": [2], "api_time": 5, "think_time": 1}]},
    {"t": 3, "type": "subagent", "duration_ms": 36000, "requests": [
      {"t": 3, "type": "n", "in": 4, "out": 1, "hash_ids": [2], "api_time": 36}]},
    {"t": 10, "type": "s", "in": 4, "out": 1, "hash_ids": [3], "api_time": 1},
    {"t": 50, "type": "s", "in": 4, "out": 1, "hash_ids": [3]})");
  EXPECT_EQ(source->waits_for(), (Waits{{}, {0}, {1}, {0}, {0}, {2, 3, 4}}));
  EXPECT_EQ(source->pauses_s(), (std::vector<double>{0, 1, 33, 2, 9, 5}));
}

TEST(Weka, APartlyFilledLastBlockMayHaveAnId) {
  const auto source = weka_of(R"(
    {"t": 0, "type": "s", "in": 9, "out": 1, "hash_ids": [1, 2, 3]},
    {"t": 1, "type": "s", "in": 11, "out": 1, "hash_ids": [1, 2, 3]},
    {"t": 2, "type": "s", "in": 11, "out": 1, "hash_ids": [1, 2]})");
  const std::vector<ServingRequest> requests = requests_of(*source);
  EXPECT_EQ(requests[1].shared_tokens, 9);
  EXPECT_NEAR(static_cast<double>(requests[2].shared_tokens), 8, 1);
}

TEST(Weka, NamesWhatIsWrong) {
  const TempDir dir;
  const auto refused = [&](const std::string& replaced, const std::string& by,
                           std::initializer_list<std::string> parts) {
    std::string text(kWeka);
    const size_t at = text.find(replaced);
    ASSERT_NE(at, text.npos) << replaced;
    text.replace(at, replaced.size(), by);
    expect_error([&] { (void)make_sample("weka", {.file = dir.write("w.json", text)}); }, parts);
  };
  refused("[7, 8]", "[7]", {"w.json", "requests[2].requests[1].hash_ids", "8 tokens hold 2 whole"});
  refused("[7, 8]", "[7, -8]", {"-8", "0 or more"});
  refused(R"("type": "s")", R"("type": "x")", {"requests[1].type", "\"x\"", "streamed"});
  refused(R"("block_size": 4)", R"("block_size": 0)", {"block_size"});
  refused(R"("hash_id_scope": "local")", R"("hash_id_scope": "mine")", {"mine", "global"});
  refused(R"("think_time": 8.5)", R"("think_time": -1)", {"requests[1].think_time", "-1"});
  refused(R"("requests": [)", R"("request": [)", {"requests", "missing"});
  const TempDir empty;
  expect_error([&] { (void)make_sample("weka", {.file = empty.path()}); }, {"no .json file"});
  const TempDir mixed;
  mixed.write("1.json", kWeka);
  std::string other(kWekaSecond);
  other.replace(other.find(": 4"), 3, ": 8");
  mixed.write("2.json", other);
  expect_error([&] { (void)make_sample("weka", {.file = mixed.path()}); },
               {"2.json", "block size"});
}

TEST(AgenticCoding, PromptsAreTheMessagesBeforeAnAnswer) {
  const TempDir dir;
  const auto source =
      make_sample("agentic_coding", with_texts(dir.write("a.jsonl", kAgenticCoding)));
  ASSERT_EQ(source->size(), 3);
  // The tokenizer puts a space before a text of its own.
  const std::string expected =
      "system: Be brief.\ntools: [{\"name\":\"sh\"}]\nuser: Mend it.\nassistant: Look "
      "first.[{\"id\":\"1\"}] \ntool: a file\ntool: no\nassistant:";
  std::vector<std::string> texts;
  for (const ServingRequest& request : requests_of(*source)) {
    texts.push_back(sample_tokenizer()->decode(request.prompt));
    if (texts.back() != expected) continue;
    ASSERT_EQ(request.answers.size(), 1u);
    EXPECT_EQ(request.session_tokens, request.shared_tokens + request.answers.front().tokens);
  }
  EXPECT_NE(std::find(texts.begin(), texts.end(), expected), texts.end()) << texts[1] << texts[2];
  EXPECT_EQ(source->dropped().by_rule, 1);  // the second conversation's unanswered message
  std::vector<double> pauses = source->pauses_s();
  std::sort(pauses.begin(), pauses.end());
  EXPECT_EQ(pauses, (std::vector<double>{0, 0.25, 1}));
}

TEST(AgenticCoding, NamesFileAndLineOfWhatIsWrong) {
  const TempDir dir;
  const auto refused = [&](const std::string& replaced, const std::string& by,
                           std::initializer_list<std::string> parts) {
    std::string text(kAgenticCoding);
    const size_t at = text.find(replaced);
    ASSERT_NE(at, text.npos) << replaced;
    text.replace(at, replaced.size(), by);
    expect_error(
        [&] { (void)make_sample("agentic_coding", with_texts(dir.write("a.jsonl", text))); },
        parts);
  };
  refused(R"("role": "tool")", R"("role": "oracle")", {"a.jsonl:3", "oracle", "assistant"});
  refused(R"("turn": 3)", R"("turn": 2)", {"a.jsonl:3", "turn", "after turn 2"});
  refused(R"("x", "turn": 4)", R"("y", "turn": 4)", {"a.jsonl:4", "begins with the assistant"});
  refused(R"({"conversation_id": "y", "turn": 3)", R"({"conversation_id": "x", "turn": 5)",
          {"a.jsonl:7", "\"x\"", "after another one"});
  refused("0.25", "-1", {"a.jsonl:3", "delay_seconds", "-1"});
  refused(R"("tool_results": [{)", R"("tool_result": [{)",
          {"a.jsonl:3", "tool_results", "missing"});
}

}  // namespace
}  // namespace reprise::workloads
