// Prompts that are too long for a model, cut in the middle: their beginning and their end carry the
// instructions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tokenizer/tokenizer.h"

namespace reprise::workloads::longbench {

// LongBench: what is longer than `most_tokens` becomes its first and its last most_tokens / 2
// tokens, an odd one being lost; the rest stays as it is. most_tokens >= 2.
std::vector<int32_t> middle_cut(std::span<const int32_t> ids, int64_t most_tokens);

// Prompt Cache's program: the first floor(most_tokens / 2) tokens and the last ceil(most_tokens /
// 2) of *every* text, so that one that fits is repeated, wholly or in part: 3 tokens cut to 4
// become [0 1 1 2], cut to 6 or more [0 1 2 0 1 2]. most_tokens >= 2.
std::vector<int32_t> middle_cut_as_coded(std::span<const int32_t> ids, int64_t most_tokens);

// middle_cut() of the documents' concatenation, kept apart: tokens are taken out of the middle, and
// documents of which none is left are dropped.
std::vector<std::vector<int32_t>> middle_cut_documents(
    std::span<const std::vector<int32_t>> documents, int64_t most_tokens);

// The official program's way with a prompt's text: a text of more than `most_tokens`, special
// tokens included, becomes the decoded first half and the decoded last half without them.
// Throws Error as Tokenizer::encode().
std::string middle_cut_text(const Tokenizer& tokenizer, std::string_view text, int64_t most_tokens);

// The parts whose concatenation middle_cut_text() cuts, as it cuts them: together they are its
// result, and those of a text that fits stay as they are. The first and the last keep their places,
// empty or not; of those between, what nothing is left of is dropped. Where a token ends inside a
// character, its replacement U+FFFD belongs to the part that the character is in. Throws Error
// where the tokenizer's text is another one (one that normalizes), so that it could not be told
// which part a token is of.
std::vector<std::string> middle_cut_parts(const Tokenizer& tokenizer,
                                          std::span<const std::string> parts, int64_t most_tokens);

}  // namespace reprise::workloads::longbench
