// Compares the recall models with what the PyTorch code that trained them computes, and tests them
// on the items that they are judged by.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "core/base/json.h"
#include "core/tokenizer/tokenizer.h"
#include "tests/support/golden_model.h"
#include "tests/support/json.h"

namespace reprise {
namespace {

const std::filesystem::path kRecall = std::filesystem::path(REPRISE_SOURCE_DIR) / "models/recall";

// The items of models/recall/items.jsonl.
std::vector<Json> read_items() {
  std::ifstream file(kRecall / "items.jsonl");
  std::vector<Json> items;
  for (std::string line; std::getline(file, line);) items.push_back(parse_json(line, "items"));
  return items;
}

// The texts of an item in the order in which a prompt holds them.
std::vector<std::string> parts_of(const Json& item) {
  std::vector<std::string> parts = {item.at("preamble")};
  for (const Json& document : item.at("documents")) parts.push_back(document);
  parts.push_back(item.at("question"));
  return parts;
}

std::string prompt_of(const Json& item) {
  std::string prompt;
  for (const std::string& part : parts_of(item)) prompt += part;
  return prompt;
}

class Recall : public ::testing::TestWithParam<const char*> {
 protected:
  std::filesystem::path folder_ = kRecall / GetParam();
  Json golden_ = read_json(folder_ / "golden.json");
  std::unique_ptr<Tokenizer> tokenizer_ = load_tokenizer(folder_);
};

TEST_P(Recall, TokenizesAsItWasTrained) { testing::expect_golden_tokens(*tokenizer_, golden_); }

TEST_P(Recall, LogitsAndContinuationMatchInF32) {
  const Context context = Context::machine();
  auto decoder = model::load_decoder(folder_, {.dtype = DType::kF32}, context);
  testing::expect_golden_logits(*decoder, golden_, context);
}

TEST_P(Recall, ItemsHaveTheSameTokensInPartsAndInOnePiece) {
  for (const Json& item : read_items()) {
    std::vector<int32_t> in_parts;
    for (const std::string& part : parts_of(item)) {
      const auto ids = tokenizer_->encode(part, {.add_special = false});
      in_parts.insert(in_parts.end(), ids.begin(), ids.end());
    }
    EXPECT_EQ(tokenizer_->encode(prompt_of(item), {.add_special = false}), in_parts)
        << item.at("id");
  }
}

// The set promises 90 % right answers over all items of a task; this tests the first items of each
// task.
TEST_P(Recall, AnswersItems) {
  constexpr int kItems = 20, kLeast = 16;
  const Context context = Context::machine();
  auto decoder = model::load_decoder(folder_, {.dtype = DType::kF32}, context);
  std::map<std::string, int> asked, right;
  for (const Json& item : read_items()) {
    const std::string task = item.at("task");
    if (asked[task]++ >= kItems) continue;
    const auto prompt = tokenizer_->encode(prompt_of(item));
    const auto answer = tokenizer_->encode(
        fmt::format(" {}\n", item.at("answers").at(0).get<std::string>()), {.add_special = false});
    right[task] += testing::generate(*decoder, prompt, static_cast<int32_t>(answer.size()),
                                     "contiguous", 512, context) == answer
                       ? 1
                       : 0;
  }
  EXPECT_EQ(right.size(), 4u);
  for (const auto& [task, count] : right) EXPECT_GE(count, kLeast) << task;
}

INSTANTIATE_TEST_SUITE_P(Models, Recall, ::testing::Values("llama", "mpt", "falcon"),
                         [](const auto& model) { return std::string(model.param); });

}  // namespace
}  // namespace reprise
