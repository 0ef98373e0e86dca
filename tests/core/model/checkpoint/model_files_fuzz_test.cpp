// Reads thousands of damaged model files: each must be accepted or refused with an Error. Meant for
// the sanitizer builds.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "core/device/memory.h"
#include "core/model/checkpoint/safetensors.h"
#include "core/model/checkpoint/weights.h"
#include "core/model/config/config.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/json.h"

namespace reprise::model {
namespace {

constexpr uint32_t kSeed = 20240607;
constexpr int kRounds = 4000;
constexpr int64_t kMaxGrowthBytes = int64_t{512} << 20;  // of resident memory in a test

using Random = std::mt19937;

size_t below(Random& random, size_t end) {
  return std::uniform_int_distribution<size_t>(0, end - 1)(random);
}

const std::vector<std::string> kNasty = {"0",
                                         "-1",
                                         "1",
                                         "2",
                                         "7",
                                         "4294967296",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "18446744073709551615",
                                         "18446744073709551616",
                                         "1e308",
                                         "1e999",
                                         "-0.0",
                                         "0.5",
                                         "null",
                                         "true",
                                         "[]",
                                         "{}",
                                         "\"\"",
                                         "\"F64\"",
                                         "\"I64\"",
                                         "[[[[1]]]]",
                                         "\"..\"",
                                         "\"\\u0000\"",
                                         "[0,0]",
                                         "[18446744073709551615,1]",
                                         "\"default\"",
                                         "\"dynamic\"",
                                         "1e5"};

// One damage to bytes: a flip, a cut, an insertion, a repetition, or a value put over a number.
void damage(std::string& text, Random& random) {
  if (text.empty()) return;
  const size_t at = below(random, text.size());
  switch (below(random, 6)) {
    case 0:
      text[at] = static_cast<char>(below(random, 256));
      break;
    case 1:
      text.erase(at, 1 + below(random, 8));
      break;
    case 2:
      text.insert(at, kNasty[below(random, kNasty.size())]);
      break;
    case 3:
      text.insert(at, text.substr(below(random, text.size()), 1 + below(random, 40)));
      break;
    case 4:
      text.resize(at);
      break;
    default: {
      const size_t digit = text.find_first_of("0123456789", at);
      if (digit == std::string::npos) break;
      size_t end = digit;
      while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
      text.replace(digit, end - digit, kNasty[below(random, kNasty.size())]);
    }
  }
}

// Puts an odd value at a random place of the tree, or removes that place. The JSON stays valid.
void damage_tree(Json& json, Random& random) {
  Json* at = &json;
  while (at->is_structured() && !at->empty()) {
    auto child = at->begin();
    std::advance(child, static_cast<ptrdiff_t>(below(random, at->size())));
    if (child->is_structured() && !child->empty() && below(random, 4) != 0) {
      at = &*child;
      continue;
    }
    if (below(random, 8) == 0) {
      at->erase(child);
    } else {
      const std::string& value = kNasty[below(random, kNasty.size())];
      *child = Json::parse(value, nullptr, false);
      if (child->is_discarded()) *child = value;
    }
    return;
  }
}

// Runs `attempt` kRounds times. Anything but success or an Error fails the test, with the number of
// the round.
void fuzz(const std::function<void(Random&)>& attempt) {
  const int64_t before = peak_resident_bytes();
  int accepted = 0;
  for (int round = 0; round < kRounds; ++round) {
    Random random(kSeed + static_cast<uint32_t>(round));
    try {
      attempt(random);
      ++accepted;
    } catch (const Error& error) {
      EXPECT_STRNE(error.what(), "");
    } catch (const std::exception& error) {
      FAIL() << "round " << round << ", seed " << kSeed << ": " << error.what();
    }
  }
  EXPECT_LT(accepted, kRounds);
  EXPECT_LT(peak_resident_bytes() - before, kMaxGrowthBytes);
}

void read_everything(const SafetensorsFile& file) {
  for (const auto& [name, entry] : file.entries()) {
    if (!entry.dtype) continue;
    std::vector<float> values(static_cast<size_t>(entry.elements));
    file.read(entry, 0, entry.elements, DType::kF32, values.data());
  }
}

void read_everything(const WeightSource& source, const ModelConfig& config) {
  for (const TensorSpec& tensor : canonical_tensors(config)) {
    std::vector<bf16> values(static_cast<size_t>(tensor.rows * tensor.cols));
    source.read_rows(tensor, 0, tensor.rows, DType::kBF16, values.data());
    source.release(tensor);
  }
}

TEST(ModelFilesFuzz, SafetensorsBytes) {
  const TempDir dir;
  const std::string whole = safetensors_of({{"a", {3, 5}}, {"b", {4}}, {"c", {2}, "I64"}});
  fuzz([&](Random& random) {
    std::string bytes = whole;
    const size_t damages = 1 + below(random, 3);
    for (size_t i = 0; i < damages; ++i) damage(bytes, random);
    read_everything(SafetensorsFile(dir.write("f.safetensors", bytes)));
  });
}

TEST(ModelFilesFuzz, SafetensorsHeaderWithItsLengthRight) {
  const TempDir dir;
  const std::string whole = safetensors_of({{"a", {3, 5}}, {"b", {4}}, {"c", {2}, "I64"}});
  uint64_t length = 0;
  std::memcpy(&length, whole.data(), 8);
  const std::string header = whole.substr(8, length), data = whole.substr(8 + length);
  fuzz([&](Random& random) {
    std::string text = header;
    if (below(random, 2) == 0) {
      damage(text, random);
    } else {
      Json json = Json::parse(header);
      damage_tree(json, random);
      text = json.dump();
    }
    read_everything(SafetensorsFile(dir.write("f.safetensors", safetensors_bytes(text, data))));
  });
}

TEST(ModelFilesFuzz, ShardIndex) {
  const TempDir dir;
  const std::vector<TestTensor> tensors = tiny_llama_tensors();
  const ModelConfig config = parse_config(tiny_llama_config(), "config.json");
  dir.write("s1.safetensors", safetensors_of({tensors.begin(), tensors.begin() + 5}));
  dir.write("s2.safetensors", safetensors_of({tensors.begin() + 5, tensors.end()}));
  Json index;
  for (size_t i = 0; i < tensors.size(); ++i)
    index["weight_map"][tensors[i].name] = i < 5 ? "s1.safetensors" : "s2.safetensors";
  fuzz([&](Random& random) {
    std::string text = index.dump();
    if (below(random, 2) == 0) {
      damage(text, random);
    } else {
      Json json = index;
      damage_tree(json, random);
      text = json.dump();
    }
    dir.write("model.safetensors.index.json", text);
    read_everything(*open_checkpoint(dir.path(), config), config);
  });
}

TEST(ModelFilesFuzz, ConfigAgainstItsWeights) {
  const TempDir dir;
  dir.write("model.safetensors", safetensors_of(tiny_llama_tensors()));
  Json whole = tiny_llama_config();
  whole["rope_scaling"] = {{"rope_type", "llama3"},
                           {"factor", 8.0},
                           {"low_freq_factor", 1.0},
                           {"high_freq_factor", 4.0},
                           {"original_max_position_embeddings", 64}};
  fuzz([&](Random& random) {
    std::string text = whole.dump();
    if (below(random, 2) == 0) {
      damage(text, random);
    } else {
      Json json = whole;
      damage_tree(json, random);
      text = json.dump();
    }
    dir.write("config.json", text);
    const ModelConfig config = load_config(dir.path());
    EXPECT_GT(config.parameters(), 0);
    read_everything(*open_checkpoint(dir.path(), config), config);
  });
}

TEST(ModelFilesFuzz, ConfigsOfEveryFamily) {
  const std::vector<Json> seeds = {
      tiny_llama_config(),
      Json::parse(
          R"({"model_type": "mpt", "d_model": 64, "n_heads": 4, "n_layers": 2, "vocab_size": 99,
        "expansion_ratio": 4, "attn_config": {"alibi": true, "clip_qkv": 6.0, "softmax_scale": 0.2}})"),
      Json::parse(
          R"({"model_type": "falcon", "hidden_size": 64, "num_hidden_layers": 2, "n_head": 8,
        "vocab_size": 99, "num_kv_heads": 2, "new_decoder_architecture": true, "multi_query": true,
        "parallel_attn": true, "num_ln_in_parallel_attn": 2, "alibi": false, "ffn_hidden_size": 100})"),
      Json::parse(R"({"model_type": "phi", "hidden_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 2, "vocab_size": 99, "intermediate_size": 100, "hidden_act": "gelu_new",
        "partial_rotary_factor": 0.25, "eos_token_id": [1, 2]})"),
      Json::parse(R"({"model_type": "mistral", "hidden_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 8, "vocab_size": 99, "intermediate_size": 100, "sliding_window": 24,
        "rope_parameters": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e6}})")};
  fuzz([&](Random& random) {
    Json json = seeds[below(random, seeds.size())];
    const size_t damages = 1 + below(random, 3);
    for (size_t i = 0; i < damages; ++i) damage_tree(json, random);
    EXPECT_GT(parse_config(json, "config.json").parameters(), 0);
  });
}

}  // namespace
}  // namespace reprise::model
