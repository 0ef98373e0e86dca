// Compares the shipped model with what the PyTorch code that trained it computes.
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "tests/support/golden_model.h"
#include "tests/support/json.h"

namespace reprise {
namespace {

const std::filesystem::path kQuickstart =
    std::filesystem::path(REPRISE_SOURCE_DIR) / "models/quickstart";

class Quickstart : public ::testing::Test {
 protected:
  Json golden_ = read_json(kQuickstart / "golden.json");
  Context context_ = Context::machine();
};

TEST_F(Quickstart, TokenizesAsItWasTrained) {
  testing::expect_golden_tokens(*load_tokenizer(kQuickstart), golden_);
}

TEST_F(Quickstart, LogitsAndContinuationMatchInF32) {
  auto decoder = model::load_decoder(kQuickstart, {.dtype = DType::kF32}, context_);
  testing::expect_golden_logits(*decoder, golden_, context_);
}

}  // namespace
}  // namespace reprise
