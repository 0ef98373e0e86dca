// The tokenizer of a SentencePiece model (tokenizer.model), which Llama 1 and 2, Mistral, Gemma and
// T5 use.
#pragma once

#include <memory>
#include <string>

#include "core/tokenizer/sentence_piece_model.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/tokenizer_config.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace reprise::tokenizer {

// Encodes with the SentencePiece library and decodes with this project's streaming decoder. A test
// checks that the library decodes to the same text. If skip_special is off, control pieces such as
// </s> decode to their text. "</s>" in a text to encode is plain text. As in Hugging Face's Llama,
// BOS is added if the model has one, and EOS is not; add_bos_token and add_eos_token of
// tokenizer_config.json override this. Its legacy and add_prefix_space decide which texts get a
// space mark in front.
class SentencePieceTokenizer final : public Tokenizer {
 public:
  SentencePieceTokenizer(const std::string& bytes, const std::string& source,
                         const TokenizerConfig& config = {});
  ~SentencePieceTokenizer() override;

  [[nodiscard]] std::vector<int32_t> encode(std::string_view text,
                                            EncodeOptions options = {}) const override;
  [[nodiscard]] std::unique_ptr<StreamDecoder> stream(DecodeOptions options = {}) const override;
  [[nodiscard]] std::string token_text(int32_t id) const override;
  [[nodiscard]] std::optional<int32_t> token_id(std::string_view text) const override;
  [[nodiscard]] int32_t vocab_size() const override;

 private:
  class Stream;
  std::string source_;
  SentencePieceModel model_;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
  // Puts no space mark before a text; null if all texts are encoded alike.
  std::unique_ptr<sentencepiece::SentencePieceProcessor> unmarked_;
  std::optional<int32_t> first_id_, last_id_;  // special tokens put around a text
};

}  // namespace reprise::tokenizer
