// Tests the encoder of real tokenizers, and the default chat template of a model.
#include "methods/prompt_cache/pml/encoder.h"

#include <fstream>

#include "core/base/temporary_folder.h"
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
  json["added_tokens"].back()["content"] = "<|im_start|>";
  const auto chatml = tokenizer::make_tokenizer(json);
  const std::string none = "llama-2-7b";  // a shape, which has no chat template
  EXPECT_EQ(template_of(Family::kLlama, llama_2, none), "llama-2");
  EXPECT_EQ(template_of(Family::kLlama, llama_3, none), "llama-3");
  EXPECT_EQ(template_of(Family::kLlama, chatml, none), "mpt");
  EXPECT_EQ(template_of(Family::kLlama, chatml, none, Rules::kAsCoded), "llama-2");
  EXPECT_EQ(template_of(Family::kFalcon, llama_2, none), "falcon");
  EXPECT_EQ(template_of(Family::kMpt, llama_2, none), "mpt");
  EXPECT_EQ(template_of(Family::kPhi, llama_2, none), "plain");
}

// A Llama by its architecture, such as TinyLlama's or Mistral's chat models, may have been tuned
// with another family's template.
TEST(PmlTemplate, TheModelsOwnOneCountsMore) {
  const auto llama_2 = tokenizer::make_tokenizer(tokenizer::llama_json());
  const auto folder = make_temporary_folder("chat");
  const auto name_for = [&](const std::string& jinja) {
    std::ofstream(*folder / "chat_template.jinja") << jinja;
    return template_of(Family::kLlama, llama_2, folder->string());
  };
  EXPECT_EQ(name_for("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + "
                     "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if "
                     "add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"),
            "mpt");
  EXPECT_EQ(name_for("{{ messages[0]['content'] }}"), kUnrecognized);
}

}  // namespace
}  // namespace reprise::pml
