// Encodes the lines of `reprise embed`: reads texts, writes vectors, in batches that follow the
// input.
//
// A vector is written as a JSON array and a line feed; every number reads back as the same f32. A
// batch ends when it fills a step of the model or no more input is waiting, so that a client that
// sends one line gets its answer.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string_view>

#include "core/sentence/embedder.h"

namespace reprise::app {

struct EmbedCount {
  int64_t texts = 0, tokens = 0;
  int64_t cut = 0;             // texts that were truncated to the model's length
  int64_t first_cut_line = 0;  // line of the first truncated text, from 1; 0: none
};

// Reads one text a line until the end of `in`: plain text, or with `is_json` a JSON string or an
// object with the text under "text". Calls `write` for each line in order, and `flush` after each
// batch. Throws Error naming the line of a text that has no vector, after the lines before it are
// written.
EmbedCount embed_lines(sentence::Embedder& embedder, bool is_json, std::istream& in,
                       const std::function<void(std::string_view line)>& write,
                       const std::function<void()>& flush);

}  // namespace reprise::app
