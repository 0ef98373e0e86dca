// The shipped shapes have the sizes that their publishers state.
#include "core/model/config/shapes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/error.h"
#include "core/model/config/config.h"

namespace reprise::model {
namespace {

// Numbers of weights in the published checkpoints. Tied weights count once.
const std::map<std::string, int64_t> kPublished = {
    {"codellama-7b", 6'738'546'688},
    {"deepseek-moe-16b", 16'375'728'128},
    {"falcon-180b", 179'522'565'120},
    {"falcon-40b", 41'303'293'952},
    {"falcon-7b", 6'921'720'704},
    {"falcon-rw-1b", 1'311'625'216},
    {"llama-2-13b", 13'015'864'320},
    {"llama-2-70b", 68'976'648'192},
    {"llama-2-7b", 6'738'415'616},
    {"llama-3-8b", 8'030'261'248},
    {"llama-3.2-3b", 3'212'749'824},
    {"llama-30b", 32'528'943'616},
    {"mistral-7b", 7'241'732'096},
    {"mpt-30b", 29'957'200'896},
    {"mpt-7b", 6'649'286'656},
    {"phi-2", 2'779'683'840},
    {"qwen1.5-moe-a2.7b", 14'315'784'192},
    {"tinyllama-1.1b", 1'100'048'384},
};

// Shapes that are another shape with fewer layers, for machines on which the whole takes too long.
const std::map<std::string, std::string> kCutToTwoLayers = {
    {"deepseek-moe-16b-2-layers", "deepseek-moe-16b"},  // the dense one and one of the others
    {"llama-2-13b-2-layers", "llama-2-13b"},
    {"llama-2-7b-2-layers", "llama-2-7b"},
    {"llama-3.2-3b-2-layers", "llama-3.2-3b"},
    {"mistral-7b-2-layers", "mistral-7b"},
    {"phi-2-2-layers", "phi-2"},
    {"qwen1.5-moe-a2.7b-2-layers", "qwen1.5-moe-a2.7b"},
};

TEST(Shapes, CutOnesDifferInTheirLayersAlone) {
  for (const auto& [name, whole_name] : kCutToTwoLayers) {
    const ModelConfig cut = load_config(name), whole = load_config(whole_name);
    EXPECT_EQ(cut.layers, 2);
    const int64_t layer = (whole.parameters() - cut.parameters()) / (whole.layers - 2);
    EXPECT_EQ(cut.parameters() + (whole.layers - 2) * layer, whole.parameters()) << name;
    EXPECT_EQ(cut.hidden, whole.hidden) << name;
    EXPECT_EQ(cut.kv_dim(), whole.kv_dim()) << name;
    EXPECT_EQ(cut.vocab, whole.vocab) << name;
  }
}

TEST(Shapes, ParameterCountsAreThePublishedOnes) {
  std::vector<std::string> names;
  for (const auto& [name, whole] : kCutToTwoLayers) names.push_back(name);
  for (const auto& [name, parameters] : kPublished) {
    names.push_back(name);
    const ModelConfig config = load_config(name);
    EXPECT_EQ(config.parameters(), parameters) << name;
    EXPECT_EQ(config.name, name);
    EXPECT_DOUBLE_EQ(config.attention_scale, 1.0 / std::sqrt(double(config.head_dim))) << name;
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(shipped_shapes(), names);
}

TEST(Shapes, HyperparametersThatCountsDoNotShow) {
  const ModelConfig llama = load_config("llama-3.2-3b");
  EXPECT_EQ(llama.head_dim, 128);
  EXPECT_EQ(llama.rotary.scaling, RopeScaling::kLlama3);
  EXPECT_DOUBLE_EQ(llama.rotary.factor, 32.0);
  EXPECT_EQ(llama.rotary.original_max_positions, 8192);
  EXPECT_TRUE(llama.tied_embeddings);
  EXPECT_EQ(load_config("mistral-7b").sliding_window, 4096);
  EXPECT_DOUBLE_EQ(load_config("codellama-7b").rotary.theta, 1e6);
  EXPECT_EQ(load_config("falcon-7b").kv_heads, 1);
  EXPECT_EQ(load_config("falcon-40b").kv_heads, 8);
  EXPECT_EQ(load_config("falcon-rw-1b").position, PositionScheme::kAlibi);
  EXPECT_EQ(load_config("phi-2").rotary.dims, 32);
  EXPECT_EQ(load_config("mpt-30b").max_positions, 8192);
  const ModelConfig qwen = load_config("qwen1.5-moe-a2.7b");
  EXPECT_EQ(qwen.experts.per_token, 4);
  EXPECT_EQ(qwen.expert_layers(), 24);
  EXPECT_FALSE(qwen.experts.norm_top_k);
  // A token uses 2.7 B parameters, as published.
  EXPECT_EQ(qwen.parameters() - qwen.expert_parameters() / 60 * 56, 2'689'173'504);
  const ModelConfig deepseek = load_config("deepseek-moe-16b");
  EXPECT_EQ(deepseek.expert_layers(), 27);  // the first is dense
  EXPECT_EQ(deepseek.experts.shared_intermediate, 2 * 1408);
  EXPECT_FALSE(deepseek.experts.shared_gate || deepseek.experts.norm_top_k);
  // A token uses 2.8 B parameters, as published.
  EXPECT_EQ(deepseek.parameters() - deepseek.expert_parameters() / 64 * 58, 2'828'650'496);
}

TEST(Shapes, AMisspeltNameOffersTheNearest) {
  try {
    load_config("lama-2-7b");
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean \"llama-2-7b\""), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace reprise::model
