// A folder with the config.json of a model that runs in microseconds on random weights.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace reprise::experiments {

inline void write_tiny_model(const std::filesystem::path& dir) {
  std::filesystem::create_directories(dir);
  std::ofstream(dir / "config.json") << R"({
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "vocab_size": 256, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": false,
    "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "float32"
  })";
}

}  // namespace reprise::experiments
