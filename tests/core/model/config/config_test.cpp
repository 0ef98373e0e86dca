// Tests config.json of each family: defaults, spellings, and an error for every feature that is not
// implemented.
#include "core/model/config/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/json.h"

namespace reprise::model {
namespace {

// Only the dimensions, so that everything else is Hugging Face's default.
Json bare(const std::string& model_type) {
  if (model_type == "mpt")
    return Json::parse(R"({"model_type": "mpt", "d_model": 64, "n_heads": 4, "n_layers": 2,
                           "vocab_size": 100})");
  Json json = Json::parse(R"({"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8,
                              "vocab_size": 100})");
  json["model_type"] = model_type;
  if (model_type != "falcon") json["intermediate_size"] = 96;
  if (model_type == "qwen2_moe") json["num_key_value_heads"] = 8;  // the default is 16
  return json;
}

ModelConfig parse(const Json& json) { return parse_config(json, "config.json"); }

ModelConfig parse_with(const std::string& model_type, const Json& patch) {
  Json json = bare(model_type);
  json.update(patch);
  return parse(json);
}

TEST(Config, AbsentKeysTakeTheFamilysDefaults) {
  const ModelConfig llama = parse(bare("llama"));
  EXPECT_EQ(llama.kv_heads, 8);
  EXPECT_EQ(llama.head_dim, 8);
  EXPECT_EQ(llama.max_positions, 2048);
  EXPECT_DOUBLE_EQ(llama.norm_epsilon, 1e-6);
  EXPECT_DOUBLE_EQ(llama.rotary.theta, 10000.0);
  EXPECT_EQ(llama.rotary.dims, 8);
  EXPECT_DOUBLE_EQ(llama.attention_scale, 1.0 / std::sqrt(8.0));
  EXPECT_EQ(llama.bos_id, 1);
  EXPECT_EQ(llama.eos_ids, std::vector<int64_t>{2});
  EXPECT_FALSE(llama.tied_embeddings || llama.qkv_bias || llama.mlp_bias || llama.norm_bias);
  EXPECT_EQ(llama.stored_dtype, DType::kF32);
  EXPECT_EQ(llama.sliding_window, 0);

  const ModelConfig mistral = parse(bare("mistral"));
  EXPECT_EQ(mistral.family, Family::kLlama);
  EXPECT_EQ(mistral.model_type, "mistral");
  EXPECT_EQ(mistral.sliding_window, 4096);
  EXPECT_EQ(mistral.max_positions, 131072);
  EXPECT_EQ(parse_with("mistral", {{"num_attention_heads", 16}}).kv_heads, 8);
  EXPECT_EQ(parse_with("mistral", {{"num_attention_heads", 16}, {"num_key_value_heads", nullptr}})
                .kv_heads,
            16);
  EXPECT_EQ(parse_with("mistral", {{"sliding_window", nullptr}}).sliding_window, 0);

  const ModelConfig falcon = parse(bare("falcon"));
  EXPECT_EQ(falcon.kv_heads, 1);
  EXPECT_EQ(falcon.intermediate, 256);
  EXPECT_EQ(falcon.block, BlockStyle::kParallelOneNorm);
  EXPECT_EQ(falcon.activation, Activation::kGelu);
  EXPECT_TRUE(falcon.tied_embeddings && falcon.norm_bias);
  EXPECT_FALSE(falcon.gated_mlp || falcon.mlp_bias);

  const ModelConfig mpt = parse(bare("mpt"));
  EXPECT_EQ(mpt.position, PositionScheme::kAlibi);
  EXPECT_FALSE(mpt.alibi.scaled_with_scores || mpt.alibi.rounded_to_bf16 || mpt.bos_id);
  EXPECT_EQ(mpt.intermediate, 256);
  EXPECT_TRUE(mpt.tied_embeddings);

  const ModelConfig phi = parse_with("phi", {{"hidden_size", 128}});
  EXPECT_EQ(phi.rotary.dims, 8);  // half of 16
  EXPECT_EQ(phi.block, BlockStyle::kParallelOneNorm);
  EXPECT_EQ(parse_with("phi", {{"head_dim", 32}}).q_dim(), 8 * 32);
}

