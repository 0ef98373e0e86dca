#include "core/tokenizer/word_piece.h"

#include <algorithm>

#include "core/base/utf8_byte.h"
#include "core/tokenizer/utf8.h"

namespace reprise::tokenizer {

WordPiece::WordPiece(const JsonPlace& place) : vocabulary_(place.child("vocab")) {
  JsonObject object = place.object();
  object.allow({"type", "vocab"});
  prefix_ = object.string("continuing_subword_prefix", "##");
  max_characters_ = object.integer("max_input_chars_per_word", 100);
  const std::string unknown = object.string("unk_token", "[UNK]");
  const auto id = vocabulary_.find(unknown);
  if (!id) raise("{}: the unknown token \"{}\" is not in the vocabulary", place.where(), unknown);
  unknown_id_ = *id;
  object.reject_unknown();
}

void WordPiece::tokenize(std::string_view piece, ModelWorkspace& workspace,
                         std::vector<int32_t>& ids) const {
  const size_t first = ids.size();
  const auto give_up = [&] {
    ids.resize(first);
    ids.push_back(unknown_id_);
  };
  if (static_cast<int64_t>(utf8_length(piece)) > max_characters_) return give_up();
  std::string& candidate = workspace.text;
  for (size_t start = 0; start < piece.size();) {
    candidate = start == 0 ? "" : prefix_;
    const size_t marked = candidate.size();
    // No token is longer than this, so longer candidates need not be tried.
    size_t end = std::min(piece.size(), start + vocabulary_.longest_bytes());
    while (end < piece.size() && end > start && continues_character(piece[end])) --end;
    candidate += piece.substr(start, end - start);
    while (end > start) {
      if (const auto id = vocabulary_.find(candidate)) {
        ids.push_back(*id);
        break;
      }
      end -= utf8_before(piece, end).bytes;
      candidate.resize(marked + end - start);
    }
    if (end == start) return give_up();
    start = end;
  }
}

}  // namespace reprise::tokenizer
