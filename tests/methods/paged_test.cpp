// Tests the memory of the paged baselines: what they allocate, and what sharing saves.
#include "methods/paged/paged.h"

#include <gtest/gtest.h>

#include "methods/paged_shared/paged_shared.h"
#include "tests/support/json.h"
#include "tests/support/run_requests.h"
#include "tests/support/tiny_models.h"

namespace reprise::methods {
namespace {

using testing::Arrival;

class PagedMethods : public ::testing::Test {
 protected:
  // Runs three requests of 48 common, 8 own and 9 new tokens, so that each stores 56 + 8 tokens.
  testing::BatchRun run(const std::string& method, const Json& options) {
    std::vector<Arrival> arrivals;
    for (int32_t i = 0; i < 3; ++i) {
      engine::Request request{.id = i + 1, .max_new_tokens = 9};
      for (int32_t t = 0; t < 56; ++t) request.prompt.push_back(t < 48 ? 2 + t : 60 + i);
      arrivals.push_back({i == 0 ? 0 : 1, request});
    }
    return testing::run_requests(*decoder_, {method, options}, arrivals, 3, 512, context_);
  }
  // The model has two layers and four heads of size 20; keys and values are f32.
  static constexpr int64_t kTokenBytes = 2 * 4 * 20 * 2 * 4;

  Context context_ = Context::machine();
  std::unique_ptr<model::Decoder> decoder_ =
      testing::random_decoder(testing::scaled_down("llama-2-7b"), context_);
};

TEST_F(PagedMethods, BlocksAreTakenAsSequencesGrow) {
  const testing::BatchRun run = this->run("paged", {{"block_tokens", 16}});
  EXPECT_EQ(run.peak_bytes, 3 * 64 * kTokenBytes);
  EXPECT_EQ(run.metrics.at("matched_tokens"), 0);
  EXPECT_EQ(run.used_blocks, 0);
}

TEST_F(PagedMethods, SharedMemoryHoldsAPrefixOnce) {
  const testing::BatchRun run =
      this->run("paged_shared", {{"block_tokens", 16}, {"reuse_prefill", true}});
  EXPECT_EQ(run.peak_bytes, (48 + 3 * 16) * kTokenBytes);
  EXPECT_EQ(run.metrics.at("matched_tokens"), 2 * 48);
  EXPECT_EQ(run.metrics.at("reused_tokens"), 2 * 48);
  EXPECT_EQ(run.metrics.at("peak_shared_kv_bytes"), static_cast<double>(2 * 48 * kTokenBytes));
  EXPECT_EQ(run.used_blocks, 0);
}

}  // namespace
}  // namespace reprise::methods