TEST(Config, DebertasTermsAreAListOrAStringAndScaleTheScores) {
  const Json on = {{"relative_attention", true}};
  const ModelConfig plain = parse_with("deberta", on);
  EXPECT_FALSE(plain.relative.has_keys || plain.relative.has_queries);
  EXPECT_DOUBLE_EQ(plain.attention_scale, 1.0 / std::sqrt(8.0));
  EXPECT_EQ(plain.position, PositionScheme::kLearned);
  EXPECT_EQ(plain.relative.span, 512);
  EXPECT_EQ(plain.token_types, 0);
  EXPECT_FALSE(plain.is_causal || plain.has_head);
  for (const char* words : {R"(["p2c", "c2p"])", R"("C2P | P2C")"}) {
    Json patch = on;
    patch["pos_att_type"] = Json::parse(words);
    patch["max_relative_positions"] = 100;
    const ModelConfig both = parse_with("deberta-v2", patch);
    EXPECT_TRUE(both.relative.has_keys && both.relative.has_queries);
    EXPECT_DOUBLE_EQ(both.attention_scale, 1.0 / std::sqrt(3 * 8.0));
    EXPECT_EQ(both.relative.span, 100);
    EXPECT_EQ(both.relative.buckets, 0);
  }
}

TEST(Config, FalconsThreeStyles) {
  const ModelConfig grouped =
      parse_with("falcon", {{"new_decoder_architecture", true}, {"num_kv_heads", 2}});
  EXPECT_EQ(grouped.block, BlockStyle::kParallelTwoNorms);
  EXPECT_EQ(grouped.kv_heads, 2);
  const ModelConfig one_norm =
      parse_with("falcon", {{"new_decoder_architecture", true}, {"num_ln_in_parallel_attn", 1}});
  EXPECT_EQ(one_norm.block, BlockStyle::kParallelOneNorm);
  EXPECT_EQ(one_norm.kv_heads, 8);
  const ModelConfig rw = parse_with(
      "falcon",
      {{"multi_query", false}, {"parallel_attn", false}, {"alibi", true}, {"bias", true}});
  EXPECT_EQ(rw.kv_heads, 8);
  EXPECT_EQ(rw.block, BlockStyle::kSequential);
  EXPECT_TRUE(rw.alibi.scaled_with_scores && rw.alibi.rounded_to_bf16 && rw.mlp_bias);
  // Falcon-7B's file gives num_kv_heads as large as the number of heads, although multi_query is
  // set.
  EXPECT_EQ(parse_with("falcon", {{"num_kv_heads", 8}}).kv_heads, 1);
}

TEST(Config, FalconsFirstSpelling) {
  const Json json = Json::parse(R"({"model_type": "RefinedWeb", "hidden_size": 64, "n_layer": 2,
      "n_head": 8, "n_head_kv": 2, "vocab_size": 100, "multi_query": true, "parallel_attn": true,
      "apply_residual_connection_post_layernorm": false, "torch_dtype": "bfloat16"})");
  const ModelConfig config = parse(json);
  EXPECT_EQ(config.kv_heads, 2);
  EXPECT_EQ(config.layers, 2);
  EXPECT_EQ(config.block, BlockStyle::kParallelTwoNorms);
  EXPECT_EQ(config.stored_dtype, DType::kBF16);
  expect_error([&] { parse_with("falcon", {{"n_head", 4}}); }, {"num_attention_heads", "n_head"});
}

TEST(Config, RotaryScalingUnderEitherSpelling) {
  const Json scaling = {{"rope_type", "llama3"},
                        {"factor", 8.0},
                        {"low_freq_factor", 1.0},
                        {"high_freq_factor", 4.0},
                        {"original_max_position_embeddings", 64}};
  Json parameters = scaling;
  parameters["rope_theta"] = 500000.0;
  for (const Json& patch : {Json{{"rope_scaling", scaling}, {"rope_theta", 500000.0}},
                            Json{{"rope_parameters", parameters}}}) {
    const RotaryConfig rotary = parse_with("llama", patch).rotary;
    EXPECT_EQ(rotary.scaling, RopeScaling::kLlama3);
    EXPECT_DOUBLE_EQ(rotary.theta, 500000.0);
    EXPECT_DOUBLE_EQ(rotary.factor, 8.0);
    EXPECT_EQ(rotary.original_max_positions, 64);
  }
  const Json dynamic = {{"type", "dynamic"}, {"factor", 2.0}};
  EXPECT_EQ(parse_with("llama", {{"rope_scaling", dynamic}}).rotary.original_max_positions, 2048);
  // As in transformers, dynamic scaling uses only max_position_embeddings, and llama3 falls back to
  // it.
  Json noted = dynamic, unsaid = scaling;
  noted["original_max_position_embeddings"] = 64;
  unsaid.erase("original_max_position_embeddings");
  for (const Json& given : {noted, unsaid})
    EXPECT_EQ(parse_with("llama", {{"rope_scaling", given}, {"max_position_embeddings", 512}})
                  .rotary.original_max_positions,
              512);
  const Json partial = {{"rope_type", "default"}, {"partial_rotary_factor", 0.25}};
  EXPECT_EQ(parse_with("phi", {{"rope_parameters", partial}}).rotary.dims, 2);
  const Json plain = {{"rope_type", "default"}, {"rope_theta", 7.0}};
  EXPECT_EQ(parse_with("llama", {{"rope_parameters", plain}}).rotary.scaling, RopeScaling::kNone);
  const Json sections = {{"type", "mrope"}, {"mrope_section", {1, 1, 2}}};
  EXPECT_EQ(parse_with("llama", {{"rope_scaling", sections}}).rotary.scaling, RopeScaling::kNone);
}

