// What each request's prompt has in common with those before it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "workloads/serving/prompt_part.h"

namespace reprise::workloads::serving {

// Appends the parts of a request's prompt.
using AddParts = std::function<void(int64_t request, std::vector<PromptPart>& out)>;

// [requests]  the longest run of leading tokens that it has in common with any request before it;
// exact, chance included. A few comparisons a request and 40 bytes.
std::vector<int32_t> leading_tokens_of_earlier(int64_t requests, const AddParts& add_parts,
                                               const TokenStream& stream);

}  // namespace reprise::workloads::serving
