// Turns lines of text into sentence vectors, for `reprise embed`.
//
// A vector is written as a JSON array and a line feed; every number reads back as the same f32. A
// batch of lines ends when it fills a step of the model or when no more input is waiting, so that a
// client gets its answer although it sends only one line.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "app/method_embedder.h"

namespace reprise::app {

struct EmbedCount {
  int64_t texts = 0, tokens = 0;
  int64_t cut = 0;             // texts that were truncated to the model's length
  int64_t first_cut_line = 0;  // line of the first truncated text, from 1; 0: none
};

// Reads one text per line until the end of `in`, or until `stop` is set; with `is_json`, a line is
// a JSON string or an object with the text under "text". Calls `write` with the line of each
// vector, in order, and `flush` after each batch. Throws Error naming the line of a text that has
// no vector; the vectors of earlier lines have been written by then.
EmbedCount embed_lines(MethodEmbedder& embedder, bool is_json, std::istream& in,
                       const std::function<void(std::string_view line)>& write,
                       const std::function<void()>& flush, const std::atomic<bool>& stop);

// Returns the token ids of each line of `file`. Lines have the form that embed_lines() reads.
// Throws Error naming the file if it cannot be read, and also the line if it has no usable text.
std::vector<std::vector<int32_t>> token_lines(const sentence::Embedder& embedder, bool is_json,
                                              const std::string& file);

}  // namespace reprise::app