// As in transformers 5.5, a factor that is left out is the ratio of the lengths.
TEST(Config, YarnAndLongRopeScaleCosinesAndSines) {
  const auto rotary_of = [](const Json& scaling) {
    return parse_with("llama", {{"rope_scaling", scaling}, {"max_position_embeddings", 4096}})
        .rotary;
  };
  const Json yarn = {{"rope_type", "yarn"}, {"original_max_position_embeddings", 1024}};
  EXPECT_DOUBLE_EQ(rotary_of(yarn).factor, 4.0);
  EXPECT_DOUBLE_EQ(rotary_of(yarn).attention_factor, 0.1 * std::log(4.0) + 1.0);
  Json published = yarn;
  published["finetuned"] = true;
  EXPECT_EQ(rotary_of(published).factor, rotary_of(yarn).factor);
  Json given = yarn, weighed = yarn;
  given["attention_factor"] = 0.75;
  EXPECT_DOUBLE_EQ(rotary_of(given).attention_factor, 0.75);
  weighed["mscale"] = 1.0;
  weighed["mscale_all_dim"] = 0.707;
  EXPECT_DOUBLE_EQ(rotary_of(weighed).attention_factor,
                   (0.1 * std::log(4.0) + 1.0) / (0.0707 * std::log(4.0) + 1.0));
  const Json divisors = {1.0, 1.5, 2.0, 4.0};
  const Json longrope = {{"type", "su"},
                         {"original_max_position_embeddings", 1024},
                         {"short_factor", {1.0, 1.0, 1.0, 1.0}},
                         {"long_factor", divisors}};
  const RotaryConfig rotary = rotary_of(longrope);
  EXPECT_EQ(rotary.scaling, RopeScaling::kLongRope);
  EXPECT_TRUE(rotary.depends_on_length());
  EXPECT_EQ(rotary.long_divisors, std::vector<double>(divisors));
  EXPECT_DOUBLE_EQ(rotary.attention_factor, std::sqrt(1.0 + std::log(4.0) / std::log(1024.0)));
  // Phi-3's files have the length outside of rope_scaling.
  Json outside = longrope;
  outside.erase("original_max_position_embeddings");
  EXPECT_EQ(parse_with("llama", {{"rope_scaling", outside},
                                 {"max_position_embeddings", 4096},
                                 {"original_max_position_embeddings", 512}})
                .rotary.original_max_positions,
            512);
}

TEST(Config, ScalingsStretchThePositionsThatAModelHas) {
  const auto limit_of = [](const Json& scaling) {
    Json patch = {{"max_position_embeddings", 512}};
    patch.update(scaling);
    return parse_with("llama", patch).position_limit();
  };
  EXPECT_EQ(limit_of(Json::object()), 512);
  for (const char* type : {"linear", "dynamic"}) {
    EXPECT_EQ(limit_of({{"rope_scaling", {{"type", type}, {"factor", 4.0}}}}), 2048) << type;
    EXPECT_EQ(limit_of({{"rope_parameters", {{"rope_type", type}, {"factor", 2.5}}}}), 1280);
  }
  // YaRN's file may state either the trained or the scaled length as max_position_embeddings.
  const Json yarn = {{"type", "yarn"}, {"factor", 4.0}};
  Json scaled = yarn;
  scaled["original_max_position_embeddings"] = 128;
  EXPECT_EQ(limit_of({{"rope_scaling", yarn}}), 2048);
  EXPECT_EQ(limit_of({{"rope_scaling", scaled}}), 512);
  EXPECT_EQ(parse_with("mpt", Json::object()).position_limit(),
            std::numeric_limits<int64_t>::max());
  EXPECT_EQ(parse_with("bert", Json::object()).position_limit(), 512);
}

