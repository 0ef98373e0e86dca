// A checkpoint folder must hold exactly the tensors of the model in its config.json.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/model/checkpoint/tensor_names.h"
#include "core/model/checkpoint/weights.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/json.h"

namespace reprise::model {
namespace {

constexpr TensorSpec kEmbedding{{Part::kEmbedding}, 10, 8};

TestTensor& find(std::vector<TestTensor>& tensors, const std::string& name) {
  return *std::find_if(tensors.begin(), tensors.end(),
                       [&](const TestTensor& tensor) { return tensor.name == name; });
}

class Checkpoint : public testing::Test {
 protected:
  std::unique_ptr<WeightSource> open() {
    dir_.write("model.safetensors", safetensors_of(tensors_));
    return open_checkpoint(dir_.path(), parse_config(config_, "config.json"));
  }
  // Splits the tensors after the first `in_first` into two shards; returns the index.
  Json write_shards(size_t in_first) {
    Json index;
    const auto cut = tensors_.begin() + static_cast<ptrdiff_t>(in_first);
    dir_.write("s1.safetensors", safetensors_of({tensors_.begin(), cut}));
    dir_.write("s2.safetensors", safetensors_of({cut, tensors_.end()}));
    for (auto it = tensors_.begin(); it != tensors_.end(); ++it)
      index["weight_map"][it->name] = it < cut ? "s1.safetensors" : "s2.safetensors";
    index["metadata"]["total_size"] = 1234;
    return index;
  }
  std::unique_ptr<WeightSource> open_index(const Json& index) {
    dir_.write("model.safetensors.index.json", index.dump());
    return open_checkpoint(dir_.path(), parse_config(config_, "config.json"));
  }

