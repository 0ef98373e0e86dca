// WordPiece, BERT's model: it takes the longest token with which the word starts, then repeatedly
// the longest token with which the rest of the word starts.
#pragma once

#include "core/tokenizer/model.h"

namespace reprise::tokenizer {

// A word becomes one unknown token if tokens cannot cover it or if it has more than
// max_input_chars_per_word characters.
class WordPiece final : public Model {
 public:
  explicit WordPiece(const JsonPlace& place);
  void tokenize(std::string_view piece, ModelWorkspace& workspace,
                std::vector<int32_t>& ids) const override;
  [[nodiscard]] const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  Vocabulary vocabulary_;
  std::string prefix_;
  int32_t unknown_id_ = 0;
  int64_t max_characters_ = 100;
};

}  // namespace reprise::tokenizer