TEST(Config, ExpertsTakeTheirFamilysDefaultsAndStandInTheLayersThatAreNamed) {
  const ModelConfig mixtral = parse(bare("mixtral"));
  EXPECT_EQ(mixtral.family, Family::kLlama);
  EXPECT_EQ(mixtral.experts.count, 8);
  EXPECT_EQ(mixtral.experts.per_token, 2);
  EXPECT_EQ(mixtral.experts.intermediate, 96);
  EXPECT_EQ(mixtral.experts.shared_intermediate, 0);
  EXPECT_TRUE(mixtral.experts.norm_top_k);
  EXPECT_EQ(mixtral.expert_layers(), 2);
  EXPECT_EQ(mixtral.sliding_window, 0);
  EXPECT_DOUBLE_EQ(mixtral.rotary.theta, 1e6);
  EXPECT_DOUBLE_EQ(mixtral.norm_epsilon, 1e-5);

  const ModelConfig qwen = parse(bare("qwen2_moe"));
  EXPECT_EQ(qwen.experts.count, 60);
  EXPECT_EQ(qwen.experts.per_token, 4);
  EXPECT_EQ(qwen.experts.intermediate, 1408);
  EXPECT_EQ(qwen.experts.shared_intermediate, 5632);
  EXPECT_FALSE(qwen.experts.norm_top_k);
  EXPECT_TRUE(qwen.qkv_bias);
  EXPECT_FALSE(qwen.attention_out_bias || qwen.mlp_bias);
  EXPECT_EQ(qwen.sliding_window, 0);
  EXPECT_FALSE(qwen.bos_id.has_value());
  EXPECT_TRUE(qwen.eos_ids.empty());

  const ModelConfig some = parse_with("qwen2_moe", {{"num_hidden_layers", 7},
                                                    {"decoder_sparse_step", 2},
                                                    {"mlp_only_layers", {0, 3}},
                                                    {"norm_topk_prob", true}});
  EXPECT_TRUE(some.experts.norm_top_k);
  std::vector<int64_t> layers;
  for (int64_t layer = 0; layer < 7; ++layer)
    if (some.has_experts(layer)) layers.push_back(layer);
  EXPECT_EQ(layers, (std::vector<int64_t>{1, 5}));
  EXPECT_EQ(parse(bare("llama")).expert_layers(), 0);
}

std::vector<int64_t> layers_with_experts(const ModelConfig& config) {
  std::vector<int64_t> layers;
  for (int64_t layer = 0; layer < config.layers; ++layer)
    if (config.has_experts(layer)) layers.push_back(layer);
  return layers;
}

TEST(Config, DeepseekHasRoutedAndSharedExpertsFromALayerOn) {
  const Json experts = {{"num_hidden_layers", 7},     {"n_routed_experts", 5},
                        {"num_experts_per_tok", 2},   {"n_shared_experts", 3},
                        {"moe_intermediate_size", 6}, {"first_k_dense_replace", 2},
                        {"aux_loss_alpha", 0.001},    {"seq_aux", true}};
  const auto with = [&](const Json& patch) {
    Json all = experts;
    all.update(patch);
    return parse_with("deepseek", all);
  };
  const ModelConfig some = with(Json::object());
  EXPECT_EQ(some.experts.count, 5);
  EXPECT_EQ(some.experts.per_token, 2);
  EXPECT_EQ(some.experts.intermediate, 6);
  EXPECT_EQ(some.experts.shared_intermediate, 18);
  EXPECT_FALSE(some.experts.shared_gate || some.experts.norm_top_k);
  EXPECT_EQ(layers_with_experts(some), (std::vector<int64_t>{2, 3, 4, 5, 6}));
  EXPECT_EQ(layers_with_experts(with({{"moe_layer_freq", 3}})), (std::vector<int64_t>{3, 6}));
  EXPECT_EQ(layers_with_experts(with({{"first_k_dense_replace", 7}})), std::vector<int64_t>{});
  EXPECT_EQ(with({{"n_shared_experts", nullptr}}).experts.shared_intermediate, 0);
  EXPECT_TRUE(with({{"norm_topk_prob", true}}).experts.norm_top_k);
  // A single weight divided by itself would always be 1.
  EXPECT_FALSE(with({{"norm_topk_prob", true}, {"num_experts_per_tok", 1}}).experts.norm_top_k);
  EXPECT_EQ(parse(bare("deepseek")).expert_layers(), 0);
  EXPECT_EQ(parse(bare("deepseek")).kv_heads, 8);
}

