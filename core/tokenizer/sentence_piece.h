// The tokenizer of a SentencePiece model (tokenizer.model): Llama 1 and 2, Mistral, Gemma, T5's
// form.
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

// Encoding is the library's; decoding is ours, so that it can stream, and equals the library's
// (a test compares them). With skip_special off, control pieces such as </s> show as their text.
// "</s>" written in a text is text. BOS is added as Hugging Face's Llama does (if the model has
// one, EOS is not), unless tokenizer_config.json has add_bos_token or add_eos_token. Llama-like
// models keep runs of spaces, see SentencePieceModel::drops_spaces_by_default.
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
  std::optional<int32_t> first_id_, last_id_;  // put around a text
};

}  // namespace reprise::tokenizer
