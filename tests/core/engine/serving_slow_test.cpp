
#include "core/base/json.h"
#include "tests/core/engine/stress.h"
#include "tests/support/json.h"

namespace reprise::engine {
namespace {

// Small blocks, so that many are taken and given back. `reuses` chooses whether a method computes a
// prompt whole or reuses what it has of the prompt.
Json options_of(const std::string& method, bool reuses) {
  const bool is_paged = method == "paged" || method == "paged_shared";
  if (method == "relay_attention") return {{"block_tokens", 8}};
  Json options = {{is_paged ? "block_tokens" : "chunk_tokens", is_paged ? 8 : 16}};
  if (method != "paged") options["reuse_prefill"] = reuses;
  if (!is_paged) options["retain"] = reuses;
  return options;
}

// Uses a trained model in f32. Each of a method's four runs has 250 requests, another scheduler and
// another way to preempt: see Stress::options().
TEST(Serving, AThousandRequestsGenerateTheSameUnderEveryMethodAndPolicy) {
  const Context context = Context::machine();
  const auto decoder =
      model::load_decoder(std::string(REPRISE_SOURCE_DIR) + "/models/quickstart", {}, context);
  const testing::StressTexts texts(*decoder, /*seed=*/1, context);
  for (const char* method : {"paged", "paged_shared", "relay_attention", "chunk_attention", "auto"})
    for (uint64_t seed : {32, 37, 42, 47}) {
      SCOPED_TRACE(std::string(method) + ", seed " + std::to_string(seed));
      const Json options = options_of(method, /*reuses=*/seed % 2 == 1);
      testing::Stress stress(*decoder, {method, options}, texts, seed, context);
      const testing::StressCount count = stress.run(250);
      if (::testing::Test::HasFailure()) return;
      EXPECT_EQ(count.served + count.cancelled, 250);
      EXPECT_GT(count.preempted, 25);
      EXPECT_GT(count.cancelled, 2);
      std::printf("%-16s served %ld, cancelled %ld, preempted %ld, swapped in %ld\n", method,
                  count.served, count.cancelled, count.preempted, count.swapped_in);
    }
}

}  // namespace
}  // namespace reprise::engine
