// Checks the positions of isolated spans from Hugging Face written as PML: side by side, with gaps,
// and out of order.
#include "tests/methods/prompt_cache/pml/golden_cases.h"

#include "tests/support/data.h"
#include "tests/support/json.h"

namespace reprise::pml {
namespace {

namespace fs = std::filesystem;

void expect_reproduced(const GoldenCase& one) {
  const TextEncoder encoder = word_encoder();
  const CompiledSchema schema = compiled(schema_for(one), encoder);
  const CompiledPrompt prompt = compile_prompt(prompt_of(prompt_for(one)), schema, encoder);
  ASSERT_EQ(prompt.pieces.size(), one.spans.size());
  for (const int32_t id : prompt.pieces) {
    const Piece& piece = schema.pieces[static_cast<size_t>(id)];
    const auto i =
        static_cast<size_t>(schema.modules[static_cast<size_t>(piece.module)].name[0] - 'a');
    EXPECT_EQ(piece.tokens, one.spans[i]);
    EXPECT_EQ(piece.first, one.starts[i]);
  }
  ASSERT_EQ(prompt.new_runs.size(), 1u);
  EXPECT_EQ(prompt.new_runs[0].tokens, one.suffix);
  EXPECT_EQ(prompt.new_runs[0].first, one.starts.back());
}

TEST(PmlGolden, EachCaseOfEachModelIsExpressible) {
  REPRISE_NEEDS_DATA();
  int cases = 0;
  for (const auto& entry : fs::directory_iterator(testing::data_dir() / "golden")) {
    const fs::path file = entry.path() / "golden.json";
    if (!fs::exists(file)) continue;
    const Json golden = read_json(file);
    if (!golden.contains("modules")) continue;
    for (const auto& [name, layout] : golden.at("modules").items()) {
      SCOPED_TRACE(entry.path().filename().string() + " " + name);
      expect_reproduced(golden_case_of(golden, layout));
      ++cases;
    }
  }
  EXPECT_GE(cases, 30);
}

}  // namespace
}  // namespace reprise::pml
