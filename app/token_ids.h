// Token ids as people and other programs write them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::app {

// Whole numbers from 0 to 2^31 - 1, decimal, separated by one comma, by white space, or by both;
// none where `text` is blank. Throws Error naming `source`, the entry (from 1) and what stands
// there: an empty entry ("1,,2"), a sign, a leading zero, anything else that is no such number.
std::vector<int32_t> parse_token_ids(std::string_view text, const std::string& source);

// Throws Error for the first id outside [0, vocab), with its entry and the size of the vocabulary
// of `model`.
void require_in_vocabulary(std::span<const int32_t> ids, int64_t vocab, const std::string& model,
                           const std::string& source);

}  // namespace reprise::app
