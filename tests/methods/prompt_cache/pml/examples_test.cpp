// Compiles the schemas that the repository ships, each with the prompt beside it.
#include <filesystem>

#include "core/tokenizer/tokenizer.h"
#include "tests/methods/prompt_cache/pml/pml_testing.h"

namespace reprise::pml {
namespace {

namespace fs = std::filesystem;

TEST(PmlExamples, EachPromptFollowsFromItsSchemaByEachTemplate) {
  const fs::path root = REPRISE_SOURCE_DIR;
  const auto tokenizer = load_tokenizer((root / "models/quickstart").string());
  const TextEncoder encoder = encoder_of(*tokenizer);
  int prompts = 0;
  for (const auto& entry : fs::directory_iterator(root / "experiments/prompt_cache/pml")) {
    const std::string path = entry.path().string();
    const size_t suffix = path.rfind(".prompt.xml");
    if (suffix == std::string::npos) continue;
    const std::string schema_path = path.substr(0, suffix) + ".schema.xml";
    if (!fs::exists(schema_path)) continue;  // of a schema that is fetched
    const Schema schema = parse_schema(Source::read(schema_path));
    const Prompt prompt = parse_prompt(Source::read(path));
    for (const char* chat_template : {"llama-2", "plain"}) {
      const CompiledSchema compiled =
          compile_schema(schema, encoder, {.chat_template = chat_template});
      const CompiledPrompt derived = compile_prompt(prompt, compiled, encoder);
      EXPECT_GT(derived.cached_tokens, 3 * derived.new_tokens) << path;
      EXPECT_GE(derived.end, compiled.length) << path;
    }
    ++prompts;
  }
  EXPECT_EQ(prompts, 3);
}

}  // namespace
}  // namespace reprise::pml
