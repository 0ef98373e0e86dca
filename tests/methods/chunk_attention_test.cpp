#include "methods/chunk_attention/chunk_attention.h"

#include <gtest/gtest.h>

#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/json.h"
#include "tests/support/run_requests.h"
#include "tests/support/tiny_models.h"

namespace reprise::methods {
namespace {

using model::expect_error;
using testing::Arrival;

ChunkAttentionOptions read_chunk(const Json& json) {
  return reuse::read_options<ChunkAttentionOptions>(fields_of(json), "options");
}

TEST(ChunkAttention, PresetsAreDefaultsThatOptionsReplace) {
  EXPECT_EQ(read_chunk(Json::object()).tree.chunk_tokens, 64);
  EXPECT_EQ(read_chunk(Json::object()).share_threshold, 1);
  EXPECT_FALSE(read_chunk({{"preset", "compressed"}}).item_per_shared_chunk);
  EXPECT_TRUE(read_chunk({{"preset", "as_published"}}).item_per_shared_chunk);
  EXPECT_FALSE(read_chunk({{"preset", "as_published"}}).item_per_private_chunk);
  EXPECT_TRUE(read_chunk({{"preset", "as_coded"}}).item_per_private_chunk);
  EXPECT_EQ(read_chunk({{"preset", "as_coded"}}).share_threshold, 0);
  EXPECT_EQ(read_chunk({{"preset", "as_coded"}, {"share_threshold", 3}}).share_threshold, 3);
}

TEST(ChunkAttention, DirectReductionIsAnOptionOfEveryPreset) {
  for (const char* preset : {"compressed", "as_published", "as_coded"}) {
    EXPECT_FALSE(read_chunk({{"preset", preset}}).direct_reduction) << preset;
    EXPECT_TRUE(read_chunk({{"preset", preset}, {"direct_reduction", true}}).direct_reduction);
  }
}

// The paper's prefix lookup avoids computing shared keys and values again [§3.2]; the released code
// is given the keys and values of whole prompts.
TEST(ChunkAttention, ThePaperReusesInPrefillAndTheReleasedCodeDoesNot) {
  EXPECT_TRUE(read_chunk({{"preset", "as_published"}}).tree.reuse_prefill);
  EXPECT_FALSE(read_chunk({{"preset", "as_coded"}}).tree.reuse_prefill);
  EXPECT_FALSE(
      read_chunk({{"preset", "as_published"}, {"reuse_prefill", false}}).tree.reuse_prefill);
  EXPECT_TRUE(read_chunk({{"preset", "as_published"}, {"retain", true}}).tree.retain);
}

TEST(ChunkAttention, MistakesNameTheOptionAndTheRemedy) {
  expect_error(
      [] {
        read_chunk({{"chunk_tokens", 40}});
      },
      {"chunk_tokens", "40", "multiple of 16", "32"});
  expect_error([] { read_chunk({{"chunk_tokens", 0}}); }, {"chunk_tokens", "16"});
  expect_error(
      [] {
        read_chunk({{"preset", "as_publised"}});
      },
      {"preset", "did you mean \"as_published\"?"});
  expect_error([] { read_chunk({{"retain", true}}); }, {"retain", "reuse_prefill"});
  expect_error(
      [] {
        read_chunk({{"direct_reduction", true}}).check_device(Device::kCuda);
      },
      {"direct_reduction on device cuda", "leave the option out", "--device cpu"});
}

// Compares expected and observed reuse of four requests with 40 common and 8 own tokens, in chunks
// of 16.
class Reuse : public ::testing::Test {
 protected:
  testing::BatchRun run(const Json& options, int32_t last_step = 0) {
    std::vector<Arrival> arrivals;
    for (int32_t i = 0; i < 4; ++i) {
      engine::Request request{.id = i + 1, .max_new_tokens = 10};
      for (int32_t t = 0; t < 48; ++t) request.prompt.push_back(t < 40 ? 2 + t : 50 + i);
      arrivals.push_back({i < 3 ? 0 : last_step, request});
    }
    return testing::run_requests(*decoder_, {"chunk_attention", options}, arrivals, 4, 512,
                                 context_);
  }
  Context context_ = Context::machine();
  std::unique_ptr<model::Decoder> decoder_ =
      testing::random_decoder(testing::scaled_down("llama-2-7b"), context_);
};

TEST_F(Reuse, MemoryIsSharedAndPromptsAreComputedWithoutIt) {
  const testing::BatchRun run = this->run({{"chunk_tokens", 16}});
  EXPECT_EQ(run.metrics.at("matched_tokens"), 3 * 32);
  EXPECT_EQ(run.metrics.at("reused_tokens"), 0);
  // The model has two layers and four heads of size 20; keys and values are f32.
  EXPECT_EQ(run.metrics.at("peak_shared_kv_bytes"), 3 * 32 * 2 * 4 * 20 * 2 * 4);
  EXPECT_EQ(run.used_blocks, 0);
  // The prompts need one plan, and the first new tokens another.
  EXPECT_EQ(run.metrics.at("plans_built"), 2);
  EXPECT_EQ(run.metrics.at("plans_advanced"), 8);
}

TEST_F(Reuse, PrefillSkipsWhatTheFirstRequestComputed) {
  const testing::BatchRun run = this->run({{"chunk_tokens", 16}, {"reuse_prefill", true}});
  EXPECT_EQ(run.metrics.at("matched_tokens"), 3 * 32);
  EXPECT_EQ(run.metrics.at("reused_tokens"), 3 * 32);
  EXPECT_EQ(run.used_blocks, 0);
}

TEST_F(Reuse, PresetsReuseAsThePaperAndAsTheReleasedCode) {
  const auto reused = [&](const char* preset) {
    const testing::BatchRun run = this->run({{"preset", preset}, {"chunk_tokens", 16}});
    EXPECT_EQ(run.metrics.at("matched_tokens"), 3 * 32) << preset;
    return run.metrics.at("reused_tokens");
  };
  EXPECT_EQ(reused("as_published"), 3 * 32);
  EXPECT_EQ(reused("as_coded"), 0);
}

TEST_F(Reuse, RetentionServesARequestThatComesWhenAllHaveLeft) {
  const Json options = {{"chunk_tokens", 16}, {"reuse_prefill", true}};
  EXPECT_EQ(this->run(options, 40).metrics.at("reused_tokens"), 2 * 32);
  Json retaining = options;
  retaining["retain"] = true;
  const testing::BatchRun run = this->run(retaining, 40);
  EXPECT_EQ(run.metrics.at("reused_tokens"), 3 * 32);
  EXPECT_GE(run.used_blocks, 2);
}

}  // namespace
}  // namespace reprise::methods
