// The model the repository ships, against what the PyTorch code that trained it says of it.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/json.h"
#include "core/tokenizer/tokenizer.h"
#include "tests/support/run_model.h"

namespace reprise {
namespace {

const std::filesystem::path kFolder =
    std::filesystem::path(REPRISE_SOURCE_DIR) / "models/quickstart";

class Quickstart : public ::testing::Test {
 protected:
  Json golden_ = read_json(kFolder / "golden.json");
  Context context_ = Context::machine();
};

TEST_F(Quickstart, TokenizesAsItWasTrained) {
  const auto tokenizer = load_tokenizer(kFolder);
  for (const Json& example : golden_.at("tokenizer")) {
    const std::string text = example.at("text");
    EXPECT_EQ(tokenizer->encode(text, {.add_special = false}),
              example.at("ids").get<std::vector<int32_t>>())
        << text;
  }
}

TEST_F(Quickstart, LogitsAndContinuationMatchInF32) {
  auto decoder = model::load_decoder(kFolder, {.dtype = DType::kF32}, context_);
  const std::vector<int32_t> prompt = golden_.at("greedy").at("prompt_ids");
  const auto vocab = static_cast<size_t>(decoder->config().vocab);
  const std::vector<float> logits =
      testing::all_logits(*decoder, prompt, static_cast<int32_t>(prompt.size()));
  // The stored values are rounded to 5 decimals, and off f64 by up to 1.3e-5.
  constexpr double kBound = 1e-4;
  for (const Json& row : golden_.at("logits").at("rows")) {
    const float* at = logits.data() + row.at("row").get<size_t>() * vocab;
    const auto [lowest, highest] = std::minmax_element(at, at + vocab);
    EXPECT_EQ(highest - at, row.at("argmax").get<int64_t>());
    EXPECT_NEAR(*highest, row.at("max").get<double>(), kBound);
    EXPECT_NEAR(*lowest, row.at("min").get<double>(), kBound);
  }
  const std::vector<double> last = golden_.at("logits").at("last_row");
  ASSERT_EQ(last.size(), vocab);
  for (size_t i = 0; i < vocab; ++i)
    EXPECT_NEAR(logits[(prompt.size() - 1) * vocab + i], last[i], kBound) << i;

  const std::vector<int32_t> want = golden_.at("greedy").at("continuation_ids");
  for (const std::string& method : testing::exact_methods())
    EXPECT_EQ(testing::generate(*decoder, prompt, static_cast<int32_t>(want.size()), method, 512,
                                context_),
              want)
        << method;
}

}  // namespace
}  // namespace reprise
