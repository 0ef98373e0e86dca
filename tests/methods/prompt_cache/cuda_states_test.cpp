// Prompt Cache on a device: states are computed there, kept in the host's memory or in files, and
// copied beside the layers that read them.
#include <gtest/gtest.h>

#include "tests/core/kernels/device/cuda/device_context.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/core/store/segment_testing.h"
#include "tests/methods/prompt_cache/prompt_cache_testing.h"
#include "tests/support/json.h"
#include "tests/support/tiny_models.h"

namespace reprise::prompt_cache {
namespace {

const std::string kOther = "<prompt schema=\"s\"><c/>71 72 73</prompt>";

// The error on the device is the rounding to the cache's type, as in the tests of models.
constexpr DType kCache = DType::kF16;
constexpr double kBound = 0.14 / 8;

const EncodeOptions kEncode = {.kv_dtype = kCache, .step_tokens = 8};
constexpr int64_t kMuch = int64_t{1} << 24;

class CudaPromptCache : public testing::OnDevice {
 protected:
  void TearDown() override {
    decoder_.reset();
    OnDevice::TearDown();
  }
  model::Decoder& load(const char* shape, int64_t head_dim) {
    config_ = testing::scaled_down(shape, head_dim);
    decoder_ = testing::random_decoder(config_, context_, DType::kF32);
    return *decoder_;
  }
  [[nodiscard]] kv::SegmentStoreOptions in_memory() const {
    return {.host_bytes = kMuch, .runtime = device_};
  }

