// Tests recorded traces: what is read from them, what is refused, and the numbers of the published
// files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/support/data.h"
#include "tests/workloads/serving/sample_sources.h"
#include "workloads/serving/sources.h"

namespace reprise::workloads {
namespace {

using model::expect_error;
using model::TempDir;
using Lengths = std::vector<std::pair<int64_t, int64_t>>;

Lengths lengths_of(const RequestSource& source) {
  Lengths lengths;
  for (int64_t i = 0; i < source.size(); ++i)
    lengths.emplace_back(source.lengths(i).prompt, source.lengths(i).output);
  return lengths;
}

void expect_times(const RequestSource& source, const std::vector<double>& expected) {
  const std::vector<double> times = source.arrivals_s();
  ASSERT_EQ(times.size(), expected.size());
  for (size_t i = 0; i < times.size(); ++i) EXPECT_NEAR(times[i], expected[i], 1e-7) << i;
}

TEST(Azure, ReadsTimesAndLengths) {
  const TempDir dir;
  const auto file = dir.write("azure.csv", kAzure);
  const auto source = make_sample("azure", {.file = file});
  EXPECT_EQ(lengths_of(*source), (Lengths{{37, 4}, {12, 9}, {1, 1}, {20, 3}, {90, 300}}));
  expect_times(*source, {0, 0, 4.314579, 14.31941, 15.81941});
}

TEST(Azure, AByteOrderMarkIsNoPartOfTheHeading) {
  const TempDir dir;
  const auto file = dir.write("azure.csv", "\xEF\xBB\xBF" + std::string(kAzure));
  EXPECT_EQ(lengths_of(*make_sample("azure", {.file = file})).size(), 5u);
}

TEST(Azure, TakesAWindowAndTheFirstOfIt) {
  const TempDir dir;
  const auto file = dir.write("azure.csv", kAzure);
  const auto window = make_sample("azure", {.file = file, .window_start_s = 4, .window_s = 11});
  EXPECT_EQ(lengths_of(*window), (Lengths{{1, 1}, {20, 3}}));
  expect_times(*window, {0.314579, 10.31941});
  EXPECT_EQ(lengths_of(*make_sample("azure", {.file = file, .requests = 2, .window_start_s = 4})),
            (Lengths{{1, 1}, {20, 3}}));
  expect_error([&] { (void)make_sample("azure", {.file = file, .window_start_s = 20}); },
               {"no request is left of 5", "window_start_s is 20", "the last request is at 15.8"});
}

TEST(Azure, DividesDropsAndCuts) {
  const TempDir dir;
  const auto file = dir.write("azure.csv", kAzure);
  EXPECT_EQ(lengths_of(*make_sample("azure", {.file = file, .length_divisor = 8})),
            (Lengths{{5, 1}, {2, 1}, {1, 1}, {3, 1}, {11, 38}}));
  const auto dropped =
      make_sample("azure", {.file = file, .most_prompt_tokens = 37, .most_output_tokens = 4});
  EXPECT_EQ(lengths_of(*dropped), (Lengths{{37, 4}, {1, 1}, {20, 3}}));
  EXPECT_EQ(dropped->dropped().too_long, 2);
  EXPECT_EQ(dropped->dropped().cut, 0);
  const auto cut = make_sample(
      "azure",
      {.file = file, .most_prompt_tokens = 37, .most_output_tokens = 4, .too_long = "cut"});
  EXPECT_EQ(lengths_of(*cut), (Lengths{{37, 4}, {12, 4}, {1, 1}, {20, 3}, {37, 4}}));
  EXPECT_EQ(cut->dropped().cut, 2);
  EXPECT_EQ(cut->dropped().too_long, 0);
  // A cut prompt is the beginning of the whole prompt, and has its prefix if that still fits.
  const auto whole = make_sample("azure", {.file = file, .shared_tokens = 20});
  for (const int64_t most : {5, 20, 30}) {
    const auto part = make_sample(
        "azure",
        {.file = file, .shared_tokens = 20, .most_prompt_tokens = most, .too_long = "cut"});
    for (int64_t i = 0; i < part->size(); ++i) {
      const ServingRequest request = part->request(i);
      std::vector<int32_t> expected = whole->request(i).prompt;
      expected.resize(std::min(expected.size(), static_cast<size_t>(most)));
      EXPECT_EQ(request.prompt, expected);
      EXPECT_EQ(request.prefix, most < 20 ? -1 : 0);
    }
  }
}

// A request whose prompt or answer has length 0 is left out.
TEST(Azure, LeavesOutWhatHasNoLength) {
  const TempDir dir;
  const std::string heading = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  const auto source =
      make_sample("azure", {.file = dir.write("azure.csv", heading + "2023-11-16 18:15:46,0,4\n"
                                                                     "2023-11-16 18:15:48,3,4\n"
                                                                     "2023-11-16 18:15:49,3,0\n")});
  EXPECT_EQ(lengths_of(*source), (Lengths{{3, 4}}));
  EXPECT_EQ(source->dropped().by_rule, 2);
  expect_times(*source, {2});
}

TEST(Azure, TimesThatGoBackAreRefusedOrSorted) {
  const TempDir dir;
  const auto file = dir.write("azure.csv",
                              "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                              "2023-11-16 18:15:46.5,1,4\n"
                              "2023-11-16 18:15:44.0,2,4\n"
                              "2023-11-16 18:15:46.5,3,4\n");
  expect_error([&] { (void)make_sample("azure", {.file = file}); },
               {"azure.csv:3", "2.5 s before", "unsorted_times"});
  const auto sorted = make_sample("azure", {.file = file, .unsorted_times = "sort"});
  EXPECT_EQ(lengths_of(*sorted), (Lengths{{2, 4}, {1, 4}, {3, 4}}));
  expect_times(*sorted, {0, 2.5, 2.5});
}

TEST(Azure, NamesFileAndLineOfWhatIsWrong) {
  const TempDir dir;
  const std::string heading = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  const std::string good = "2023-11-16 18:15:46.68,374,44\n";
  const auto refused = [&](const std::string& text, std::initializer_list<std::string> parts) {
    expect_error([&] { (void)make_sample("azure", {.file = dir.write("t.csv", text)}); }, parts);
  };
  refused("", {"t.csv", "is empty"});
  refused(good, {"t.csv:1", "heading is missing"});
  refused("TIMESTAMP,ContextTokens\n" + good, {"t.csv:1", "heading"});
  refused(heading, {"no request is left of 0"});
  refused(heading + good + "2023-11-16 18:15:47.1,-5,44\n", {"t.csv:3", "ContextTokens is \"-5\""});
  refused(heading + good + "2023-11-16 18:15:47.1,5,nan\n", {"t.csv:3", "GeneratedTokens", "nan"});
  refused(heading + good + "2023-11-16 18:15:47.1,5.5,4\n", {"t.csv:3", "5.5", "whole number"});
  refused(heading + good + "2023-11-16 18:15:47.1,5\n", {"t.csv:3", "ends before GeneratedTokens"});
  refused(heading + "2023-11-16 18:15:46.68,4,808,10\n", {"t.csv:2", "4 fields", "first line 3"});
  refused(heading + good.substr(0, good.size() - 1) + "\r" + good, {"t.csv:2", "carriage return"});
  refused(heading + good + "2023-11-16 18:15:4", {"t.csv:3", "TIMESTAMP", "18:15:4\""});
  refused(heading + good + "\n" + good, {"t.csv:3", "line is empty"});
  refused(heading + "2023-02-30 18:15:46,1,1\n", {"t.csv:2", "2023-02-30"});
  refused(heading + "2023-11-16 24:15:46,1,1\n", {"t.csv:2", "TIMESTAMP"});
  refused(heading + "2023-11-16 18:15:46 ,1,1\n", {"t.csv:2", "TIMESTAMP"});
  refused(heading + "2023-11-16 18:15:46,99999999999999999999,1\n", {"t.csv:2", "ContextTokens"});
  refused(heading + std::string("2023-11-16 18:15:46\0,1,1\n", 25), {"t.csv:2", "TIMESTAMP"});
  expect_error([&] { (void)make_sample("azure", {.file = dir.path() / "none.csv"}); },
               {"none.csv"});
}

TEST(Mooncake, EqualBlocksAreEqualTokens) {
  const TempDir dir;
  const auto source = make_sample("mooncake", {.file = dir.write("m.jsonl", kMooncake)});
  EXPECT_EQ(lengths_of(*source),
            (Lengths{{1200, 5}, {1030, 7}, {513, 1}, {1536, 900}, {40, 2}, {1200, 2}}));
  expect_times(*source, {0, 0, 0.027, 0.03, 4, 4.001});
  const std::vector<ServingRequest> requests = requests_of(*source);
  EXPECT_EQ(requests[0].prompt, requests[5].prompt);
  EXPECT_EQ(requests[5].shared_tokens, 1200);
  for (const size_t i : {size_t{1}, size_t{3}}) {
    EXPECT_TRUE(std::equal(requests[0].prompt.begin(), requests[0].prompt.begin() + 1024,
                           requests[i].prompt.begin()));
    EXPECT_NEAR(static_cast<double>(requests[i].shared_tokens), 1024, 2);
  }
  EXPECT_LE(requests[2].shared_tokens, 2);
}

// The number of shared blocks does not depend on the divisor.
TEST(Mooncake, DividedLengthsKeepWhatIsShared) {
  const TempDir dir;
  const auto file = dir.write("m.jsonl", kMooncake);
  for (const double divisor : {1.0, 3.0, 8.0, 100.0, 512.0}) {
    const auto source = make_sample("mooncake", {.file = file, .length_divisor = divisor});
    const auto block = static_cast<int64_t>(std::llround(512 / divisor));
    const std::vector<int64_t> blocks = {0, 2, 0, 2, 0, 3};
    for (int64_t i = 0; i < source->size(); ++i) {
      const ServingRequest request = source->request(i);
      const int64_t shared = std::min(blocks[static_cast<size_t>(i)] * block,
                                      static_cast<int64_t>(std::ssize(request.prompt)));
      EXPECT_GE(request.shared_tokens, shared) << divisor;
      EXPECT_LE(request.shared_tokens, shared + 1) << divisor;  // by chance
    }
    EXPECT_EQ(source->lengths(0).prompt,
              2 * block + std::max<int64_t>(1, std::llround(176 / divisor)));
  }
  expect_error([&] { (void)make_sample("mooncake", {.file = file, .length_divisor = 513}); },
               {"length_divisor is 513", "512"});
}

// The blocks with which all prompts begin stand for a service's system prompt, which a user of the
// service knows.
TEST(Mooncake, DeclaresTheBlocksThatAllBeginWith) {
  const TempDir dir;
  EXPECT_TRUE(
      make_sample("mooncake", {.file = dir.write("m.jsonl", kMooncake)})->prefixes().empty());
  std::string common(kMooncake);
  common = common.substr(0, common.find(R"({"timestamp": 27)"));
  const auto source =
      make_sample("mooncake", {.file = dir.write("m.jsonl", common), .length_divisor = 64});
  ASSERT_EQ(source->prefixes().size(), 1u);
  EXPECT_EQ(source->prefixes()[0].tokens.size(), 16u);
  EXPECT_EQ(source->request(0).prefix, 0);
  EXPECT_EQ(source->request(0).shared_tokens, 16);
  // A single request has nothing in common with others.
  common = common.substr(0, common.find('\n') + 1);
  EXPECT_TRUE(make_sample("mooncake", {.file = dir.write("m.jsonl", common)})->prefixes().empty());
}

TEST(Mooncake, NamesFileAndLineOfWhatIsWrong) {
  const TempDir dir;
  const std::string good =
      R"({"timestamp": 5, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]})"
      "\n";
  const auto refused = [&](const std::string& line, std::initializer_list<std::string> parts) {
    expect_error(
        [&] { (void)make_sample("mooncake", {.file = dir.write("m.jsonl", good + line)}); }, parts);
  };
  refused(R"({"timestamp": 4, "input_length": 6, "output_length": 5, "hash_ids": [0]})",
          {"m.jsonl:2", "0.001 s before", "unsorted_times"});
  refused(R"({"timestamp": 6, "input_length": 600, "output_length": 5, "hash_ids": [0]})",
          {"m.jsonl:2", "1 ids", "600 is 2 blocks of 512"});
  refused(R"({"timestamp": 6, "input_length": -1, "output_length": 5, "hash_ids": []})",
          {"m.jsonl:2", "input_length", "-1"});
  refused(R"({"timestamp": 6, "input_length": 6, "output_length": 5, "hash_ids": [-3]})",
          {"m.jsonl:2", "holds -3"});
  refused(R"({"timestamp": 6, "input_length": 6, "output_length": 5})",
          {"m.jsonl:2", "hash_ids", "missing"});
  refused(R"({"timestamp": NaN, "input_length": 6, "output_length": 5, "hash_ids": [1]})",
          {"m.jsonl:2", "JSON"});
  refused(R"({"timestamp": 6, "input_length": 6, "output_le)", {"m.jsonl:2", "JSON"});
  refused(R"({"timestamp": 6, "input_len": 6, "output_length": 5, "hash_ids": [1]})",
          {"m.jsonl:2", "input_length"});
  expect_error([&] { (void)make_sample("mooncake", {.file = dir.write("m.jsonl", "")}); },
               {"m.jsonl", "is empty"});
}

// Equal ids give equal tokens. The second request has two ids in common with the first, but it
// shares no prefix, because its first id differs.
TEST(Bailian, EqualIdsAreEqualTokensHoweverLargeTheyAre) {
  const TempDir dir;
  const auto source = make_sample("bailian", {.file = dir.write("b.jsonl", kBailian)});
  EXPECT_EQ(lengths_of(*source), (Lengths{{40, 6}, {33, 2}, {16, 1}, {64, 9}, {70, 3}}));
  expect_times(*source, {0, 0.75, 0.75, 1.5, 60.614});
  const std::vector<ServingRequest> requests = requests_of(*source);
  EXPECT_LE(requests[1].shared_tokens, 2);
  EXPECT_TRUE(std::equal(requests[0].prompt.begin() + 16, requests[0].prompt.begin() + 33,
                         requests[1].prompt.begin() + 16));
  EXPECT_EQ(requests[2].shared_tokens, 16);
  EXPECT_NEAR(static_cast<double>(requests[3].shared_tokens), 32, 2);
  EXPECT_NEAR(static_cast<double>(requests[4].shared_tokens), 64, 2);
  EXPECT_TRUE(source->prefixes().empty());
}

TEST(Bailian, AnswersBelongToTheConversationOfTheirParent) {
  const TempDir dir;
  const auto entries = serving::make_bailian({.file = dir.write("b.jsonl", kBailian), .vocab = 99});
  const auto session = [&](int64_t entry) { return entries->session(entry); };
  EXPECT_EQ(session(3), session(0));
  EXPECT_EQ(session(4), session(0));
  EXPECT_EQ((std::set<int64_t>{session(0), session(1), session(2)}.size()), 3u);
}

// The third line's parent is the first line, and the second line's parent is the third.
TEST(Bailian, AnAnswerMayComeBeforeItsParent) {
  const TempDir dir;
  const auto line = [](int64_t chat, int64_t parent) {
    return fmt::format(
        R"({{"chat_id": {}, "parent_chat_id": {}, "timestamp": 1, "input_length": 16, )"
        R"("output_length": 1, "type": "text", "turn": 1, "hash_ids": [{}]}})"
        "\n",
        chat, parent, chat);
  };
  const auto file = dir.write("b.jsonl", line(1, -1) + line(3, 2) + line(2, 1) + line(4, -1));
  const auto entries = serving::make_bailian({.file = file, .vocab = 99});
  EXPECT_EQ(entries->session(0), entries->session(1));
  EXPECT_EQ(entries->session(0), entries->session(2));
  EXPECT_NE(entries->session(0), entries->session(3));
}

TEST(Bailian, NamesFileAndLineOfWhatIsWrong) {
  const TempDir dir;
  const auto refused = [&](const std::string& replaced, const std::string& by,
                           std::initializer_list<std::string> parts) {
    std::string text(kBailian);
    const size_t at = text.find(replaced);
    ASSERT_NE(at, text.npos) << replaced;
    text.replace(at, replaced.size(), by);
    expect_error([&] { (void)make_sample("bailian", {.file = dir.write("b.jsonl", text)}); },
                 parts);
  };
  refused(R"("timestamp": 0.5)", R"("timestamp": -0.5)", {"b.jsonl:1", "timestamp"});
  refused(R"("timestamp": 2,)", R"("timestamp": 1,)", {"b.jsonl:4", "0.25 s before"});
  refused("[90000000000, 7, 8]", "[7]", {"b.jsonl:1", "1 ids", "40 is 3 blocks of 16"});
  refused(R"("chat_id": 6, )", "", {"b.jsonl:2", "chat_id", "missing"});
  refused("7, 8]", "7, -8]", {"b.jsonl:1", "-8"});
  expect_error(
      [&] {
        (void)make_sample("bailian",
                          {.file = dir.write("b.jsonl", kBailian), .length_divisor = 17});
      },
      {"length_divisor is 17", "16"});
}

TEST(BurstGpt, ColumnsAreFoundByTheirNamesAndFailedRequestsLeftOut) {
  const TempDir dir;
  const auto source = make_sample("burstgpt", {.file = dir.write("b.csv", kBurstGpt)});
  EXPECT_EQ(lengths_of(*source), (Lengths{{47, 18}, {108, 23}, {41, 27}}));
  expect_times(*source, {0, 40.5, 113});
  const auto first = make_sample(
      "burstgpt",
      {.file = dir.write("f.csv",
                         "Timestamp,Model,Request tokens,Response tokens,Total "
                         "tokens,Log Type\r\n5,ChatGPT,472,18,490,Conversation log\r\n")});
  EXPECT_EQ(lengths_of(*first), (Lengths{{472, 18}}));
  expect_error(
      [&] {
        (void)make_sample("burstgpt", {.file = dir.write("n.csv", "Timestamp,Model\n5,GPT-4\n")});
      },
      {"n.csv:1", "Request tokens"});
  expect_error(
      [&] {
        (void)make_sample(
            "burstgpt",
            {.file = dir.write("w.csv", "Timestamp,Request tokens,Response tokens\n5,x,1\n")});
      },
      {"w.csv:2", "Request tokens", "x"});
}

TEST(RecordedLengths, ColumnsAreTheFirstTwoOrThoseThatAreNamed) {
  const TempDir dir;
  const auto with_heading = dir.write("h.csv", "in,sum,out\n7,9,2\n1,2,1");
  const auto make_lengths = [&](const std::filesystem::path& file, const char* prompt,
                                const char* output) {
    return lengths_of(*make_sample(
        "lengths",
        {.file = file, .order = "recorded", .prompt_column = prompt, .output_column = output}));
  };
  EXPECT_EQ(make_lengths(with_heading, "", ""), (Lengths{{7, 9}, {1, 2}}));
  EXPECT_EQ(make_lengths(with_heading, "", "out"), (Lengths{{7, 2}, {1, 1}}));
  EXPECT_EQ(make_lengths(with_heading, "sum", "in"), (Lengths{{9, 7}, {2, 1}}));
  const auto bare = dir.write("b.csv", "7,9\r\n1,2\r\n");
  EXPECT_EQ(make_lengths(bare, "", ""), (Lengths{{7, 9}, {1, 2}}));
  expect_error([&] { make_lengths(with_heading, "inn", ""); }, {"h.csv:1", "did you mean \"in\""});
  expect_error([&] { make_lengths(bare, "in", ""); }, {"b.csv:1", "no heading"});
  for (const char* bad :
       {"7\n", "nan,3\n", "7,-3\n", "-1,2\n", "1e3,2\n", "in,out\n4,\n", "in,out\n4"})
    expect_error([&] { make_lengths(dir.write("bad.csv", bad), "", ""); }, {"bad.csv:"});
}

int64_t sum(const Lengths& lengths, bool of_prompts) {
  int64_t sum = 0;
  for (const auto& [prompt, output] : lengths) sum += of_prompts ? prompt : output;
  return sum;
}

TEST(PublishedTraces, AreReadWhole) {
  REPRISE_NEEDS_DATA();
  const auto traces = testing::data_dir() / "traces";
  const auto check = [&](const std::string& name, SourceOptions options, int64_t requests,
                         int64_t prompt_tokens, int64_t output_tokens) {
    options.file = traces / options.file;
    const Lengths lengths = lengths_of(*make_sample(name, options));
    EXPECT_EQ(std::ssize(lengths), requests) << options.file;
    EXPECT_EQ(sum(lengths, true), prompt_tokens) << options.file;
    EXPECT_EQ(sum(lengths, false), output_tokens) << options.file;
  };
  check("azure", {.file = "azure2023_code.csv"}, 8819, 18059974, 245896);
  check("azure", {.file = "azure2023_conv.csv"}, 19366, 22361870, 4088665);
  check("azure", {.file = "azure2024_sample.csv", .unsorted_times = "sort"}, 5880, 3216501, 680370);
  check("mooncake", {.file = "mooncake_conversation.jsonl"}, 12031, 144793823, 4122048);
  check("mooncake", {.file = "mooncake_synthetic.jsonl"}, 3993, 61194628, 595432);
  check("sharegpt", {.file = "sharegpt_lengths.csv"}, 82780, 20772942, 19159987);
  check("lengths", {.file = "arxiv_summarization_lengths.csv"}, 28257, 73131321, 8234948);
  expect_error([&] { (void)make_sample("azure", {.file = traces / "azure2024_sample.csv"}); },
               {"azure2024_sample.csv:243", "unsorted_times"});
  const auto window = make_sample(
      "azure", {.file = traces / "azure2023_conv.csv", .window_start_s = 600, .window_s = 600});
  EXPECT_EQ(window->size(), 3118);
  EXPECT_LT(window->arrivals_s().back(), 600);
}

// A cache that forgets nothing finds a block if all blocks before it in the prompt are shared too.
TEST(PublishedTraces, MooncakesBlocksAreFoundAgain) {
  REPRISE_NEEDS_DATA();
  const auto found_blocks = [](const std::string& name) {
    const auto source = make_sample(
        "mooncake", {.file = testing::data_dir() / "traces" / ("mooncake_" + name + ".jsonl")});
    int64_t found = 0, all = 0;
    for (int64_t i = 0; i < source->size(); ++i) {
      const ServingRequest request = source->request(i);
      const int64_t blocks = (std::ssize(request.prompt) + 511) / 512;
      const bool is_whole = request.shared_tokens == std::ssize(request.prompt);
      // The first request has its prefix from the declaration, and not from an earlier request.
      if (i > 0) found += is_whole ? blocks : request.shared_tokens / 512;
      all += blocks;
    }
    return std::pair(found, all);
  };
  EXPECT_EQ(found_blocks("conversation"), (std::pair<int64_t, int64_t>(105710, 288500)));
  EXPECT_EQ(found_blocks("synthetic"), (std::pair<int64_t, int64_t>(77953, 121877)));
}

}  // namespace
}  // namespace reprise::workloads
