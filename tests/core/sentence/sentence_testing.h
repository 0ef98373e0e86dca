// The files of a sentence-transformers folder: a BERT that runs in microseconds, and its tokenizer.
#pragma once

#include <filesystem>
#include <string>

#include "tests/core/model/checkpoint/model_files.h"
#include "tests/core/tokenizer/tokenizer_testing.h"
#include "tests/support/json.h"

namespace reprise::sentence {

// Writes modules.json and the files that it names: mean pooling, normalized, at most 12 tokens.
inline void write_sentence_files(const model::TempDir& dir) {
  dir.write("modules.json", R"([
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Normalize",
     "type": "sentence_transformers.models.Normalize"}])");
  std::filesystem::create_directories(dir.path() / "1_Pooling");
  dir.write("1_Pooling/config.json", R"({"word_embedding_dimension": 32,
    "pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true,
    "pooling_mode_max_tokens": false, "pooling_mode_mean_sqrt_len_tokens": false})");
  dir.write("sentence_bert_config.json", R"({"max_seq_length": 12, "do_lower_case": false})");
  dir.write("config_sentence_transformers.json",
            R"({"__version__": {"pytorch": "1"}, "prompts": {}, "default_prompt_name": null})");
}

// Writes config.json of a BERT with 24 positions. Weights are random.
inline void write_bert_config(const model::TempDir& dir) {
  dir.write("config.json", R"({"model_type": "bert", "vocab_size": 20, "hidden_size": 32,
    "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
    "max_position_embeddings": 24, "type_vocab_size": 2, "torch_dtype": "float32"})");
}

// A lower-casing tokenizer: [CLS] is 2, [SEP] is 3, words a to h begin at 4, and ##a to ##h at 12.
inline std::string bert_tokenizer_json() {
  Json json = tokenizer::bert_json();
  Json& vocab = json["model"]["vocab"];
  vocab = {{"[PAD]", 0}, {"[UNK]", 1}, {"[CLS]", 2}, {"[SEP]", 3}};
  for (int i = 0; i < 8; ++i) {
    const std::string letter(1, static_cast<char>('a' + i));
    vocab[letter] = 4 + i;
    vocab["##" + letter] = 12 + i;
  }
  return json.dump();
}

inline void write_sentence_model(const model::TempDir& dir) {
  write_sentence_files(dir);
  write_bert_config(dir);
  dir.write("tokenizer.json", bert_tokenizer_json());
}

}  // namespace reprise::sentence
