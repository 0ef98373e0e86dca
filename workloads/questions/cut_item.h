// Items that are too long for a model, cut in the middle as LongBench's program cuts a prompt, or
// as Prompt Cache's does.
#pragma once

#include <cstdint>

#include "core/tokenizer/tokenizer.h"
#include "workloads/questions/item.h"

namespace reprise::workloads::questions {

enum class Truncation : uint8_t {
  // LongBench: of a prompt with more than `most_tokens`, what the tokenizer puts around it included
  // and the cue not, the first and the last half stay. Documents in the middle are lost or cut,
  // others are whole.
  kOfficial,
  // Prompt Cache's released code (its table 1): of the cached text, preamble and documents, the
  // first and the last half of `most_tokens` stay in one document, also where these overlap, so
  // that what fits is repeated.
  kAsCoded
};
inline constexpr const char* kTruncationNames[] = {"official", "as_coded"};

// Whether anything changed; most_tokens >= 2 (CHECK). The text that is left is what the program
// names, decoded; its parts may have a few tokens more or less. Throws Error naming the item where
// nothing of the documents or of the question would be left, and as middle_cut_parts().
bool cut_middle(Item& item, const Tokenizer& tokenizer, int64_t most_tokens, Truncation truncation);

}  // namespace reprise::workloads::questions
