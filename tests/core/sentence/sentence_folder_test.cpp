// Tests modules.json and the files that it names, valid and invalid.
#include "core/sentence/sentence_folder.h"

#include <gtest/gtest.h>

#include "tests/core/sentence/sentence_testing.h"

namespace reprise::sentence {
namespace {

using model::expect_error;
using model::TempDir;

TEST(SentenceFolder, AFolderWithoutModulesIsNone) {
  const TempDir dir;
  EXPECT_FALSE(read_sentence_folder(dir.path()));
  EXPECT_FALSE(read_sentence_folder("llama-2-7b"));
}

TEST(SentenceFolder, SaysPoolingNormalizationAndTheLongestText) {
  const TempDir dir;
  write_sentence_files(dir);
  const auto found = read_sentence_folder(dir.path());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->model, dir.path());
  EXPECT_EQ(found->pooling.modes, std::vector{PoolingMode::kMean});
  EXPECT_TRUE(found->pooling.normalizes);
  EXPECT_EQ(found->most_tokens, 12);
  EXPECT_FALSE(found->lowers_case);
  EXPECT_EQ(found->prompt, "");
}

TEST(SentenceFolder, NewerFilesNameTheModeAndOthersMayBeAbsent) {
  const TempDir dir;
  dir.write("modules.json", R"([{"type": "a.Transformer", "path": "0_Transformer"},
                                {"type": "b.Pooling", "path": "1_Pooling"}])");
  std::filesystem::create_directories(dir.path() / "1_Pooling");
  dir.write("1_Pooling/config.json", R"({"pooling_mode": ["lasttoken", "cls"]})");
  dir.write("config_sentence_transformers.json",
            R"({"prompts": {"query": "query: "}, "default_prompt_name": "query"})");
  const auto found = read_sentence_folder(dir.path());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->model, dir.path() / "0_Transformer");
  EXPECT_EQ(found->pooling.modes, (std::vector{PoolingMode::kLast, PoolingMode::kCls}));
  EXPECT_FALSE(found->pooling.normalizes);
  EXPECT_FALSE(found->most_tokens);
  EXPECT_EQ(found->prompt, "query: ");
}

// sentence-transformers reads the old flags only if no modes are named, and the tokenizer's limit
// only if the model's settings have none.
TEST(SentenceFolder, NamedModesAndTheModelsLimitComeFirst) {
  const TempDir dir;
  write_sentence_files(dir);
  dir.write("1_Pooling/config.json",
            R"({"pooling_mode": ["cls", "cls"], "pooling_mode_mean_tokens": true})");
  dir.write("tokenizer_config.json", R"({"model_max_length": 9})");
  EXPECT_EQ(read_sentence_folder(dir.path())->pooling.modes,
            (std::vector{PoolingMode::kCls, PoolingMode::kCls}));
  EXPECT_EQ(read_sentence_folder(dir.path())->most_tokens, 12);
  dir.write("sentence_bert_config.json", R"({"max_seq_length": null})");
  EXPECT_EQ(read_sentence_folder(dir.path())->most_tokens, 9);
  dir.write("tokenizer_config.json", R"({"model_max_length": 1000000000000000019884624838656})");
  EXPECT_FALSE(read_sentence_folder(dir.path())->most_tokens);
}

// As in sentence-transformers' Pooling(**config).
TEST(SentenceFolder, TheMeanIsOnUnlessItsFlagIsOffAndNamesMayBeInAnyCase) {
  const TempDir dir;
  write_sentence_files(dir);
  const auto modes = [&](const char* config) {
    dir.write("1_Pooling/config.json", config);
    return read_sentence_folder(dir.path())->pooling.modes;
  };
  using Modes = std::vector<PoolingMode>;
  EXPECT_EQ(modes(R"({"word_embedding_dimension": 32})"), Modes{PoolingMode::kMean});
  EXPECT_EQ(modes(R"({"pooling_mode_cls_token": true})"),
            (Modes{PoolingMode::kCls, PoolingMode::kMean}));
  EXPECT_EQ(modes(R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})"),
            Modes{PoolingMode::kCls});
  EXPECT_EQ(modes(R"({"pooling_mode": "Mean"})"), Modes{PoolingMode::kMean});
}

TEST(SentenceFolder, WhatIsNotSupportedIsNamed) {
  const TempDir dir;
  write_sentence_files(dir);
  const auto refused = [&](const char* file, const char* text,
                           std::initializer_list<std::string> parts) {
    write_sentence_files(dir);
    dir.write(file, text);
    expect_error([&] { (void)read_sentence_folder(dir.path()); }, parts);
  };
  refused("modules.json", "[]", {"modules.json", "list of modules"});
  refused("modules.json", R"([{"type": "m.Transformer", "path": ""}])", {"module 1", "missing"});
  refused("modules.json", R"([{"type": "m.Transformer"}, {"type": "m.Pooling"},
                              {"type": "m.Dense", "path": "2_Dense"}])",
          {"module 2", "\"Dense\""});
  refused("modules.json", R"([{"type": "m.Transformer"}, {"type": "m.Pooling", "path": "../x"}])",
          {"[1].path", "leaves the folder"});
  refused("modules.json", R"([{"type": "m.Transformer"}, {"path": ""}])", {"[1].type"});
  refused("1_Pooling/config.json", R"({"pooling_mode_mean_tokens": false})",
          {"1_Pooling", "all off"});
  refused("1_Pooling/config.json", R"({"pooling_mode": "meen"})", {"did you mean \"mean\""});
  refused("sentence_bert_config.json", R"({"max_seq_length": 0})", {"max_seq_length"});
  refused("config_sentence_transformers.json", R"({"prompts": {}, "default_prompt_name": "q"})",
          {"prompts.q"});
}

}  // namespace
}  // namespace reprise::sentence
