// A method in a folder of its own is known to the registry, to experiments and to figures, and
// generates what the contiguous cache does.
#include <gtest/gtest.h>

#include "experiments/kinds/registry.h"
#include "tests/support/json.h"
#include "tests/support/run_model.h"
#include "tests/support/tiny_models.h"

namespace reprise::methods {

MethodEntry chunk_attention_method();
MethodEntry contiguous_method();
MethodEntry sample_method_method();

// Replaces the generated list.
std::vector<MethodEntry> listed_methods() {
  return {chunk_attention_method(), contiguous_method(), sample_method_method()};
}

}  // namespace reprise::methods

namespace reprise::testing {
namespace {

constexpr const char* kSample = "sample_method";

TEST(SampleMethod, IsListedWithItsOptions) {
  EXPECT_EQ(cache_methods(), (std::vector<std::string>{"contiguous", kSample, "chunk_attention"}));
  EXPECT_EQ(methods::make_method(kSample, {{"chunk_tokens", 8}})->info().name, kSample);
  EXPECT_THROW((void)methods::make_method(kSample, {{"chunk_tokens", 7}}), Error);
}

TEST(SampleMethod, GeneratesTheTokensOfTheContiguousCache) {
  const auto decoder = random_decoder(scaled_down("tinyllama-1.1b"), Context::machine());
  const std::vector<int32_t> prompt = counted(70);
  EXPECT_EQ(generate(*decoder, prompt, 12, kSample, 32, Context::machine()),
            generate(*decoder, prompt, 12, "contiguous", 32, Context::machine()));
}

TEST(SampleMethod, RunsInExperimentsAndHasALookInFigures) {
  const Json file = {{"name", "t"},
                     {"title", "t"},
                     {"kind", "ttft"},
                     {"models", {"models/quickstart"}},
                     {"methods", {"contiguous", kSample}}};
  const auto experiment =
      experiments::parse_experiment(file, "t.json", "desk", {}, experiments::known_vocabulary());
  EXPECT_EQ(experiment.methods.back().resolved.at("chunk_tokens").integer(), 16);
  EXPECT_EQ(reprise::json_of(experiments::method_looks().at(kSample)), Json({"#1B9E77", "*"}));
  for (const experiments::MethodCell& cell : experiments::method_matrix()) {
    if (cell.method != kSample) continue;
    const std::set<std::string> refusing = {"prefill", "sentences", "embed", "pml"};
    EXPECT_EQ(cell.refusal.empty(), !refusing.contains(cell.place)) << cell.place;
  }
}

}  // namespace
}  // namespace reprise::testing
