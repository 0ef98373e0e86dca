// The tokenizer that a tokenizer.json describes: added tokens, normalizer, pre-tokenizer, model,
// decoder.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/tokenizer/added_tokens.h"
#include "core/tokenizer/decoder.h"
#include "core/tokenizer/model.h"
#include "core/tokenizer/normalizer.h"
#include "core/tokenizer/piece_cache.h"
#include "core/tokenizer/post_processor.h"
#include "core/tokenizer/pre_tokenizer.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/tokenizer_config.h"

namespace reprise::tokenizer {

class JsonTokenizer final : public Tokenizer {
 public:
  // `json` is the whole file; `source` names it in errors.
  JsonTokenizer(const Value& json, const std::string& source, const TokenizerConfig& config = {});

  [[nodiscard]] std::vector<int32_t> encode(std::string_view text,
                                            EncodeOptions options = {}) const override;
  [[nodiscard]] std::unique_ptr<StreamDecoder> stream(DecodeOptions options = {}) const override;
  [[nodiscard]] std::string token_text(int32_t id) const override;
  [[nodiscard]] std::optional<int32_t> token_id(std::string_view text) const override;
  [[nodiscard]] int32_t vocab_size() const override;

 private:
  class Stream;
  [[nodiscard]] Pieces cut(std::string_view text) const;
  void add_normalized(std::string_view text, bool is_start, Pieces& pieces) const;
  void tokenize(const Pieces& pieces, std::vector<int32_t>& ids) const;
  void read_special_ids(const TokenizerConfig& config);
  void note_ignored(const JsonPlace& root);

  std::unique_ptr<Model> model_;
  std::unique_ptr<Normalizer> normalizer_;       // null: the text is not changed
  std::unique_ptr<PreTokenizer> pre_tokenizer_;  // null: the text is not cut
  std::unique_ptr<AddedTokens> added_tokens_;
  PostProcessor post_processor_;
  Decoder decoder_;
  mutable std::mutex cache_mutex_;
  mutable PieceCache cache_;  // guarded by cache_mutex_
};

}  // namespace reprise::tokenizer
