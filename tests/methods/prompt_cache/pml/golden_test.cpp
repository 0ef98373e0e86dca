// The positions of Hugging Face's isolated spans, written as PML: side by side, with gaps, and out
// of order.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/base/json.h"
#include "tests/methods/prompt_cache/pml/pml_testing.h"
#include "tests/support/data.h"

namespace reprise::pml {
namespace {

namespace fs = std::filesystem;

std::string words(const std::vector<int32_t>& ids) {
  return fmt::format("{}", fmt::join(ids, " "));
}

struct Case {
  std::vector<std::vector<int32_t>> spans;  // ids of each module
  std::vector<int32_t> suffix;
  std::vector<int64_t> starts;  // of the spans, and of the suffix
};

Case case_of(const Json& golden, const Json& layout) {
  const auto ids = golden.at("ids").get<std::vector<int32_t>>();
  const auto cut = [&](const Json& span) {
    return std::vector<int32_t>(ids.begin() + span.at(0).get<int>(),
                                ids.begin() + span.at(1).get<int>());
  };
  Case out{.suffix = cut(layout.at("suffix")), .starts = layout.at("start_positions")};
  for (const Json& span : layout.at("spans")) out.spans.push_back(cut(span));
  return out;
}

// Modules a, b, c by position, gaps between them and before the suffix.
std::string schema_for(const Case& one) {
  std::vector<size_t> order(one.spans.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t i, size_t j) { return one.starts[i] < one.starts[j]; });
  std::string text = "<schema name=\"golden\">";
  int64_t position = 0;
  const auto move_to = [&](int64_t start) {
    if (start > position) text += fmt::format("<gap len=\"{}\"/>", start - position);
    position = start;
  };
  for (const size_t i : order) {
    move_to(one.starts[i]);
    text += fmt::format("<module name=\"{}\">{}</module>", static_cast<char>('a' + i),
                        words(one.spans[i]));
    position += static_cast<int64_t>(one.spans[i].size());
  }
  move_to(one.starts.back());
  return text + "</schema>";
}

void expect_reproduced(const Case& one) {
  const TextEncoder encoder = word_encoder();
  const CompiledSchema schema = compiled(schema_for(one), encoder);
  const CompiledPrompt prompt = compile_prompt(
      prompt_of("<prompt schema=\"golden\"><a/><b/><c/>" + words(one.suffix) + "</prompt>"), schema,
      encoder);
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
      expect_reproduced(case_of(golden, layout));
      ++cases;
    }
  }
  EXPECT_GE(cases, 30);
}

}  // namespace
}  // namespace reprise::pml