TEST(Config, MptWithBiasesHasThemEverywhere) {
  const ModelConfig config = parse_with("mpt", {{"no_bias", false}});
  EXPECT_TRUE(config.norm_bias && config.qkv_bias && config.attention_out_bias && config.mlp_bias);
}

// transformers' MPT ignores alibi_bias_max, and treats a clip of 0 as no clip.
TEST(Config, MptsAttentionIsTransformersUnlessTheTrainedOneIsAskedFor) {
  const Json attention = {{"alibi_bias_max", 16}, {"clip_qkv", 0}};
  EXPECT_EQ(parse_with("mpt", {{"attn_config", attention}}).alibi.bias_max, 8.0);
  EXPECT_EQ(parse_with("mpt", {{"attn_config", attention}}).clip_qkv, 0.0);
  EXPECT_EQ(
      parse_with("mpt", {{"attn_config", attention}, {"reprise_alibi", "trained"}}).alibi.bias_max,
      16.0);
}

TEST(Config, MetadataOfAnyKindPasses) {
  for (const char* type : {"llama", "mistral", "falcon", "mpt"})
    EXPECT_NO_THROW(parse_with(type, {{"architectures", {"X"}},
                                      {"use_cache", true},
                                      {"transformers_version", "4.31.0"},
                                      {"pad_token_id", -1},
                                      {"auto_map", {{"AutoConfig", "x"}}},
                                      {"attention_dropout", 0.1},
                                      {"initializer_range", 0.02},
                                      {"quantization_config", nullptr},
                                      {"unsloth_version", "1"},
                                      {"_name_or_path", "x/y"},
                                      {"pretraining_tp", 1},
                                      {"max_sequence_length", 2048},
                                      {"is_encoder_decoder", false},
                                      {"some_trainer_note", {1, 2, 3}}}))
        << type;
}

// An encoder is never computed causally.
TEST(Config, IsCausalMaySayWhatTheModelIs) {
  EXPECT_TRUE(parse_with("llama", {{"is_causal", true}}).is_causal);
  EXPECT_TRUE(parse_with("llama", {{"is_causal", nullptr}}).is_causal);
  EXPECT_FALSE(parse_with("bert", {{"is_causal", false}}).is_causal);
}

// cls_token_id and eod_token_id are nearly spelled as eos_token_id, which this file lacks.
TEST(Config, TokensOfATokenizerAreNoMisspellings) {
  Json json = bare("llama");
  for (const char* key : {"cls_token_id", "eod_token_id", "sep_token_id", "mask_token_id"}) {
    json[key] = 5;
    EXPECT_NO_THROW(parse(json)) << key;
  }
}

TEST(Config, EosIdsAreANumberOrAListAndGenerationConfigAddsToThem) {
  EXPECT_EQ(parse_with("llama", {{"eos_token_id", {3, 4}}}).eos_ids, (std::vector<int64_t>{3, 4}));
  EXPECT_TRUE(parse_with("llama", {{"eos_token_id", nullptr}}).eos_ids.empty());
  const TempDir dir;
  dir.write("config.json", bare("llama").dump());
  dir.write("generation_config.json", R"({"eos_token_id": [2, 9], "temperature": 0.6})");
  const ModelConfig config = load_config(dir.path());
  EXPECT_EQ(config.eos_ids, (std::vector<int64_t>{2, 9}));
  EXPECT_EQ(config.name, dir.path().filename().string());
  EXPECT_EQ(load_config(dir.path() / "config.json").name, config.name);
  dir.write("generation_config.json", R"({"eos_token_id": 100})");
  expect_error([&] { load_config(dir.path()); }, {"generation_config.json", "eos_token_id", "100"});
}

