// A short run of the fuzzing that fuzz_slow_test.cpp does a million times.
#include "tests/methods/prompt_cache/pml/fuzz.h"

namespace reprise::pml {
namespace {

TEST(PmlFuzz, TwentyThousandInputsAreRefusedOrConsistent) {
  const FuzzCounts counts = fuzz(/*seed=*/1, /*rounds=*/20'000);
  EXPECT_GT(counts.schemas, 5'000);
  EXPECT_GT(counts.prompts, 1'000);
  EXPECT_GT(counts.refused, 5'000);
}

// Random bytes are refused by the scan, before they are parsed.
TEST(PmlFuzz, RandomBytesAreRefused) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 5'000; ++round) {
    std::string text;
    for (uint64_t i = random() % 40; i > 0; --i)
      text += random() % 3 == 0 ? static_cast<char>(random()) : "<>&;\"'=/!-[]? ab"[random() % 17];
    SCOPED_TRACE(text);
    EXPECT_THROW(schema_of(text), Error);
    EXPECT_THROW(prompt_of(text), Error);
  }
}

}  // namespace
}  // namespace reprise::pml
