// Checks that the lists of lengths that RelayAttention's authors published give the row of MMLU in
// the paper's table 1.
#include "experiments/kinds/counts/request_lengths.h"

#include <gtest/gtest.h>

#include "results/paper_numbers.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/experiments/kinds/shared/kind_on_tiny_model.h"
#include "tests/experiments/kinds/shared/measured_value.h"
#include "tests/support/data.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

class RequestLengths : public KindOnTinyModel {};

TEST_F(RequestLengths, OfMmluAreThoseOfThePapersTable) {
  REPRISE_NEEDS_DATA();
  const std::vector<std::string> series = {"prefixes", "own", "outputs"};
  const std::string lists = (testing::data_dir() / "traces").string();
  const Group group = group_of({{"kind", "request_lengths"},
                                {"models", {{{"model", "llama-2-7b"}, {"weights", "random"}}}},
                                {"series", series},
                                {"workload", {{"name", "mmlu_lengths"}, {"file", lists}}},
                                {"settings", {{"question_template", "vllm_ra"}}}});
  RequestLengthsKind kind(context_);
  const auto measured = kind.measure(group, Machine(), stop_);
  const results::PaperNumbers paper = results::load_paper_numbers("relay_attention_table1_mmlu");
  for (size_t s = 0; s < series.size(); ++s) {
    const results::Metrics printed = paper.at({{"model", "llama-2-7b"},
                                               {"workload", Fields{{"name", "mmlu_lengths"}}},
                                               {"method", series[s]}});
    // The paper's lengths of questions contain a second begin token.
    const double begin_token = series[s] == "own" ? 1 : 0;
    EXPECT_EQ(value_of(measured[s], "least_tokens"),
              printed.at("least_tokens").value - begin_token);
    EXPECT_EQ(value_of(measured[s], "most_tokens"), printed.at("most_tokens").value - begin_token);
  }
  EXPECT_EQ(value_of(measured[0], "count"), 57);
  EXPECT_EQ(value_of(measured[1], "count"), 14042);
}

TEST_F(RequestLengths, AMissingModelHidesNoMissingFile) {
  const Group group = group_of({{"kind", "request_lengths"},
                                {"models", {"no/such/model"}},
                                {"series", {"prompts"}},
                                {"workload", {{"name", "sharegpt"}, {"file", "no/such.csv"}}}});
  model::expect_error([&] { RequestLengthsKind(context_).check(group); },
                      {"no/such/model", "no/such.csv"});
}

TEST_F(RequestLengths, OfAWorkloadWithoutDeclaredPrefixesCountNone) {
  const Group group =
      group_of({{"kind", "request_lengths"},
                {"series", {"prefixes", "prompts"}},
                {"workload", "grid"},
                {"settings", {{"user_tokens", 8}, {"output_tokens", 2}, {"requests", 3}}}});
  const auto measured = RequestLengthsKind(context_).measure(group, Machine(), stop_);
  EXPECT_EQ(value_of(measured[0], "count"), 0);
  EXPECT_EQ(value_of(measured[1], "count"), 3);
}

}  // namespace
}  // namespace reprise::experiments
