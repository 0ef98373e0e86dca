// Cuts prompts that are too long for a model in the middle, since their beginning and end carry the
// instructions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tokenizer/tokenizer.h"

namespace reprise::workloads::longbench {

// The cut of Prompt Cache's program: the first floor(most_tokens / 2) and the last ceil(most_tokens
// / 2) tokens of *every* text, so that a text that fits is partly or wholly repeated: 3 tokens cut
// to 4 become [0 1 1 2], cut to 6 or more [0 1 2 0 1 2]. most_tokens >= 2.
std::vector<int32_t> middle_cut_as_coded(std::span<const int32_t> ids, int64_t most_tokens);

// Cuts the text that `parts` (at least two, CHECK) make together as LongBench does, and returns
// what is left of each part. If the text has more than `most_tokens` tokens, special tokens
// included, its first and its last most_tokens / 2 (rounded down) remain, decoded without special
// tokens. The first and the last part stay even if nothing of them remains; other parts that lose
// everything are dropped. If the cut divides a run of byte tokens, the run's rest is decoded as
// U+FFFDs: in the head they belong to the part with the run's first character, in the tail to the
// part with its last. most_tokens >= 2. Throws Error as Tokenizer::encode() does, if the tokenizer
// normalizes text, or if a special token occurs in what remains of the text.
std::vector<std::string> middle_cut_parts(const Tokenizer& tokenizer,
                                          std::span<const std::string> parts, int64_t most_tokens);

}  // namespace reprise::workloads::longbench
