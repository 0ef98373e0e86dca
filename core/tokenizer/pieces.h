// The text on which the pre-tokenizers work: one buffer, and the pieces into which it is cut.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/tokenizer/regex.h"
#include "core/tokenizer/utf8.h"

namespace reprise::tokenizer {

// What happens to the matches of a split pattern.
enum class SplitBehavior : uint8_t {
  kRemoved,             // matches are dropped
  kIsolated,            // each match becomes a piece
  kMergedWithPrevious,  // a match is joined to the text before it
  kMergedWithNext,      // a match is joined to the text after it
  kContiguous,          // neighbouring matches form one piece together
};

// Bytes [begin, end) of the buffer. A piece that has an id is an added token and is never cut
// further.
struct Piece {
  size_t begin = 0, end = 0;
  int32_t id = -1;
  bool is_start = false;  // the piece begins where the input text begins
};

struct Pieces {
  std::string text;
  std::vector<Piece> list;

  [[nodiscard]] std::string_view view(const Piece& piece) const {
    return std::string_view(text).substr(piece.begin, piece.end - piece.begin);
  }
};

// Replaces `spans`, which cover a text, by the spans of the pieces. A span whose is_match is set in
// the result must be dropped.
void apply_behavior(std::vector<Span>& spans, SplitBehavior behavior);

// Cuts every piece that has no id. find(view, spans) appends spans that cover the piece `view`.
template <typename Find>
void split_pieces(Pieces& pieces, SplitBehavior behavior, Find&& find) {
  std::vector<Piece> cut;
  cut.reserve(pieces.list.size() * 2);
  std::vector<Span> spans;
  for (const Piece& piece : pieces.list) {
    if (piece.id >= 0) {
      cut.push_back(piece);
      continue;
    }
    spans.clear();
    find(pieces.view(piece), spans);
    apply_behavior(spans, behavior);
    for (const Span& span : spans)
      if (!span.is_match && span.begin < span.end)
        cut.push_back({piece.begin + span.begin, piece.begin + span.end, -1,
                       piece.is_start && span.begin == 0});
  }
  pieces.list = std::move(cut);
}

// Appends one span for each character for which is_delimiter(code) is true, and one for each run of
// other characters.
template <typename Predicate>
void find_characters(std::string_view text, std::vector<Span>& spans, Predicate&& is_delimiter) {
  size_t covered = 0;
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = utf8_at(text, at);
    const size_t next = at + c.bytes;
    if (is_delimiter(c.code)) {
      if (covered < at) spans.push_back({covered, at, false});
      spans.push_back({at, next, true});
      covered = next;
    }
    at = next;
  }
  if (covered < text.size()) spans.push_back({covered, text.size(), false});
}

// Rewrites the text of every piece that has no id. rewrite(piece, view, out) appends the new text
// to `out`.
template <typename Rewrite>
void rewrite_pieces(Pieces& pieces, Rewrite&& rewrite) {
  std::string out;
  out.reserve(pieces.text.size() + pieces.text.size() / 4 + pieces.list.size());
  for (Piece& piece : pieces.list) {
    const size_t begin = out.size();
    if (piece.id < 0) rewrite(piece, pieces.view(piece), out);
    piece.begin = begin;
    piece.end = out.size();
  }
  pieces.text = std::move(out);
}

}  // namespace reprise::tokenizer