  TempDir dir_;
  Json config_ = tiny_llama_config();
  std::vector<TestTensor> tensors_ = tiny_llama_tensors();
};

TEST_F(Checkpoint, OpensAndReads) {
  const auto source = open();
  std::vector<float> row(8);
  source->read_rows(kEmbedding, 1, 2, DType::kF32, row.data());
  EXPECT_EQ(row.front(), 0.625f);
  source->release(kEmbedding);
  source->read_rows(kEmbedding, 1, 2, DType::kF32, row.data());
  EXPECT_EQ(row.back(), 0.734375f);
}

TEST_F(Checkpoint, AMissingTensorIsNamedWithItsShape) {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const TestTensor left_out = tensors_[i];
    tensors_.erase(tensors_.begin() + static_cast<ptrdiff_t>(i));
    expect_error([&] { open(); }, {dir_.path().string(), left_out.name, "missing"});
    tensors_.insert(tensors_.begin() + static_cast<ptrdiff_t>(i), left_out);
  }
}

TEST_F(Checkpoint, AQuantizedTensorOrAClassifierInTheMissingTensorsPlaceIsNamed) {
  find(tensors_, "model.layers.0.self_attn.q_proj.weight").name =
      "model.layers.0.self_attn.q_proj.qweight";
  expect_error([&] { open(); }, {"q_proj.weight", "missing", "q_proj.qweight", "export the model"});
  tensors_ = tiny_llama_tensors();
  tensors_.back() = {"score.weight", {2, 8}};
  expect_error([&] { open(); }, {"lm_head.weight", "missing", "score.weight", "classifier"});
}

TEST_F(Checkpoint, AMisshapenTensorIsNamedWithBothShapes) {
  find(tensors_, "model.layers.0.self_attn.k_proj.weight").shape = {8, 4};
  expect_error([&] { open(); }, {"model.safetensors", "k_proj", "[8, 4]", "[4, 8]"});
  tensors_ = tiny_llama_tensors();
  find(tensors_, "model.norm.weight").shape = {1, 8};
  EXPECT_THROW(open(), ShapeError);
}

TEST_F(Checkpoint, ExtraTensorsAreRefusedButRotaryFrequenciesAreNot) {
  tensors_.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", {1}});
  tensors_.push_back({"model.layers.7.self_attn.rotary_emb.inv_freq", {1}, "I64"});
  EXPECT_NE(open(), nullptr);
  tensors_.push_back({"model.layers.1.input_layernorm.weight", {8}});
  expect_error([&] { open(); }, {"model.layers.1.input_layernorm.weight", "config.json"});
  tensors_.back() = {"model.layers.0.self_attn.q_proj.bias", {8}};
  expect_error([&] { open(); }, {"q_proj.bias"});
}

TEST_F(Checkpoint, MixtralsExpertsAreReadByTheirNames) {
  config_ = tiny_mixtral_config();
  tensors_ = tiny_mixtral_tensors();
  const auto source = open();
  std::vector<float> up(12 * 8), down(8 * 6);
  source->read_rows({{Part::kExpertUp, 0, 2}, 12, 8}, 0, 12, DType::kF32, up.data());
  EXPECT_EQ(up[0], 21.0f);      // w1 gates
  EXPECT_EQ(up[6 * 8], 23.0f);  // w3
  source->read_rows({{Part::kExpertDown, 0, 1}, 8, 6}, 0, 8, DType::kF32, down.data());
  EXPECT_EQ(down[0], 12.0f);
}

TEST_F(Checkpoint, ExpertsThatAreMissingOrTooManyOrMisshapenAreNamed) {
  config_ = tiny_mixtral_config();
  const std::vector<TestTensor> whole = tensors_ = tiny_mixtral_tensors();
  for (const char* name : {"gate", "experts.0.w1", "experts.1.w2", "experts.2.w3"}) {
    const std::string tensor = std::string("model.layers.0.block_sparse_moe.") + name + ".weight";
    tensors_ = whole;
    std::erase_if(tensors_, [&](const TestTensor& other) { return other.name == tensor; });
    expect_error([&] { open(); }, {dir_.path().string(), tensor, "missing", "config.json"});
    tensors_ = whole;
    find(tensors_, tensor).shape = {5, 8};
    expect_error([&] { open(); }, {"model.safetensors", tensor, "[5, 8]", "by config.json"});
  }
  tensors_ = whole;
  config_["num_local_experts"] = 2;
  expect_error([&] { open(); }, {"model.safetensors", "gate.weight", "[3, 8]", "[2, 8]"});
  config_["num_local_experts"] = 4;
  find(tensors_, "model.layers.0.block_sparse_moe.gate.weight").shape = {4, 8};
  expect_error([&] { open(); }, {"experts.3.w1.weight", "[6, 8]", "missing"});
}

TEST_F(Checkpoint, ADtypeWeCannotReadIsNamed) {
  find(tensors_, "model.norm.weight").dtype = "I64";
  expect_error([&] { open(); }, {"model.norm.weight", "I64", "BF16"});
}

TEST_F(Checkpoint, NamesWithoutThePrefixAreTheSameModel) {
  for (TestTensor& tensor : tensors_)
    if (tensor.name.starts_with("model.")) tensor.name = tensor.name.substr(6);
  EXPECT_NE(open(), nullptr);
  tensors_.back().name = "head.weight";
  expect_error([&] { open(); }, {"lm_head.weight", "missing"});
}

TEST_F(Checkpoint, ADecoderSavedWithoutItsHeadAndThePrefixHasNoHead) {
  const auto adapted = [&] {
    dir_.write("model.safetensors", safetensors_of(tensors_));
    ModelConfig config = parse_config(config_, "config.json");
    adapt_to_checkpoint(dir_.path(), config);
    return config;
  };
  tensors_.pop_back();
  EXPECT_TRUE(adapted().has_head) << "with the prefix, the head is missing";
  for (TestTensor& tensor : tensors_) tensor.name = tensor.name.substr(6);
  EXPECT_FALSE(adapted().has_head);
  EXPECT_NE(open_checkpoint(dir_.path(), adapted()), nullptr);
  config_["tie_word_embeddings"] = true;
  EXPECT_TRUE(adapted().has_head);
  config_["tie_word_embeddings"] = false;
  tensors_.push_back({"lm_head.weight", {10, 8}});
  EXPECT_TRUE(adapted().has_head);
}

TEST_F(Checkpoint, ATiedHeadMayBeAbsentOrEqualOnly) {
  config_["tie_word_embeddings"] = true;
  expect_error([&] { open(); }, {"lm_head.weight", "tie_word_embeddings"});
  tensors_.back().first = 0.5f;  // equal to the embedding's first value
  EXPECT_NE(open(), nullptr);
  tensors_.back().dtype = "BF16";
  expect_error([&] { open(); }, {"lm_head.weight", "BF16, not F32", "tie_word_embeddings"});
  tensors_.pop_back();
  EXPECT_NE(open(), nullptr);
}

// A tied tensor has two names. safetensors' save_model() keeps only the first of them.
TEST_F(Checkpoint, ATiedEmbeddingMayHaveTheHeadsName) {
  tensors_.erase(tensors_.begin());  // the embedding
  expect_error([&] { open(); }, {"model.embed_tokens.weight", "missing"});
  config_["tie_word_embeddings"] = true;
  std::vector<float> row(8);
  open()->read_rows(kEmbedding, 0, 1, DType::kF32, row.data());
  EXPECT_EQ(row.front(), -3.0f);
  tensors_.pop_back();
  expect_error([&] { open(); }, {"model.embed_tokens.weight", "missing"});
}

TEST_F(Checkpoint, AnEmptyFolderSaysWhatIsNeeded) {
  expect_error([&] { open_checkpoint(dir_.path(), parse_config(config_, "c")); },
               {dir_.path().string(), "model.safetensors.index.json"});
  expect_error([&] { open_checkpoint(dir_.path() / "no", parse_config(config_, "c")); },
               {"not a folder"});
}

TEST_F(Checkpoint, WeightsInPyTorchsOwnFormatAreRefusedWithTheRemedy) {
  const TempDir dir;
  dir.write("pytorch_model-00001-of-00002.bin", "x");
  expect_error([&] { open_checkpoint(dir.path(), parse_config(config_, "c")); },
               {"pytorch_model-00001-of-00002.bin", "runs code", "safe_serialization=True"});
}

TEST_F(Checkpoint, ShardsAreOneModel) {
  const auto source = open_index(write_shards(4));
  std::vector<float> values(16 * 8);
  source->read_rows({{Part::kQkv, 0}, 16, 8}, 0, 16, DType::kF32, values.data());
  EXPECT_EQ(values[0], 0.5f);
  EXPECT_EQ(values[12 * 8], 0.5f);  // v begins in the second shard
}

TEST_F(Checkpoint, AnIndexMustAgreeWithItsShards) {
  const Json index = write_shards(4);
  Json wrong = index;
  wrong["weight_map"]["lm_head.weight"] = "s1.safetensors";
  expect_error([&] { open_index(wrong); }, {"index.json", "lm_head.weight", "s1.safetensors"});
  wrong = index;
  wrong["weight_map"].erase("lm_head.weight");
  expect_error([&] { open_index(wrong); },
               {"lm_head.weight", "s2.safetensors", "not in the index"});
  wrong = index;
  wrong["weight_map"]["lm_head.weight"] = "s3.safetensors";
  expect_error([&] { open_index(wrong); }, {"s3.safetensors", "not in the folder"});
  wrong["weight_map"]["lm_head.weight"] = 3;
  expect_error([&] { open_index(wrong); }, {"lm_head.weight", "name of a shard"});
  wrong["weight_map"] = {1, 2};
  expect_error([&] { open_index(wrong); }, {"index.json", "weight_map"});
  expect_error([&] { open_index(Json::object()); }, {"index.json", "weight_map"});
  dir_.write("model.safetensors.index.json", "{");
  expect_error([&] { open_checkpoint(dir_.path(), parse_config(config_, "c")); },
               {"not valid JSON"});
}

TEST_F(Checkpoint, AnIndexCannotLeaveItsFolder) {
  const TempDir elsewhere;
  elsewhere.write("x.safetensors", safetensors_of(tensors_));
  const std::string outside = elsewhere.path().filename().string() + "/x.safetensors";
  const Json index = write_shards(4);
  for (const std::string& name :
       {"../" + outside, (elsewhere.path() / "x.safetensors").string(),
        std::string("..\\x.safetensors"), std::string("./s1.safetensors"), std::string(".."),
        std::string(), std::string("s1.safetensors\0.safetensors", 27),
        std::string("config.json")}) {
    Json wrong = index;
    wrong["weight_map"]["lm_head.weight"] = name;
    expect_error([&] { open_index(wrong); }, {"index.json", "shard", "same folder"});
  }
}

TEST_F(Checkpoint, OneTensorInTwoShardsIsAnError) {
  const Json index = write_shards(4);
  std::vector<TestTensor> again(tensors_.begin() + 3, tensors_.end());
  dir_.write("s2.safetensors", safetensors_of(again));
  expect_error([&] { open_index(index); }, {"k_proj", "s1.safetensors", "s2.safetensors"});
}

// transformers' MPT ignores no_bias and expansion_ratio but saves them; the trainer's MPT uses
// them.
TEST(MptCheckpoint, TheFilesDecideOnBiasesAndTheMlpsWidth) {
  const TempDir dir;
  const Json json =
      Json::parse(R"({"model_type": "mpt", "vocab_size": 10, "d_model": 8, "n_heads": 2,
    "n_layers": 1, "no_bias": false, "expansion_ratio": 2})");
  std::vector<TestTensor> tensors = {{"transformer.wte.weight", {10, 8}},
                                     {"transformer.blocks.0.norm_1.weight", {8}},
                                     {"transformer.blocks.0.attn.Wqkv.weight", {24, 8}},
                                     {"transformer.blocks.0.attn.out_proj.weight", {8, 8}},
                                     {"transformer.blocks.0.norm_2.weight", {8}},
                                     {"transformer.blocks.0.ffn.up_proj.weight", {32, 8}},
                                     {"transformer.blocks.0.ffn.down_proj.weight", {8, 32}},
                                     {"transformer.norm_f.weight", {8}}};
  dir.write("model.safetensors", safetensors_of(tensors));
  ModelConfig config = parse_config(json, "config.json");
  adapt_to_checkpoint(dir.path(), config);
  EXPECT_EQ(config.intermediate, 32);
  EXPECT_FALSE(config.norm_bias || config.qkv_bias || config.attention_out_bias || config.mlp_bias);
  EXPECT_NE(open_checkpoint(dir.path(), config), nullptr);

  tensors[5].shape = {16, 8};
  tensors.push_back({"transformer.blocks.0.norm_1.bias", {8}});
  dir.write("model.safetensors", safetensors_of(tensors));
  config = parse_config(json, "config.json");
  adapt_to_checkpoint(dir.path(), config);
  EXPECT_EQ(config.intermediate, 16);
  EXPECT_TRUE(config.mlp_bias);
}

// With position_biased_input off, the model does not read the table that some files still have.
TEST(DebertaCheckpoint, APositionTableThatIsNotUsedIsIgnored) {
  ModelConfig config;
  config.family = Family::kDeberta;
  for (const char* prefix : {"", "deberta."}) {
    const std::string name = prefix + std::string("embeddings.position_embeddings.weight");
    config.position = PositionScheme::kNone;
    EXPECT_TRUE(is_ignorable(config, name)) << name;
    config.position = PositionScheme::kLearned;
    EXPECT_FALSE(is_ignorable(config, name)) << name;
  }
}

}  // namespace
}  // namespace reprise::model
