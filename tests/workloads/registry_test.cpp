// Tests the lists of workloads and of arrival processes.
#include "workloads/registry.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "core/base/error.h"
#include "core/tokenizer/tokenizer.h"

namespace reprise::workloads {
namespace {

const std::filesystem::path kModel =
    std::filesystem::path(REPRISE_SOURCE_DIR) / "models/quickstart";

WorkloadSource quickstart(uint64_t seed = 1) {
  return {.file = kModel / "sample.txt",
          .vocab = 500,
          .seed = seed,
          .tokenizer = []() -> std::shared_ptr<const Tokenizer> { return load_tokenizer(kModel); }};
}

TEST(WorkloadRegistry, MakesEveryWorkloadByItsName) {
  std::set<std::string> names;
  for (const WorkloadInfo& info : known_workloads()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name << " twice";
    EXPECT_FALSE(info.summary.empty());
    const auto workload = make_workload(info.name, quickstart());
    const std::vector<int32_t> prompt = workload->prompt(3, 40);
    EXPECT_EQ(prompt.size(), 40u) << info.name;
    // The interface promises that prompts are repeatable and depend on the item, that a longer
    // prompt begins with the shorter one, and that another seed gives other prompts.
    EXPECT_EQ(prompt, make_workload(info.name, quickstart())->prompt(3, 40)) << info.name;
    const std::vector<int32_t> longer = workload->prompt(3, 90);
    EXPECT_TRUE(std::equal(prompt.begin(), prompt.end(), longer.begin())) << info.name;
    EXPECT_TRUE(workload->prompt(-1, 0).empty());
    const auto all_items = [&](uint64_t seed) {
      std::vector<std::vector<int32_t>> items;
      const auto other = make_workload(info.name, quickstart(seed));
      for (int64_t item = 0; item < 16; ++item) items.push_back(other->prompt(item, 40));
      return items;
    };
    EXPECT_NE(all_items(1), all_items(2)) << info.name;
  }
}

TEST(WorkloadRegistry, UnknownNameOffersTheNearest) {
  try {
    (void)make_workload("text_prompt", quickstart());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean \"text_prompts\""), std::string::npos);
  }
}

// A model with random weights has no tokenizer, and random tokens need none.
TEST(WorkloadRegistry, TokenizerIsLoadedOnlyWhereItIsNeeded) {
  int loads = 0;
  WorkloadSource source = quickstart();
  source.tokenizer = [&]() -> std::shared_ptr<const Tokenizer> {
    ++loads;
    raise("there is no tokenizer in models/a");
  };
  EXPECT_EQ(make_workload("random_tokens", source)->prompt(0, 5).size(), 5u);
  EXPECT_EQ(loads, 0);
  EXPECT_THROW((void)make_workload("text_prompts", source), Error);
  EXPECT_EQ(loads, 1);
}

}  // namespace
}  // namespace reprise::workloads
