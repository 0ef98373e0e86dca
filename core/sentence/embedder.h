// Texts to sentence vectors: a tokenizer, a model and a pooling that belong together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/sentence/pooling.h"
#include "core/sentence/text_reader.h"

namespace reprise::sentence {

struct EmbedSettings {
  TextForm form;
  Pooling pooling;
  bool takes_prompt = true;  // false: pooling would have to leave a prompt's tokens out
};

// What a model's folder asks for: of a sentence-transformers folder what that says, without white
// space around texts; of another one the mean of an encoder's states and a decoder's last one, not
// normalized. No text is longer than the model has positions. Throws Error as
// read_sentence_folder(); `config` is that of the folder's model.
EmbedSettings settings_of(const std::string& folder, const model::ModelConfig& config);

// Where a folder's model itself is: the folder, or one below it that its modules.json names.
std::string model_folder_of(const std::string& folder);

class Embedder final : public TextReader {
 public:
  // Model and tokenizer must outlive it. Throws Error for a prompt where the settings take none.
  Embedder(model::Decoder& model, const Tokenizer& tokenizer, EmbedSettings settings);

  [[nodiscard]] const EmbedSettings& settings() const { return settings_; }
  // Of a vector.
  [[nodiscard]] int64_t width() const override { return settings_.pooling.width(config().hidden); }

 private:
  void read_step(std::span<const model::EncoderText> texts, model::LayerPolicy* policy,
                 std::span<float> out) override;

  EmbedSettings settings_;
  std::vector<float> states_;
};

}  // namespace reprise::sentence
