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

// Settings as sentence-transformers saves them from 5.4 on for a plain model, and as people write
// them by hand.
TEST(SentenceFolder, TheTransformersSettingsMaySayThatTextsAreReadPlainly) {
  const TempDir dir;
  for (const char* settings :
       {R"({"transformer_task": "feature-extraction",
            "modality_config": {"text": {"method": "forward",
                                         "method_output_name": "last_hidden_state"}},
            "module_output_name": "token_embeddings"})",
        R"({"modality_config": {"text": {"method": "forward"}, "image+text": {}},
            "processing_kwargs": {"chat_template": {"add_generation_prompt": true},
                                  "text": {"padding": true}},
            "unpad_inputs": false, "query_length": 32})",
        R"({"max_seq_length": 9, "tokenizer_args": {"padding_side": "left"}, "config_args": {},
            "model_args": {"torch_dtype": "bfloat16", "trust_remote_code": true}})",
        R"({"model_kwargs": {"dtype": "auto", "attn_implementation": "sdpa"},
            "processor_kwargs": null})",
        "{}"}) {
    write_sentence_files(dir);
    dir.write("sentence_bert_config.json", settings);
    EXPECT_NO_THROW((void)read_sentence_folder(dir.path())) << settings;
  }
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
  const auto refused_settings = [&](const char* text, std::initializer_list<std::string> parts) {
    refused("sentence_bert_config.json", text, parts);
  };
  refused_settings(R"({"max_seq_length": 0})", {"sentence_bert_config.json", "max_seq_length"});
  refused_settings(R"({"modality_config": {
                         "text": {"method": "forward", "method_output_name": "last_hidden_state"},
                         "message": {"method": "forward", "format": "flat"}}})",
                   {"sentence_bert_config.json", "modality_config.message", "chat template"});
  refused_settings(R"({"modality_config": {"image": {}}})", {"modality_config.text"});
  refused_settings(R"({"modality_config": {"text": {"method": "get_text_features"}}})",
                   {"modality_config.text.method", "forward"});
  refused_settings(
      R"({"modality_config": {"text": {"method_output_name": ["hidden_states", -2]}}})",
      {"method_output_name", "hidden_states", "last_hidden_state"});
  refused_settings(R"({"transformer_task": "fill-mask"})", {"transformer_task", "fill-mask"});
  refused_settings(R"({"module_output_name": "sentence_embedding"})", {"module_output_name"});
  refused_settings(R"({"processing_kwargs": {"text": {"add_special_tokens": false}}})",
                   {"processing_kwargs.text.add_special_tokens", "false"});
  refused_settings(R"({"processing_kwargs": {"common": {"max_length": 4}}})", {"max_length"});
  refused_settings(R"({"config_args": {"is_causal": false}})", {"config_args.is_causal"});
  refused_settings(R"({"tokenizer_args": {"add_eos_token": true}})", {"add_eos_token"});
  refused_settings(R"({"model_kwargs": {"quantization_config": {}}})", {"quantization_config"});
  refused("config_sentence_transformers.json", R"({"prompts": {}, "default_prompt_name": "q"})",
          {"prompts.q"});
}

}  // namespace
}  // namespace reprise::sentence
