// Trains a small SentencePiece model in memory, so that tests need no model file.
#pragma once

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <string>
#include <unordered_map>
#include <vector>

namespace reprise::tokenizer {

// Hands the trainer its sentences.
class SentenceList final : public sentencepiece::SentenceIterator {
 public:
  explicit SentenceList(std::vector<std::string> sentences) : sentences_(std::move(sentences)) {}
  [[nodiscard]] bool done() const override { return at_ >= sentences_.size(); }
  void Next() override { ++at_; }
  [[nodiscard]] const std::string& value() const override { return sentences_[at_]; }
  [[nodiscard]] sentencepiece::util::Status status() const override { return {}; }

 private:
  std::vector<std::string> sentences_;
  size_t at_ = 0;
};

// The serialized model. `type` is "bpe" or "unigram"; with rules "nmt_nfkc" it has a character map.
inline std::string train_sentence_piece(const std::string& type,
                                        const std::string& rules = "identity",
                                        bool has_byte_fallback = true,
                                        const std::string& control_symbols = "") {
  std::vector<std::string> sentences;
  for (int i = 0; i < 40; ++i)
    sentences.push_back("the quick brown fox number " + std::to_string(i * 37) +
                        " jumps over the lazy dog, again and again.");
  SentenceList iterator(std::move(sentences));
  std::unordered_map<std::string, std::string> options = {
      {"model_type", type},
      {"vocab_size", has_byte_fallback ? "330" : "70"},
      {"normalization_rule_name", rules},
      {"byte_fallback", has_byte_fallback ? "true" : "false"},
      {"hard_vocab_limit", "false"},
      {"minloglevel", "2"},
      {"num_threads", "1"},
      {"remove_extra_whitespaces", rules == "identity" ? "false" : "true"}};
  if (!control_symbols.empty()) options["control_symbols"] = control_symbols;
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(options, &iterator, &model);
  return status.ok() ? model : "";
}

}  // namespace reprise::tokenizer
