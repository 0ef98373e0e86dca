// Every exact method must generate what the contiguous cache does, token for token, whoever shares
// what with whom.
#include <gtest/gtest.h>

#include <random>

#include "tests/methods/exact_method_cases.h"
#include "tests/support/tiny_models.h"

namespace reprise::methods {
namespace {

using testing::Arrival;
using testing::BatchRun;
using testing::MethodUnderTest;

using Tokens = std::vector<int32_t>;

Tokens random_tokens(std::mt19937_64& random, int32_t count, int32_t vocab) {
  Tokens tokens;
  for (int32_t i = 0; i < count; ++i)
    tokens.push_back(std::uniform_int_distribution<int32_t>(2, vocab - 1)(random));
  return tokens;
}

// Prompts that begin with a common head, some of them with a longer one. One prompt is the head
// alone, one is equal to an earlier prompt, and one shares nothing. The requests join and leave at
// different steps.
struct Scene {
  Tokens system, longer;  // `longer` begins with `system`
  std::vector<Arrival> arrivals;
};

Scene make_scene(uint64_t seed, int32_t vocab, int32_t system_tokens) {
  std::mt19937_64 random(seed);
  Scene scene;
  scene.system = random_tokens(random, system_tokens, vocab);
  scene.longer = scene.system;
  for (int32_t token : random_tokens(random, 21, vocab)) scene.longer.push_back(token);
  const auto add = [&](int32_t step, Tokens prompt, int32_t tail, int32_t new_tokens) {
    for (int32_t token : random_tokens(random, tail, vocab)) prompt.push_back(token);
    const auto id = static_cast<reuse::RequestId>(scene.arrivals.size()) + 1;
    scene.arrivals.push_back(
        {step, {.id = id, .prompt = std::move(prompt), .max_new_tokens = new_tokens}});
  };
  add(0, scene.longer, 5, 20);
  add(0, scene.system, 9, 4);
  add(0, {}, 19, 9);
  add(2, scene.longer, 1, 18);
  add(3, scene.system, 0, 7);
  add(6, scene.longer, 0, 12);
  add(6, scene.arrivals[0].request.prompt, 0, 3);
  add(30, scene.longer, 40, 6);
  return scene;
}

// Generates the requests of a scene one after another with the contiguous cache.
std::map<reuse::RequestId, Tokens> alone(model::Decoder& decoder, const Scene& scene,
                                         const Context& context, DType kv_dtype = DType::kF32) {
  return testing::run_requests(decoder, {"contiguous"}, scene.arrivals, 1, 512, context, kv_dtype)
      .tokens;
}

void expect_same_tokens(model::Decoder& decoder, const Scene& scene, const Context& context) {
  const std::map<reuse::RequestId, Tokens> want = alone(decoder, scene, context);
  for (const MethodUnderTest& method : testing::exact_method_cases())
    for (int32_t prefill_chunk : {512, 13}) {
      std::vector<Tokens> prefixes = {scene.system};
      if (testing::takes_several_prefixes(method)) prefixes.push_back(scene.longer);
      const BatchRun run = testing::run_requests(decoder, method, scene.arrivals, 5, prefill_chunk,
                                                 context, DType::kF32, prefixes);
      EXPECT_EQ(run.tokens, want) << method.label() << " prefill chunk " << prefill_chunk;
    }
}

class ExactOnTinyModels : public ::testing::TestWithParam<std::string> {};

TEST_P(ExactOnTinyModels, SameTokensAsContiguousWhoeverJoinsAndLeaves) {
  const Context context = Context::machine();
  auto decoder = testing::random_decoder(testing::scaled_down(GetParam()), context);
  for (const auto& [seed, system_tokens] : {std::pair{1, 40}, {2, 32}})
    expect_same_tokens(*decoder, make_scene(static_cast<uint64_t>(seed), 97, system_tokens),
                       context);
}

// The families are Llama with and without grouped heads, Falcon with multi-query attention, MPT
// with ALiBi, and models with a sliding window and with experts.
INSTANTIATE_TEST_SUITE_P(Families, ExactOnTinyModels,
                         ::testing::Values("llama-2-7b", "llama-3-8b", "falcon-7b", "mpt-7b",
                                           "mistral-7b", "qwen1.5-moe-a2.7b"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace reprise::methods
