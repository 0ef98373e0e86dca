// Tests the encoder of real tokenizers, and the default chat template of a model.
#include "methods/prompt_cache/pml/encoder.h"

#include "methods/prompt_cache/pml/turn_template.h"
#include "tests/core/tokenizer/tokenizer_testing.h"
#include "tests/support/json.h"

namespace reprise::pml {
namespace {

using model::Family;
using Ids = std::vector<int32_t>;

TEST(PmlEncoder, TextsGetNothingAddedAndTheOpeningIsKnown) {
  const auto tokenizer = tokenizer::make_tokenizer(tokenizer::llama_json());
  const TextEncoder encoder = encoder_of(tokenizer);
  EXPECT_EQ(encoder.encode("ab"), tokenizer.encode("ab", {.add_special = false}));
  EXPECT_EQ(encoder.opening, (Ids{1}));
  EXPECT_EQ(encoder.placeholder, 0) << "<unk>";
}

TEST(PmlEncoder, WithoutAnUnknownTokenASpaceIsThePlaceholder) {
  const auto tokenizer = tokenizer::make_tokenizer(tokenizer::byte_level_json());
  const TextEncoder encoder = encoder_of(tokenizer);
  EXPECT_EQ(encoder.placeholder, ' ');
  EXPECT_EQ(encoder.opening, Ids());
}

TEST(PmlTemplate, TheArchitectureChoosesOne) {
  Json json = tokenizer::llama_json();
  const auto llama_2 = tokenizer::make_tokenizer(json);
  json["added_tokens"].push_back(
      {{"id", 268}, {"content", "<|start_header_id|>"}, {"special", true}, {"normalized", false}});
  const auto llama_3 = tokenizer::make_tokenizer(json);
  EXPECT_EQ(template_of(Family::kLlama, llama_2), "llama-2");
  EXPECT_EQ(template_of(Family::kLlama, llama_3), "llama-3");
  EXPECT_EQ(template_of(Family::kFalcon, llama_2), "falcon");
  EXPECT_EQ(template_of(Family::kMpt, llama_2), "mpt");
  EXPECT_EQ(template_of(Family::kPhi, llama_2), "plain");
}

}  // namespace
}  // namespace reprise::pml
