// Byte-pair encoding as tokenizer.json describes it.
#pragma once

#include <array>
#include <optional>

#include "core/tokenizer/model.h"
#include "core/tokenizer/pair_table.h"

namespace reprise::tokenizer {

// Starts from characters and merges the neighbours of lowest rank, leftmost first, until no pair
// has a rank. With a heap over a linked list, n characters take O(n log n). Pieces may be long:
// with Llama 2's file, a whole prompt is one piece. A character that is not in the vocabulary
// becomes its bytes <0xHH> (byte_fallback), or the unknown token (one per character, or one per run
// with fuse_unk), or nothing.
class Bpe final : public Model {
 public:
  explicit Bpe(const JsonPlace& place);
  void tokenize(std::string_view piece, ModelWorkspace& workspace,
                std::vector<int32_t>& ids) const override;
  [[nodiscard]] const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  void read_options(const JsonPlace& place);
  void read_merges(const JsonPlace& place);
  void start_symbols(std::string_view piece, ModelWorkspace& workspace) const;
  [[nodiscard]] std::optional<int32_t> find_symbol(std::string_view character, bool is_first,
                                                   bool is_last, std::string& scratch) const;
  bool add_bytes(std::string_view symbol, ModelWorkspace& workspace) const;
  void offer(ModelWorkspace& workspace, int32_t left) const;
  void merge_all(ModelWorkspace& workspace) const;

  Vocabulary vocabulary_;
  PairTable pairs_;
  std::string prefix_;  // continuing_subword_prefix: put before every character but the first
  std::string suffix_;  // end_of_word_suffix: put after the last character
  std::optional<int32_t> unknown_id_;
  bool fuse_unknown_ = false;
  bool byte_fallback_ = false;
  // True: a piece that is itself a token becomes that token without merging its characters.
  bool ignore_merges_ = false;
  std::array<int32_t, 256> byte_ids_{};  // [byte]  id of <0xHH>, -1 if missing
  // Ids of the characters that have one or two bytes in UTF-8, by code point; -1 if missing.
  std::array<int32_t, 0x800> short_ids_{};
};

}  // namespace reprise::tokenizer
