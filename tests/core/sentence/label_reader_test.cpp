// Compares classifiers of BERT, RoBERTa and DeBERTa with logits of transformers
// (task_heads/make.py).
#include "core/sentence/label_reader.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/json.h"
#include "core/model/checkpoint/safetensors.h"
#include "core/model/checkpoint/safetensors_writer.h"
#include "core/tokenizer/tokenizer.h"
#include "tests/core/sentence/sentence_testing.h"

namespace reprise::sentence {
namespace {

namespace fs = std::filesystem;

using model::expect_error;
using model::TempDir;

// A copy of a stored classifier, with a tokenizer.
class TaskHeads : public ::testing::TestWithParam<std::string> {
 protected:
  void copy(const std::string& name) {
    fs::copy(fs::path(REPRISE_SOURCE_DIR) / "tests/core/sentence/task_heads" / name, dir_.path(),
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    dir_.write("tokenizer.json", bert_tokenizer_json());
  }
  // Sets keys of the copy's config.json.
  void configure(const Json& keys) {
    Json config = json_of(read_json(dir_.path() / "config.json"));
    config.update(keys);
    dir_.write("config.json", config.dump());
  }
  [[nodiscard]] std::optional<model::TaskHead> head() const {
    return model::read_task_head(dir_.path(), model::load_config(dir_.path()));
  }
  TempDir dir_;
};

TEST_P(TaskHeads, GiveTheLogitsOfTransformers) {
  copy(GetParam());
  const auto tokenizer = load_tokenizer(dir_.path());
  const auto model = model::load_decoder(dir_.path().string(), {}, Context::machine());
  LabelReader reader(*model, *tokenizer, {}, head().value());
  ASSERT_EQ(reader.width(), 2);
  std::vector<TextTokens> texts;
  std::vector<float> want;
  for (const Json& text : json_of(read_json(dir_.path() / "logits.json"))) {
    texts.push_back({.ids = text["ids"].get<std::vector<int32_t>>()});
    for (const Json& logit : text["logits"]) want.push_back(logit.get<float>());
  }
  std::vector<float> got(want.size());
  reader.read(texts, got);
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 2e-5) << i;
}

INSTANTIATE_TEST_SUITE_P(Models, TaskHeads,
                         ::testing::Values("bert", "roberta", "deberta-v1", "deberta-v3"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::erase(name, '-');
                           return name;
                         });

// Writes the stored classifier again, with the tensor `changed` missing (`is_missing`) or in
// another shape.
void write_changed(const fs::path& file, const std::string& changed, bool is_missing) {
  std::vector<model::TensorToWrite> tensors;
  std::vector<std::vector<float>> values;
  {
    const model::SafetensorsFile old(file);
    values.reserve(old.entries().size());
    for (const auto& [name, entry] : old.entries()) {
      if (name == changed && is_missing) continue;
      values.emplace_back(static_cast<size_t>(entry.elements));
      old.read(entry, 0, entry.elements, DType::kF32, values.back().data());
      std::vector<int64_t> shape = entry.shape;
      if (name == changed) shape.push_back(1);
      tensors.push_back({.name = name, .shape = shape, .values = values.back()});
    }
  }
  model::write_safetensors(file, tensors);
}

using OneTaskHead = TaskHeads;

TEST_F(OneTaskHead, IsAbsentWithoutAClassifier) {
  copy("bert");
  write_changed(dir_.path() / "model.safetensors", "classifier.weight", /*is_missing=*/true);
  EXPECT_FALSE(head().has_value());
}

// Models of other classes have no classifier of texts, although the files of token classifiers may
// have the same tensors.
TEST_F(OneTaskHead, IsAbsentWhereTheModelIsOfAnotherClass) {
  copy("bert");
  configure({{"architectures", {"BertForTokenClassification"}}});
  EXPECT_FALSE(head().has_value());
  for (const Json& classes :
       {Json{"BertModel", "BertForSequenceClassification"}, Json::array(), Json()}) {
    configure({{"architectures", classes}});
    EXPECT_TRUE(head().has_value()) << classes;
  }
}

TEST_F(OneTaskHead, HasTheLabelsNames) {
  copy("bert");
  EXPECT_EQ(head()->label_names, std::vector<std::string>{});
  configure({{"id2label", {{"1", "bad"}, {"0", "good"}}}});
  EXPECT_EQ(head()->label_names, (std::vector<std::string>{"good", "bad"}));
  configure({{"id2label", {{"0", 0}, {"1", 1}}}});
  EXPECT_EQ(head()->label_names, (std::vector<std::string>{"0", "1"}));
  configure({{"id2label", {{"0", "good"}}}});
  expect_error([&] { (void)head(); }, {"config.json", "id2label.1"});
}

TEST_F(OneTaskHead, IsRefusedWhereItIsIncompleteOrOfAnotherSize) {
  copy("bert");
  const fs::path file = dir_.path() / "model.safetensors";
  write_changed(file, "bert.pooler.dense.bias", /*is_missing=*/true);
  expect_error([&] { (void)head(); }, {"bert.pooler.dense.bias", "missing"});
  copy("roberta");
  write_changed(file, "classifier.out_proj.weight", /*is_missing=*/false);
  expect_error([&] { (void)head(); }, {"classifier.out_proj.weight", "[2, 8, 1]", "[2, 8]"});
}

}  // namespace
}  // namespace reprise::sentence
