// Parses and checks token ids given as text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::app {

// Parses decimal whole numbers from 0 to 2^31 - 1, separated by one comma, by white space, or by
// both. A blank `text` gives an empty list. Throws Error for an empty entry ("1,,2"), a sign, a
// leading zero, or anything else that is not such a number. The error gives `source`, the number of
// the entry (from 1) and its text.
std::vector<int32_t> parse_token_ids(std::string_view text, const std::string& source);

// Throws Error for the first id outside [0, vocab). The error gives the id's number in the list
// (from 1) and the vocabulary size of `model`.
void require_in_vocabulary(std::span<const int32_t> ids, int64_t vocab, const std::string& model,
                           const std::string& source);

}  // namespace reprise::app
