// Prompts in the wording of RelayAttention's authors have the token counts that they published
// (rayleizhu/vllm-ra, stat/dataset/mmlu_*_stat.json), for every subject and question of MMLU.
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/tokenizer/tokenizer.h"
#include "tests/support/data.h"
#include "tests/support/json.h"
#include "workloads/questions/mmlu.h"

namespace reprise::workloads::questions {
namespace {

// The order of the subjects in the authors' lists.
constexpr const char* kSubjects[] = {"college_biology",
                                     "college_chemistry",
                                     "college_computer_science",
                                     "college_mathematics",
                                     "college_physics",
                                     "electrical_engineering",
                                     "astronomy",
                                     "anatomy",
                                     "abstract_algebra",
                                     "machine_learning",
                                     "clinical_knowledge",
                                     "global_facts",
                                     "management",
                                     "nutrition",
                                     "marketing",
                                     "professional_accounting",
                                     "high_school_geography",
                                     "international_law",
                                     "moral_scenarios",
                                     "computer_security",
                                     "high_school_microeconomics",
                                     "professional_law",
                                     "medical_genetics",
                                     "professional_psychology",
                                     "jurisprudence",
                                     "world_religions",
                                     "philosophy",
                                     "virology",
                                     "high_school_chemistry",
                                     "public_relations",
                                     "high_school_macroeconomics",
                                     "human_sexuality",
                                     "elementary_mathematics",
                                     "high_school_physics",
                                     "high_school_computer_science",
                                     "high_school_european_history",
                                     "business_ethics",
                                     "moral_disputes",
                                     "high_school_statistics",
                                     "miscellaneous",
                                     "formal_logic",
                                     "high_school_government_and_politics",
                                     "prehistory",
                                     "security_studies",
                                     "high_school_biology",
                                     "logical_fallacies",
                                     "high_school_world_history",
                                     "professional_medicine",
                                     "high_school_mathematics",
                                     "college_medicine",
                                     "high_school_us_history",
                                     "sociology",
                                     "econometrics",
                                     "high_school_psychology",
                                     "human_aging",
                                     "us_foreign_policy",
                                     "conceptual_physics"};

Json list_of(const char* name) {
  return Json::parse(read_file(testing::data_dir() / "traces" / name));
}

TEST(MmluLengths, AreThoseThatRelayAttentionsAuthorsCounted) {
  REPRISE_NEEDS_DATA();
  const auto tokenizer = load_tokenizer(testing::data_dir() / "tokenizers" / "llama2");
  const auto count = [&](const std::string& text) { return tokenizer->encode(text).size(); };
  const Json prefixes = list_of("mmlu_5shot_prefix_lengths.json");
  const Json prompts = list_of("mmlu_prompt_lengths.json");
  size_t prompt = 0;
  for (size_t s = 0; s < std::size(kSubjects); ++s) {
    const auto file = testing::data_dir() / "datasets" / "mmlu" / "test" /
                      (std::string(kSubjects[s]) + "_test.csv");
    const std::vector<Item> items = load_mmlu(file, {.question_template = "relay_attention"});
    std::string prefix;
    for (const std::string& example : items[0].documents) prefix += example;
    EXPECT_EQ(count(prefix), prefixes.at(s)) << kSubjects[s];
    for (const Item& item : items) EXPECT_EQ(count(item.question), prompts.at(prompt++)) << item.id;
  }
  EXPECT_EQ(prefixes.size(), std::size(kSubjects));
  EXPECT_EQ(prompts.size(), prompt);
}

}  // namespace
}  // namespace reprise::workloads::questions
