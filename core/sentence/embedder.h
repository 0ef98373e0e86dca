// Turns texts into sentence vectors, with a tokenizer, a model and a pooling that belong together.
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
  bool takes_prompt = true;  // false: pooling would have to skip a prompt's tokens
};

// Settings for a model's folder. A sentence-transformers folder states them; white space around
// texts is removed. For other folders, the vector is the mean of an encoder's states or a decoder's
// last state, not normalized. A text has at most as many tokens as the model has positions. Throws
// Error as read_sentence_folder() does; `config` is that of the folder's model.
EmbedSettings settings_of(const std::string& folder, const model::ModelConfig& config);

// Returns the folder of the model itself: `folder`, or the subfolder that its modules.json names.
std::string model_folder_of(const std::string& folder);

class Embedder final : public TextReader {
 public:
  // Model and tokenizer must outlive this object. Throws Error if a prompt is set and takes_prompt
  // is false.
  Embedder(model::Decoder& model, const Tokenizer& tokenizer, EmbedSettings settings);

  [[nodiscard]] const EmbedSettings& settings() const { return settings_; }
  // Numbers in a vector.
  [[nodiscard]] int64_t width() const override { return settings_.pooling.width(config().hidden); }

 private:
  void read_step(std::span<const model::EncoderText> texts, model::LayerPolicy* policy,
                 std::span<float> out) override;

  EmbedSettings settings_;
  std::vector<float> states_;
};

}  // namespace reprise::sentence
