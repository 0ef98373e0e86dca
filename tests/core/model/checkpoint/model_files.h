// Checkpoint folders for tests: safetensors files that are written byte by byte, valid or damaged.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "tests/support/json.h"

namespace reprise::model {

// A temporary folder that the destructor removes.
class TempDir {
 public:
  TempDir() {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("reprise_model_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directories(path_);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() { std::filesystem::remove_all(path_); }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, std::string_view bytes) const {
    // A new file each time: ext4 flushes a file that is truncated and written again, which takes 3
    // ms.
    std::filesystem::remove(path_ / name);
    std::ofstream file(path_ / name, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

struct TestTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::string dtype = "F32";
  float first = 0.5f;  // values count up from here in steps of 1/64

  [[nodiscard]] int64_t elements() const {
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    return count;
  }
};

// Header length, header and data. `pad` spaces go behind the header.
inline std::string safetensors_bytes(const std::string& header, const std::string& data,
                                     size_t pad = 0) {
  const std::string text = header + std::string(pad, ' ');
  const uint64_t length = text.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + text + data;
}

// A correct file of f32 (or, by dtype, bf16 or I64) tensors.
inline std::string safetensors_of(const std::vector<TestTensor>& tensors, size_t pad = 0) {
  Json header = Json::object();
  header["__metadata__"]["format"] = "pt";
  std::string data;
  for (const TestTensor& tensor : tensors) {
    const size_t begin = data.size();
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      const float value = tensor.first + static_cast<float>(i) / 64.0f;
      const size_t cut = tensor.dtype == "BF16" ? 2 : 0;  // the bytes that bf16 lacks come first
      data.append(reinterpret_cast<const char*>(&value) + cut, 4 - cut);
      if (tensor.dtype == "I64") data.append(4, '\0');
    }
    Json& entry = header[tensor.name];
    entry["dtype"] = tensor.dtype;
    entry["shape"] = tensor.shape;
    entry["data_offsets"] = {begin, data.size()};
  }
  return safetensors_bytes(header.dump(), data, pad);
}

// Expects that `fn` throws Error and that its text holds every one of `parts`.
template <typename Fn>
void expect_error(Fn&& fn, std::initializer_list<std::string> parts) {
  try {
    fn();
    ADD_FAILURE() << "no error; expected one about " << *parts.begin();
  } catch (const Error& error) {
    const std::string text = error.what();
    for (const std::string& part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in: " << text;
  }
}

// A Llama of one layer: hidden 8, 4 heads of 2, 2 KV heads, MLP 12, vocabulary 10.
inline Json tiny_llama_config() {
  return Json::parse(R"({"model_type": "llama", "vocab_size": 10, "hidden_size": 8,
    "intermediate_size": 12, "num_hidden_layers": 1, "num_attention_heads": 4,
    "num_key_value_heads": 2, "tie_word_embeddings": false, "bos_token_id": 1,
    "eos_token_id": 2})");
}
inline std::vector<TestTensor> tiny_llama_tensors() {
  return {{"model.embed_tokens.weight", {10, 8}},
          {"model.layers.0.input_layernorm.weight", {8}},
          {"model.layers.0.self_attn.q_proj.weight", {8, 8}},
          {"model.layers.0.self_attn.k_proj.weight", {4, 8}},
          {"model.layers.0.self_attn.v_proj.weight", {4, 8}},
          {"model.layers.0.self_attn.o_proj.weight", {8, 8}},
          {"model.layers.0.post_attention_layernorm.weight", {8}},
          {"model.layers.0.mlp.gate_proj.weight", {12, 8}},
          {"model.layers.0.mlp.up_proj.weight", {12, 8}},
          {"model.layers.0.mlp.down_proj.weight", {8, 12}},
          {"model.norm.weight", {8}},
          {"lm_head.weight", {10, 8}, "F32", -3.0f}};
}

// The tiny model's tensors as a decoder without a head is saved: their names also lack "model.".
inline std::vector<TestTensor> headless_llama_tensors() {
  std::vector<TestTensor> tensors = tiny_llama_tensors();
  tensors.pop_back();
  for (TestTensor& tensor : tensors) tensor.name = tensor.name.substr(6);  // without "model."
  return tensors;
}

// The tiny model with experts in place of its MLP: three of width 6, of which a token uses two.
inline Json tiny_mixtral_config() {
  Json config = tiny_llama_config();
  config.update({{"model_type", "mixtral"},
                 {"intermediate_size", 6},
                 {"num_local_experts", 3},
                 {"num_experts_per_tok", 2}});
  return config;
}
inline std::vector<TestTensor> tiny_mixtral_tensors() {
  std::vector<TestTensor> tensors = tiny_llama_tensors();
  std::erase_if(tensors, [](const TestTensor& tensor) {
    return tensor.name.find(".mlp.") != std::string::npos;
  });
  const std::string moe = "model.layers.0.block_sparse_moe.";
  tensors.push_back({moe + "gate.weight", {3, 8}});
  for (int e = 0; e < 3; ++e) {
    const std::string expert = moe + "experts." + std::to_string(e);
    const auto first = static_cast<float>(10 * e);
    tensors.push_back({expert + ".w1.weight", {6, 8}, "F32", first + 1.0f});
    tensors.push_back({expert + ".w2.weight", {8, 6}, "F32", first + 2.0f});
    tensors.push_back({expert + ".w3.weight", {6, 8}, "F32", first + 3.0f});
  }
  return tensors;
}

}  // namespace reprise::model
