// The lines of `reprise embed`: texts in, vectors out, in batches that follow the input.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string_view>

#include "core/sentence/embedder.h"

namespace reprise::app {

struct EmbedCount {
  int64_t texts = 0, tokens = 0;
  int64_t cut = 0;             // texts that were too long
  int64_t first_cut_line = 0;  // of them, from 1
};

// Reads a text a line (with `is_json` a JSON string, or an object with the text under "text") until
// the end of `in`, and calls `write` with a line for each, in order: its vector as a JSON array,
// ending in a line feed; every number reads back as the same f32. `flush` is called behind each
// batch. A batch ends where it fills a step of the model, or no further input is waiting, so that
// whoever sends one line and waits is answered. Throws Error naming the line of a text that has no
// vector, after those before it have been written.
EmbedCount embed_lines(sentence::Embedder& embedder, bool is_json, std::istream& in,
                       const std::function<void(std::string_view line)>& write,
                       const std::function<void()>& flush);

}  // namespace reprise::app
