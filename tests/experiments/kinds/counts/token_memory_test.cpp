// Computes table 2 of Prompt Cache from the shipped shapes.
#include "experiments/kinds/counts/token_memory.h"

#include <gtest/gtest.h>

#include <cmath>

#include "results/paper_numbers.h"
#include "tests/experiments/kinds/shared/kind_on_tiny_model.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

class TokenMemory : public KindOnTinyModel {};

TEST_F(TokenMemory, EveryHeadCountedIsThePapersTableAndGroupedHeadsAreWhatIsHeld) {
  const results::PaperNumbers paper = results::load_paper_numbers("prompt_cache_table2");
  for (const auto& [model, groups] : {std::pair{"models/shapes/encoders/bert-base", 1},
                                      {"falcon-rw-1b", 1},
                                      {"llama-2-7b", 1},
                                      {"llama-2-13b", 1},
                                      {"mpt-30b", 1},
                                      {"falcon-40b", 16},
                                      {"llama-2-70b", 8},
                                      {"falcon-180b", 29}}) {
    const Group group = group_of({{"kind", "token_memory"},
                                  {"models", {{{"model", model}, {"weights", "random"}}}},
                                  {"dtypes", {"bf16"}},
                                  {"series", {"all_heads", "kv_heads"}}});
    TokenMemoryKind kind(context_);
    kind.check(group);
    const auto measured = measured_json(kind.measure(group, Machine(), stop_));
    const double all = measured[0].metrics["mib_per_token"]["value"];
    const double printed =
        paper.at({{"model", model}, {"method", "all_heads"}}).at("mib_per_token").value;
    EXPECT_NEAR(all, printed, 0.008) << model << ": printed with two digits, some cut off";
    EXPECT_DOUBLE_EQ(measured[1].metrics["mib_per_token"]["value"].get<double>() * groups, all)
        << model;
    EXPECT_DOUBLE_EQ(measured[0].metrics["module_mib"]["value"], 1000 * all);
  }
}

}  // namespace
}  // namespace reprise::experiments
