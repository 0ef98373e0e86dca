// Fuzzes a million schemas, most of them damaged, and prompts for those that are accepted.
#include "tests/methods/prompt_cache/pml/fuzz.h"

namespace reprise::pml {
namespace {

TEST(PmlFuzz, AMillionInputsAreRefusedOrConsistent) {
  const FuzzCounts counts = fuzz(/*seed=*/1'000, /*rounds=*/1'000'000);
  EXPECT_GT(counts.schemas, 250'000);
  EXPECT_GT(counts.prompts, 50'000);
  EXPECT_GT(counts.refused, 250'000);
}

}  // namespace
}  // namespace reprise::pml
