// Extensions as others may write them: each uses only the interfaces, in a few lines, and needs no
// edit elsewhere.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/engine/engine.h"
#include "core/model/network/layer_policy.h"
#include "core/store/segment_store.h"
#include "core/store/token_states.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/core/store/segment_testing.h"
#include "tests/support/run_model.h"
#include "tests/support/tiny_models.h"

namespace reprise::testing {
namespace {

constexpr int32_t kFirst = 11, kSecond = 6, kNew = 5;

// ---- One: a module kept in a store's mapped file, read by every sequence of a batch. ----

class ModuleReader final : public reuse::PlanContributor {
 public:
  ModuleReader(kv::SegmentHandle module, int32_t first_position)
      : module_(std::move(module)), first_position_(first_position) {}

  void append(reuse::StepBatch /*batch*/, kv::AttentionPlan& plan) override {
    const auto tokens = static_cast<int32_t>(module_.shape().tokens);
    const int64_t block = 0;
    const int32_t segment = plan.add_segment({.cache = plan.add_cache(module_.view()),
                                              .block_tokens = tokens,
                                              .tokens = tokens,
                                              .first_position = first_position_},
                                             {&block, 1});
    plan.add_item({.segment = segment, .first_row = 0, .end_row = plan.rows()});
  }
  [[nodiscard]] bool goes_on(reuse::StepBatch) const override { return true; }

 private:
  kv::SegmentHandle module_;
  int32_t first_position_;
};

// ---- Two: another contributor to the same plan, whose states lie in memory of its own. ----

class MemoryModule final : public reuse::PlanContributor {
 public:
  explicit MemoryModule(kv::SegmentBuffer states) : states_(std::move(states)) {}
  void append(reuse::StepBatch /*batch*/, kv::AttentionPlan& plan) override {
    const auto tokens = static_cast<int32_t>(states_.shape.tokens);
    const int64_t block = 0;
    const int32_t segment = plan.add_segment(
        {.cache = plan.add_cache(states_.view()), .block_tokens = tokens, .tokens = tokens},
        {&block, 1});
    plan.add_item({.segment = segment, .first_row = 0, .end_row = plan.rows()});
  }

 private:
  kv::SegmentBuffer states_;
};

// ---- Three: one layer's attention is left out. ----

class SkipLayer final : public model::LayerPolicy {
 public:
  explicit SkipLayer(int64_t layer) : layer_(layer) {}
  model::LayerChoice choose(model::LayerInput& input) override {
    ++asked;
    return {.action = input.layer() == layer_ ? model::LayerAction::kSkipAttention
                                              : model::LayerAction::kCompute};
  }
  int asked = 0;

 private:
  int64_t layer_;
};

// ---- The models, states and runs that the tests need. ----

std::vector<int32_t> some_tokens(int32_t count, int32_t seed) {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < count; ++i) tokens.push_back((7 + 13 * seed + i * (5 + seed)) % 97);
  return tokens;
}

std::vector<int32_t> joined(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  std::vector<int32_t> both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

// Keys and values of tokens [first, first + count) of a text that is computed whole.
kv::SegmentBuffer states_of(model::Decoder& decoder, const std::vector<int32_t>& text,
                            int32_t first, int32_t count) {
  OneSequence sequence(decoder.config(), text);
  const model::StepInput step = sequence.step(0, static_cast<int32_t>(text.size()));
  decoder.forward(step, {});
  const kv::TokenRun run{.tokens = count,
                         .offset = step.plan.row_slots[static_cast<size_t>(first)]};
  return kv::copy_out(step.plan.caches[0], decoder.config().layers, {&run, 1}, {});
}

std::map<engine::RequestId, std::vector<int32_t>> generate(
    model::Decoder& decoder, const std::string& method, const engine::EngineOptions& options,
    const std::vector<engine::Request>& requests) {
  engine::Engine engine(Context::machine(), decoder, methods::make_cache(method, {}), options);
  for (const engine::Request& request : requests) engine.submit(request);
  std::map<engine::RequestId, std::vector<int32_t>> tokens;
  const auto events = engine.run();
  engine::require_served(events);
  for (const engine::TokenEvent& event : events)
    if (event.has_token()) tokens[event.request].push_back(event.token);
  return tokens;
}

engine::EngineOptions options_for(int32_t batch) {
  engine::EngineOptions options;
  options.limits = {.max_batch = batch, .max_sequence_tokens = 64};
  options.step_tokens = 7;
  return options;
}

class Extension : public ::testing::TestWithParam<const char*> {};

// Two modules of one text, one in memory and one in a file, contribute to the plans of every exact
// method. The tokens must equal those of the whole text computed at once.
TEST_P(Extension, ModulesInTwoCachesGiveTheTokensOfTheWholeText) {
  const auto decoder = random_decoder(scaled_down(GetParam()), Context::machine());
  const std::vector<int32_t> modules = some_tokens(kFirst + kSecond, 1);
  const model::TempDir folder;
  kv::SegmentStore store({.directory = folder.path()});
  store.put("second", states_of(*decoder, modules, kFirst, kSecond));
  std::vector<engine::Request> imported, whole;
  for (int32_t id = 0; id < 3; ++id) {
    const std::vector<int32_t> text = joined(some_tokens(9, 2), some_tokens(3 + id, 3 + id));
    std::vector<int32_t> positions;
    for (int32_t i = 0; i < static_cast<int32_t>(text.size()); ++i)
      positions.push_back(kFirst + kSecond + i);
    imported.push_back({.id = id, .prompt = text, .positions = positions, .max_new_tokens = kNew});
    whole.push_back({.id = id, .prompt = joined(modules, text), .max_new_tokens = kNew});
  }
  const auto expected = generate(*decoder, "contiguous", options_for(1), whole);
  for (const std::string& method : exact_methods()) {
    engine::EngineOptions options = options_for(3);
    options.contributors = {std::make_shared<MemoryModule>(states_of(*decoder, modules, 0, kFirst)),
                            std::make_shared<ModuleReader>(*store.acquire("second"), kFirst)};
    EXPECT_EQ(generate(*decoder, method, options, imported), expected) << method;
  }
  EXPECT_EQ(store.acquire("second")->tier(), kv::Tier::kDisk);
}

INSTANTIATE_TEST_SUITE_P(Families, Extension,
                         ::testing::Values("llama-2-7b", "tinyllama-1.1b", "falcon-7b", "mpt-7b"),
                         [](const auto& shape) {
                           std::string name = shape.param;
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

// A policy of the engine's reaches every layer of every step, whatever the method.
TEST(LayerPolicies, AnEngineSkipsALayersAttention) {
  const auto decoder = random_decoder(scaled_down("tinyllama-1.1b"), Context::machine());
  const std::vector<engine::Request> requests = {
      {.id = 0, .prompt = some_tokens(12, 1), .max_new_tokens = kNew}};
  const auto all = generate(*decoder, "contiguous", options_for(1), requests);
  std::map<engine::RequestId, std::vector<int32_t>> skipped;
  for (const char* method : {"recompute", "contiguous", "paged", "chunk_attention"}) {
    engine::EngineOptions options = options_for(1);
    const auto policy = std::make_shared<SkipLayer>(1);
    options.policy = policy;
    const auto tokens = generate(*decoder, method, options, requests);
    if (skipped.empty()) skipped = tokens;
    EXPECT_EQ(tokens, skipped) << method;
    EXPECT_GE(policy->asked, 2 * kNew) << "of two layers";
  }
  EXPECT_NE(skipped, all) << "the layer's attention counts";
}

}  // namespace
}  // namespace reprise::testing
