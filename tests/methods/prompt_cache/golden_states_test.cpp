// Compares modules written as PML with the logits that Hugging Face computed for spans that do not
// see each other. The states are read in place, copied, and read from a store on disk.
#include <gtest/gtest.h>

#include "tests/core/model/checkpoint/model_files.h"
#include "tests/methods/prompt_cache/pml/golden_cases.h"
#include "tests/methods/prompt_cache/prompt_cache_testing.h"
#include "tests/support/data.h"
#include "tests/support/json.h"

namespace reprise::prompt_cache {
namespace {

namespace fs = std::filesystem;

constexpr double kBound = 1e-4;

TEST(PromptCacheGolden, IsolatedModulesGiveTheLogitsOfHuggingFace) {
  REPRISE_NEEDS_DATA();
  int cases = 0;
  double worst = 0;
  for (const auto& entry : fs::directory_iterator(testing::data_dir() / "golden")) {
    const fs::path file = entry.path() / "golden.json";
    if (!fs::exists(file)) continue;
    const Json golden = read_json(file);
    if (golden.value("modules", Json::object()).empty()) continue;
    const auto decoder = model::load_decoder(entry.path(), {}, Context::machine());
    for (const auto& [name, layout] : golden.at("modules").items()) {
      SCOPED_TRACE(entry.path().filename().string() + " " + name);
      const pml::GoldenCase one = pml::golden_case_of(golden, layout);
      const auto want = testing::read_f32(entry.path() / std::string(layout.at("file")));
      const auto check = [&](Prepared& prepared, bool copies, const std::string& method) {
        const PreparedPrompt prompt = prepared.prepare(pml::prompt_for(one), {.copies = copies});
        EXPECT_EQ(prompt.copied_bytes > 0, copies);
        const Outcome got = run_prompts(
            *decoder, {prompt}, {.method = method, .step_tokens = 7, .max_new_tokens = 0})[0];
        const double difference = max_difference(got.logits, want);
        EXPECT_LE(difference, kBound) << method;
        worst = std::max(worst, difference);
        return got;
      };
      Prepared in_memory(*decoder, pml::schema_for(one), Mode::kIsolated);
      const Outcome in_place = check(in_memory, false, "contiguous");
      EXPECT_EQ(check(in_memory, true, "contiguous"), in_place) << "copied: the same bits";
      for (const std::string& method : testing::exact_methods()) check(in_memory, false, method);
      const model::TempDir folder;
      Prepared on_disk(*decoder, pml::schema_for(one), Mode::kIsolated, {},
                       {.directory = folder.path()});
      on_disk.states.encode();
      EXPECT_EQ(check(on_disk, false, "contiguous"), in_place) << "from a file: the same bits";
      ++cases;
    }
  }
  EXPECT_GE(cases, 30);
  RecordProperty("worst_difference", fmt::format("{:.3g}", worst));
}

}  // namespace
}  // namespace reprise::prompt_cache