  Json config_;
  std::unique_ptr<model::Decoder> decoder_;
};

std::vector<Outcome> run(model::Decoder& decoder, const std::vector<PreparedPrompt>& prompts) {
  return run_prompts(decoder, prompts, {.step_tokens = 3, .kv_dtype = kCache});
}

TEST_F(CudaPromptCache, PromptsGiveTheCpusLogits) {
  for (const auto& [shape, head_dim] :
       {std::pair{"llama-3-8b", 64}, std::pair{"falcon-7b", 64}, std::pair{"mpt-7b", 32}}) {
    load(shape, head_dim);
    const auto on_cpu = testing::random_decoder(config_, Context{.threads = 1, .isa = best_isa()});
    for (const Mode mode : {Mode::kIsolated, Mode::kJoint}) {
      Prepared there(*decoder_, three_modules(), mode, kEncode, in_memory());
      Prepared here(*on_cpu, three_modules(), mode, kEncode);
      const Outcome got = run(*decoder_, {there.prepare(kPrompt)})[0];
      const Outcome want = run(*on_cpu, {here.prepare(kPrompt)})[0];
      ASSERT_EQ(got.logits.size(), want.logits.size());
      // Compares only the logits of the prompt's own tokens: generated tokens may differ where two
      // logits nearly tie.
      const size_t prompts = 9 * static_cast<size_t>(decoder_->config().vocab);
      ASSERT_GT(want.logits.size(), prompts);
      EXPECT_LE(max_difference(std::span(got.logits).first(prompts),
                               std::span(want.logits).first(prompts)),
                kBound)
          << shape << " " << name_of(mode);
    }
    decoder_.reset();
  }
}

// States give the same bits from every tier, each time that a prompt imports them.
TEST_F(CudaPromptCache, StatesAreTheSameFromEachTier) {
  load("llama-2-7b", 32);
  Prepared host(*decoder_, three_modules(), Mode::kIsolated, kEncode, in_memory());
  const Outcome want = run(*decoder_, {host.prepare(kPrompt)})[0];
  EncodeOptions kept = kEncode;
  kept.device_bytes = kMuch;
  Prepared device(*decoder_, three_modules(), Mode::kIsolated, kept, in_memory());
  const model::TempDir folder;
  Prepared files(*decoder_, three_modules(), Mode::kIsolated, kEncode,
                 {.directory = folder.path(), .verify = kv::Verify::kHeader});
  for (Prepared* from : {&host, &device, &files})
    for (int again = 0; again < 3; ++again)
      EXPECT_EQ(run(*decoder_, {from->prepare(kPrompt)})[0], want) << again;
  CopyBuffer buffer;  // gathers the states first, as in the paper
  for (int again = 0; again < 2; ++again)
    EXPECT_EQ(run(*decoder_, {host.prepare(kPrompt, {.copies = true, .copy_buffer = &buffer})})[0],
              want)
        << again;
  // Two prompts in one batch share the modules that both import.
  const Outcome other = run(*decoder_, {host.prepare(kOther)})[0];
  const std::vector<Outcome> both =
      run(*decoder_, {device.prepare(kPrompt), device.prepare(kOther)});
  EXPECT_LE(max_difference(both[0].logits, want.logits), kBound);
  EXPECT_LE(max_difference(both[1].logits, other.logits), kBound);
}

// Tests how many of a prompt's states are on the device after its end.
TEST_F(CudaPromptCache, TheDeviceKeepsWhatItsBudgetHolds) {
  load("llama-2-7b", 32);
  const int64_t token = state_shape(decoder_->config(), 1, kCache).bytes();
  const int64_t before = device_->memory().used_bytes();
  const auto kept_bytes = [&](int64_t budget) {
    EncodeOptions options = kEncode;
    options.device_bytes = budget;
    Prepared prepared(*decoder_, three_modules(), Mode::kIsolated, options, in_memory());
    run(*decoder_, {prepared.prepare(kPrompt)});
    run(*decoder_, {prepared.prepare(kOther)});
    return device_->memory().used_bytes() - before;
  };
  kept_bytes(kMuch);  // the model's own buffers grow with its first steps
  const int64_t nothing = kept_bytes(0);
  EXPECT_EQ(kept_bytes(0), nothing);
  EXPECT_EQ(kept_bytes(2 * token), nothing);
  // The units used last are the schema's own text of 3 tokens, and after it c with 9 tokens.
  const auto held = [&](int64_t tokens) {  // bytes of keys and values, rounded as the pool does
    return 2 * static_cast<int64_t>(cuda::size_class(static_cast<size_t>(tokens * token / 2)));
  };
  EXPECT_EQ(kept_bytes(8 * token), nothing + held(3));
  EXPECT_EQ(kept_bytes(11 * token), nothing + held(9));
  EXPECT_EQ(kept_bytes(12 * token), nothing + held(3) + held(9));
  EXPECT_GE(kept_bytes(kMuch) - nothing, (3 + 11 + 11 + 9) * token);
}

TEST_F(CudaPromptCache, DecodeStepsAreReplayedOnceTheStatesAreThere) {
  load("llama-2-7b", 32);
  Prepared prepared(*decoder_, three_modules(), Mode::kIsolated, kEncode, in_memory());
  run_prompts(*decoder_, {prepared.prepare(kPrompt)},
              {.step_tokens = 3, .kv_dtype = kCache, .max_new_tokens = 12});
  EXPECT_GE(device_->graphs().replays(), 5);
}

TEST_F(CudaPromptCache, DamagedStatesEndTheStepAndAreComputedAnew) {
  load("llama-2-7b", 32);
  const model::TempDir folder;
  Prepared files(*decoder_, three_modules(), Mode::kIsolated, kEncode,
                 {.directory = folder.path(), .verify = kv::Verify::kHeader});
  const Outcome want = run(*decoder_, {files.prepare(kPrompt)})[0];
  const std::filesystem::path path = kv::files_of(folder.path()).at(0);
  std::string content = kv::content_of(path);
  content[content.size() - 5] ^= 1;
  kv::write_content(path, content);
  EXPECT_THROW(run(*decoder_, {files.prepare(kPrompt)}), Error);
  for (size_t unit = 0; unit < files.states.encoding().units.size(); ++unit)
    files.store.erase(files.states.key_of(static_cast<int32_t>(unit)));
  EXPECT_EQ(run(*decoder_, {files.prepare(kPrompt)})[0], want);
}

// Recomputes no token, all tokens, and the tokens that the CPU chooses, with states from each tier.
TEST_F(CudaPromptCache, RepairGoesFromIsolatedToTheCommonPass) {
  load("llama-2-7b", 32);
  Prepared isolated(*decoder_, three_modules(), Mode::kIsolated, kEncode, in_memory());
  Prepared repaired(*decoder_, three_modules(), Mode::kRepair, kEncode, in_memory());
  const Outcome apart = run(*decoder_, {isolated.prepare(kPrompt)})[0];
  EXPECT_EQ(run(*decoder_, {repaired.prepare(kPrompt, {.repair_ratio = 0})})[0], apart);
  // Compares only the logits of the prompt's own tokens: generated tokens may differ where two
  // logits nearly tie.
  const size_t prompts = 9 * static_cast<size_t>(decoder_->config().vocab);
  const auto expect_near = [&](const Outcome& got, const Outcome& want) {
    EXPECT_LE(
        max_difference(std::span(got.logits).first(prompts), std::span(want.logits).first(prompts)),
        kBound);
  };
  const auto on_cpu = testing::random_decoder(config_, Context{.threads = 1, .isa = best_isa()});
  Prepared here(*on_cpu, three_modules(), Mode::kRepair, {.kv_dtype = kCache, .step_tokens = 8});
  CopyBuffer buffer;
  for (const double ratio : {0.3, 1.0}) {
    const PreparedPrompt there = repaired.prepare(kPrompt, {.repair_ratio = ratio}),
                         want = here.prepare(kPrompt, {.repair_ratio = ratio});
    EXPECT_EQ(there.repaired_tokens, want.repaired_tokens);
    ASSERT_EQ(there.runs.size(), want.runs.size()) << "other tokens were chosen";
    for (size_t i = 0; i < want.runs.size(); ++i)
      EXPECT_EQ(there.runs[i].first_position, want.runs[i].first_position) << i;
    const Outcome got = run(*decoder_, {there})[0];
    expect_near(got, run(*on_cpu, {want})[0]);
    EXPECT_GT(max_difference(got.logits, apart.logits), kBound);
    EXPECT_EQ(
        run(*decoder_,
            {repaired.prepare(kPrompt,
                              {.repair_ratio = ratio, .copies = true, .copy_buffer = &buffer})})[0],
        got);
  }
  // The states in the store have not changed.
  EXPECT_EQ(run(*decoder_, {repaired.prepare(kPrompt, {.repair_ratio = 0})})[0], apart);
}

}  // namespace
}  // namespace reprise::prompt_cache