TEST(Config, UnsupportedAndImpossibleValuesNameTheKey) {
  struct Case {
    const char* model_type;
    Json patch;
    const char* key;
  };
  const Json few = {{"type", "longrope"}, {"short_factor", {1.0}}, {"long_factor", {1.0, 2.0}}};
  const Json zero = {
      {"type", "longrope"}, {"short_factor", {1, 1, 1, 0}}, {"long_factor", {1, 1, 1, 1}}};
  const std::vector<Case> cases = {
      {"llama", {{"rope_scaling", {{"type", "ntk"}, {"factor", 4.0}}}}, "yarn, longrope or mrope"},
      {"llama", {{"rope_scaling", {{"type", "yarn"}, {"factor", 0.5}}}}, "rope_scaling.factor"},
      {"llama",
       {{"rope_scaling", {{"type", "yarn"}, {"original_max_position_embeddings", 8192}}}},
       "rope_scaling.factor\" is 0.25"},
      {"llama",
       {{"rope_scaling",
         {{"type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 64}}},
        {"original_max_position_embeddings", 512}},
       "is 64, and the one outside of it 512"},
      {"llama", {{"rope_scaling", {{"type", "yarn"}, {"beta_fast", 0}}}}, "beta_fast"},
      {"llama", {{"rope_scaling", {{"type", "yarn"}, {"beta_slow", 40}}}}, "beta_fast"},
      {"llama", {{"rope_scaling", {{"type", "longrope"}, {"factor", 2.0}}}}, "short_factor"},
      {"llama", {{"rope_scaling", few}}, "short_factor\" holds 1 divisors"},
      {"llama", {{"rope_scaling", zero}}, "greater than 0"},
      {"llama", {{"rope_scaling", {{"rope_type", "linear"}}}}, "rope_scaling.factor"},
      {"llama", {{"rope_scaling", {{"type", "linear"}, {"factor", 0.5}}}}, "rope_scaling.factor"},
      {"llama", {{"rope_scaling", {{"type", "linear"}, {"factor", "2"}}}}, "rope_scaling.factor"},
      {"llama", {{"rope_scaling", {{"type", "linear"}, {"factor", 2.0}, {"mscale", 1}}}}, "mscale"},
      {"llama", {{"rope_scaling", {{"rope_type", "llama3"}, {"factor", 8.0}}}}, "low_freq_factor"},
      {"llama", {{"rope_parameters", {{"full_attention", Json::object()}}}}, "full_attention"},
      {"llama", {{"rope_theta", 0}}, "rope_theta"},
      {"llama", {{"partial_rotary_factor", 0.5}}, "partial_rotary_factor"},
      {"llama", {{"hidden_act", "relu"}}, "hidden_act"},
      {"llama", {{"quantization_config", {{"bits", 4}}}}, "quantization_config"},
      {"llama", {{"quantization", {{"bits", 4}}}}, "\"quantization\""},
      {"llama", {{"num_local_experts", 8}}, "num_local_experts"},
      {"llama", {{"final_logit_softcapping", 30.0}}, "final_logit_softcapping"},
      {"llama", {{"residual_multiplier", 0.22}}, "residual_multiplier"},
      {"llama", {{"sliding_window", 128}}, "sliding_window"},
      {"llama", {{"is_causal", false}}, "\"is_causal\" is false"},
      {"mistral", {{"is_causal", false}}, "computed causally"},
      {"falcon", {{"is_causal", false}}, "is_causal"},
      {"mpt", {{"is_causal", 0}}, "is_causal"},
      {"llama", {{"layer_types", {"linear_attention"}}}, "layer_types"},
      {"llama", {{"num_key_value_head", 2}}, "did you mean \"num_key_value_heads\""},
      {"llama", {{"rms_norm_epsilon", 1e-5}, {"rms_norm_ep", 1e-5}}, "rms_norm_ep"},
      {"llama", {{"hidden_size", 0}}, "hidden_size"},
      {"llama", {{"hidden_size", -64}}, "hidden_size"},
      {"llama", {{"hidden_size", 63}}, "num_attention_heads"},
      {"llama", {{"hidden_size", 24}}, "head_dim"},
      {"llama", {{"hidden_size", 1099511627776}}, "hidden_size"},
      {"llama", {{"hidden_size", 18446744073709551615u}}, "hidden_size"},
      {"llama", {{"hidden_size", "64"}}, "hidden_size"},
      {"llama", {{"hidden_size", 64.5}}, "hidden_size"},
      {"llama", {{"hidden_size", nullptr}}, "hidden_size"},
      {"llama", {{"num_hidden_layers", 1000000}}, "num_hidden_layers"},
      {"llama", {{"num_key_value_heads", 3}}, "num_key_value_heads"},
      {"llama", {{"num_key_value_heads", 16}}, "num_key_value_heads"},
      {"llama", {{"num_attention_heads", 65536}, {"head_dim", 1048576}}, "head_dim"},
      {"llama", {{"head_dim", 7}}, "head_dim"},
      {"llama", {{"rms_norm_eps", 0.0}}, "rms_norm_eps"},
      {"llama", {{"eos_token_id", 100}}, "eos_token_id"},
      {"llama", {{"eos_token_id", "</s>"}}, "eos_token_id"},
      {"llama", {{"eos_token_id", 18446744073709551615u}}, "eos_token_id"},
      {"llama", {{"torch_dtype", "float64"}}, "torch_dtype"},
      {"llama", {{"dtype", "int8"}}, "dtype"},
      {"llama", {{"tie_word_embeddings", 1}}, "tie_word_embeddings"},
      {"llama", {{"model_type", "gpt2"}}, "model_type"},
      {"deberta", {{"relative_attention", false}}, "relative_attention"},
      {"deberta", {{"relative_attention", true}, {"pos_att_type", "c2p|p2p"}}, "pos_att_type"},
      {"deberta", {{"relative_attention", true}, {"pos_att_type", 3}}, "pos_att_type"},
      {"deberta", {{"relative_attention", true}, {"talking_head", true}}, "talking_head"},
      {"deberta", {{"relative_attention", true}, {"embedding_size", 32}}, "embedding_size"},
      {"deberta-v2", {{"relative_attention", true}, {"conv_kernel_size", 2}}, "conv_kernel_size"},
      {"deberta-v2", {{"relative_attention", true}, {"conv_kernel_size", 3}}, "conv_act"},
      {"deberta-v2",
       {{"relative_attention", true},
        {"conv_kernel_size", 3},
        {"conv_act", "gelu"},
        {"conv_groups", 2}},
       "conv_groups"},
      {"deberta-v2",
       {{"relative_attention", true},
        {"conv_kernel_size", 3},
        {"conv_act", "gelu"},
        {"num_hidden_layers", 1}},
       "num_hidden_layers"},
      {"deberta-v2", {{"relative_attention", true}, {"position_buckets", 2}}, "position_buckets"},
      {"deberta-v2",
       {{"relative_attention", true}, {"position_buckets", 64}, {"max_relative_positions", 33}},
       "position_buckets"},
      {"deberta-v2", {{"relative_attention", true}, {"norm_rel_ebd", "batch"}}, "norm_rel_ebd"},
      {"deberta-v2",
       {{"relative_attention", true}, {"attention_head_size", 7}},
       "attention_head_size"},
      {"llama", {{"model_type", nullptr}}, "model_type"},
      {"mistral", {{"sliding_window", 0}}, "sliding_window"},
      {"mistral", {{"attention_bias", true}}, "attention_bias"},
      {"llama", {{"logits_scaling", 0}}, "\"logits_scaling\" is 0"},
      {"mixtral", {{"num_local_experts", 0}}, "num_local_experts"},
      {"mixtral", {{"num_local_experts", 1 << 20}}, "num_local_experts"},
      {"mixtral", {{"num_experts_per_tok", 9}}, "num_local_experts is 8"},
      {"mixtral", {{"intermediate_size", 1 << 22}}, "num_local_experts"},
      {"mixtral", {{"shared_expert_intermediate_size", 8}}, "shared_expert_intermediate_size"},
      {"qwen2_moe", {{"num_experts_per_tok", 0}}, "num_experts_per_tok"},
      {"qwen2_moe", {{"num_experts", 3}, {"num_experts_per_tok", 4}}, "num_experts_per_tok"},
      {"qwen2_moe", {{"num_experts_per_token", 4}}, "did you mean \"num_experts_per_tok\""},
      {"qwen2_moe", {{"mlp_only_layers", {2}}}, "mlp_only_layers"},
      {"qwen2_moe", {{"mlp_only_layers", {-1}}}, "mlp_only_layers"},
      {"qwen2_moe", {{"mlp_only_layers", "all"}}, "mlp_only_layers"},
      {"qwen2_moe", {{"decoder_sparse_step", 0}}, "decoder_sparse_step"},
      {"qwen2_moe", {{"use_sliding_window", true}}, "use_sliding_window"},
      {"deepseek", {{"n_routed_experts", 4}, {"num_experts_per_tok", 5}}, "num_experts_per_tok"},
      {"deepseek", {{"n_routed_experts", 4}, {"scoring_func", "sigmoid"}}, "scoring_func"},
      {"deepseek",
       {{"n_routed_experts", 4}, {"first_k_dense_replace", 3}},
       "first_k_dense_replace"},
      {"deepseek", {{"n_routed_experts", 4}, {"moe_layer_freq", 0}}, "moe_layer_freq"},
      {"deepseek", {{"n_routed_experts", 4}, {"n_shared_experts", -1}}, "n_shared_experts"},
      {"deepseek", {{"n_routed_experts", 4}, {"n_shared_expert", 1}}, "\"n_shared_experts\""},
      {"deepseek", {{"n_shared_experts", 2}}, "n_shared_experts"},
      {"deepseek", {{"kv_lora_rank", 512}}, "kv_lora_rank"},
      {"falcon", {{"activation", "relu"}}, "activation"},
      {"falcon", {{"num_ln_in_parallel_attn", 2}}, "num_ln_in_parallel_attn"},
      {"falcon", {{"num_ln_in_parallel_attn", 3}}, "num_ln_in_parallel_attn"},
      {"falcon", {{"new_decoder_architecture", true}, {"parallel_attn", false}}, "parallel_attn"},
      {"falcon", {{"multi_query", false}, {"num_kv_heads", 2}}, "num_kv_heads"},
      {"falcon", {{"apply_residual_connection_post_layernorm", true}}, "post_layernorm"},
      {"mpt", {{"attn_config", {{"alibi", false}}}}, "attn_config.alibi"},
      {"mpt", {{"attn_config", {{"attn_type", "multiquery_attention"}}}}, "attn_config.attn_type"},
      {"mpt", {{"attn_config", {{"qk_ln", true}}}}, "attn_config.qk_ln"},
      {"mpt", {{"attn_config", {{"prefix_lm", true}}}}, "attn_config.prefix_lm"},
      {"mpt", {{"attn_config", {{"clip_qkv", -1.0}}}}, "attn_config.clip_qkv"},
      {"mpt", {{"attn_config", 3}}, "attn_config"},
      {"mpt", {{"logit_scale", "inv_sqrt_d_model"}}, "logit_scale"},
      {"mpt", {{"norm_type", "rmsnorm"}}, "norm_type"},
      {"mpt", {{"ffn_config", {{"ffn_type", "mptglu"}}}}, "ffn_config.ffn_type"},
      {"mpt", {{"d_model", 1048576}, {"expansion_ratio", 64}}, "expansion_ratio"},
      {"phi", {{"qk_layernorm", true}}, "qk_layernorm"},
      {"phi", {{"hidden_act", "gelu"}}, "hidden_act"},
      {"phi", {{"partial_rotary_factor", 0.1}}, "partial_rotary_factor"},
      {"phi", {{"partial_rotary_factor", 1e300}}, "partial_rotary_factor"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.model_type) + " " + c.patch.dump());
    expect_error([&] { parse_with(c.model_type, c.patch); }, {"config.json", c.key});
  }
}

TEST(Config, MissingDimensionsAreNamed) {
  for (const char* type : {"llama", "mistral", "falcon", "mpt", "phi"}) {
    const Json whole = bare(type);
    for (const auto& item : whole.items()) {
      Json json = whole;
      json.erase(item.key());
      expect_error([&] { parse(json); }, {"config.json", item.key(), "missing"});
    }
  }
  expect_error([] { parse(Json::array()); }, {"config.json"});
}

TEST(Config, AnUnknownModelTypeListsTheSupportedOnes) {
  expect_error(
      [] {
        parse_with("llama", {{"model_type", "llamma"}});
      },
      {"did you mean \"llama\"", "mistral", "falcon", "mpt", "phi"});
}

TEST(Config, TheLargestAcceptedModelCountsWithoutOverflow) {
  const ModelConfig config = parse_with("llama", {{"vocab_size", 1 << 24},
                                                  {"hidden_size", 1 << 20},
                                                  {"num_hidden_layers", 4096},
                                                  {"intermediate_size", 1 << 22},
                                                  {"num_attention_heads", 1 << 16},
                                                  {"attention_bias", true},
                                                  {"mlp_bias", true}});
  EXPECT_GT(config.parameters(), int64_t{1} << 55);
  const ModelConfig experts =
      parse_with("qwen2_moe", {{"vocab_size", 1 << 24},
                               {"hidden_size", 1 << 20},
                               {"num_hidden_layers", 4096},
                               {"intermediate_size", 1 << 22},
                               {"num_attention_heads", 1 << 16},
                               {"num_key_value_heads", 1 << 16},
                               {"num_experts", 4},
                               {"moe_intermediate_size", 1 << 20},
                               {"shared_expert_intermediate_size", 1 << 22}});
  EXPECT_GT(experts.parameters(), int64_t{1} << 56);
}

}  // namespace
}  // namespace reprise::model
