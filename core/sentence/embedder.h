// Turns texts into sentence vectors. Combines a tokenizer, a model and a pooling.
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
  // false: the model's pooling skips a prompt's tokens. This is not supported, so no prompt may be
  // set.
  bool takes_prompt = true;
};

// Returns the settings for a model's folder. A sentence-transformers folder states its settings;
// white space around texts is removed, as in sentence-transformers up to 5.3 (5.4 keeps it). For
// other folders, the vector is the mean of an encoder's states or the last state of a decoder, not
// normalized. A text has at most as many tokens as the model has positions. `config` is that of the
// folder's model. Throws Error as read_sentence_folder() does.
EmbedSettings settings_of(const std::string& folder, const model::ModelConfig& config);

// Returns the folder of the model itself: `folder`, or the subfolder that its modules.json names.
std::string model_folder_of(const std::string& folder);

class Embedder final : public TextReader {
 public:
  // Model and tokenizer must outlive this object. Throws Error if a prompt is set and takes_prompt
  // is false.
  Embedder(model::Decoder& model, const Tokenizer& tokenizer, EmbedSettings settings);

  [[nodiscard]] const EmbedSettings& settings() const { return settings_; }
  // Number of values in a vector.
  [[nodiscard]] int64_t width() const override { return settings_.pooling.width(config().hidden); }

 private:
  void read_step(std::span<const model::EncoderText> texts, model::LayerPolicy* policy,
                 std::span<float> out) override;

  EmbedSettings settings_;
  std::vector<float> states_;
};

}  // namespace reprise::sentence
