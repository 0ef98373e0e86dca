// Cuts items that are too long for a model in the middle, as LongBench's or as Prompt Cache's
// program does.
#pragma once

#include <cstdint>

#include "core/tokenizer/tokenizer.h"
#include "workloads/questions/item.h"

namespace reprise::workloads::questions {

enum class Truncation : uint8_t {
  // LongBench: a prompt of more than `most_tokens` tokens (special tokens count, the cue does not)
  // keeps its first and its last most_tokens / 2 tokens. Documents in the middle are lost or cut.
  kOfficial,
  // Prompt Cache's released code (its table 1): preamble and documents are joined to one text. Its
  // first and its last most_tokens / 2 tokens become the only document. A text that is short
  // enough is cut in this way, too, so parts of it are repeated (see middle_cut_as_coded()).
  kAsCoded
};
inline constexpr const char* kTruncationNames[] = {"official", "as_coded"};

// Cuts `item` and returns whether anything changed; most_tokens >= 2 (CHECK). The result is the
// text that LongBench's or Prompt Cache's program makes. If its parts are tokenized one by one, it
// may have a few tokens more or less. Throws Error naming the item if nothing of the documents or
// the question would remain, and as middle_cut_parts() does.
bool cut_middle(Item& item, const Tokenizer& tokenizer, int64_t most_tokens, Truncation truncation);

}  // namespace reprise::workloads::questions
