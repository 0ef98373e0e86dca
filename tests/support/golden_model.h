// Checks a model against its golden.json of models/: tokens of texts, logits, a greedy
// continuation.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/tokenizer/tokenizer.h"
#include "tests/support/json.h"
#include "tests/support/run_model.h"

namespace reprise::testing {

inline void expect_golden_tokens(const Tokenizer& tokenizer, const Json& golden) {
  for (const auto& example : golden.at("tokenizer")) {
    const std::string text = example.at("text");
    EXPECT_EQ(tokenizer.encode(text, {.add_special = false}),
              example.at("ids").get<std::vector<int32_t>>())
        << text;
  }
}

// Expects the golden logits of an f32 decoder, and the golden continuation with every exact method.
inline void expect_golden_logits(model::Decoder& decoder, const Json& golden,
                                 const Context& context) {
  const std::vector<int32_t> prompt = golden.at("greedy").at("prompt_ids");
  const auto vocab = static_cast<size_t>(decoder.config().vocab);
  const std::vector<float> logits =
      all_logits(decoder, prompt, static_cast<int32_t>(prompt.size()));
  ASSERT_EQ(logits.size(), prompt.size() * vocab);
  // The stored values are rounded to 5 decimals, and differ from f64 by a few 1e-5.
  constexpr double kBound = 1e-4;
  for (const auto& row : golden.at("logits").at("rows")) {
    const float* at = logits.data() + row.at("row").get<size_t>() * vocab;
    const auto [lowest, highest] = std::minmax_element(at, at + vocab);
    EXPECT_EQ(highest - at, row.at("argmax").get<int64_t>());
    EXPECT_NEAR(*highest, row.at("max").get<double>(), kBound);
    EXPECT_NEAR(*lowest, row.at("min").get<double>(), kBound);
  }
  const std::vector<double> last = golden.at("logits").at("last_row");
  ASSERT_EQ(last.size(), vocab);
  for (size_t i = 0; i < vocab; ++i)
    EXPECT_NEAR(logits[(prompt.size() - 1) * vocab + i], last[i], kBound) << i;

  const std::vector<int32_t> want = golden.at("greedy").at("continuation_ids");
  for (const std::string& method : exact_methods())
    EXPECT_EQ(generate(decoder, prompt, static_cast<int32_t>(want.size()), method, 512, context),
              want)
        << method;
}

}  // namespace reprise::testing
