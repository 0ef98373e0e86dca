// Tests the lengths of the prompts that Prompt Cache's authors timed, against the numbers from
// which they are derived.
#include "workloads/longbench/latency_sets.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/base/error.h"
#include "core/tokenizer/tokenizer.h"
#include "tests/support/data.h"
#include "workloads/longbench/datasets.h"
#include "workloads/longbench/prompts.h"

namespace reprise::workloads::longbench {
namespace {

TEST(LatencySets, AreEnglishSetsOfLongBenchEachOnce) {
  std::set<std::string_view> names;
  for (const LatencySet& set : latency_sets()) {
    EXPECT_TRUE(names.insert(set.name).second) << set.name << " twice";
    EXPECT_EQ(find_dataset(set.name).name, set.name);
    EXPECT_EQ(find_dataset(set.name).language, "en") << set.name;
    EXPECT_EQ(&find_latency_set(set.name), &set);
  }
  EXPECT_EQ(names.size(), 13u);
  try {
    (void)find_latency_set("hotpot_qa");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean \"hotpotqa\""), std::string::npos);
  }
}

TEST(LatencySets, ContextsAreCutOrRepeatedAsTheAuthorsProgramDoes) {
  for (const LatencySet& set : latency_sets()) {
    EXPECT_EQ(context_tokens(set, 3500), 3500) << set.name << ": the longest Llama was given";
    EXPECT_EQ(context_tokens(set, 64), 64) << set.name;
  }
  // 2,113 words of 1.4 tokens each, twice: below the limit of 8000 tokens.
  EXPECT_EQ(context_tokens(find_latency_set("multi_news"), 8000), 2 * 2958);
  EXPECT_EQ(context_tokens(find_latency_set("narrativeqa"), 8000), 8000);
}

TEST(LatencySets, TriviaqaBringsTheMostNewTokensAsThePaperSays) {
  for (const LatencySet& set : latency_sets()) {
    EXPECT_GT(set.fresh_tokens(), 0);
    EXPECT_LE(set.fresh_tokens(), find_latency_set("triviaqa").fresh_tokens()) << set.name;
  }
}

TEST(LatencySets, TemplatesHaveTheTokensOfTheAuthorsConfiguration) {
  REPRISE_NEEDS_DATA();
  const auto data = reprise::testing::data_dir();
  const auto templates = load_authors_templates(data / "prompts" / "prompt-cache-pml");
  const auto tokenizer = load_tokenizer(data / "tokenizers" / "llama2");
  for (const LatencySet& set : latency_sets()) {
    const PromptTemplate& prompt = templates.find(set.name)->second;
    const std::string text = prompt.question.filled("", "") + "[/INST]" + prompt.cue;
    EXPECT_EQ(std::ssize(tokenizer->encode(text, {.add_special = false})), set.template_tokens)
        << set.name;
    const bool asks = prompt.question.filled("", "?") != prompt.question.filled("", "");
    EXPECT_EQ(asks, set.question_tokens > 0) << set.name;
  }
}

}  // namespace
}  // namespace reprise::workloads::longbench
