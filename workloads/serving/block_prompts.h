// Prompts that are described by an id for each block of tokens instead of by the tokens.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "workloads/serving/prompt_part.h"
#include "workloads/serving/request_source.h"

namespace reprise::workloads::serving {

// Equal ids become equal tokens. An id is any number from 0 on. If an id does not fit into an
// int32, all ids are replaced by numbers in the order of their first occurrence.
class BlockPrompts {
 public:
  // The recorded blocks have `block_tokens` tokens. Prompts and blocks are both divided by
  // `length_divisor`, so prompts have and share as many blocks as recorded: whole blocks have
  // round(block_tokens / length_divisor) tokens, and a prompt's last block at least 1. `source`
  // names the request source in messages. Throws Error if length_divisor is above block_tokens,
  // since a block would have no token.
  BlockPrompts(const char* source, int64_t block_tokens, double length_divisor);

  // Number of blocks of a prompt, including a shorter block at its end.
  [[nodiscard]] int64_t blocks_of(int64_t prompt_tokens) const;
  // Adds a request with its recorded lengths, both above 0, and one id for each block (CHECK).
  void add(RequestSource::Lengths recorded, std::span<const int64_t> ids);
  // Ends adding; only then the functions below are valid. Throws Error for more than 2^31 - 1
  // different blocks.
  void finish();

  [[nodiscard]] int64_t size() const { return std::ssize(last_tokens_); }
  [[nodiscard]] RequestSource::Lengths lengths(int64_t entry) const;
  void add_parts(int64_t entry, std::vector<PromptPart>& out) const;
  // The first `count` blocks of a request as parts.
  [[nodiscard]] std::vector<PromptPart> first_blocks(int64_t entry, int64_t count) const;
  // Number of whole blocks with which all requests begin; 0 if there are fewer than two requests.
  [[nodiscard]] int64_t common_blocks() const;

 private:
  void number_anew();
  [[nodiscard]] int32_t id(int64_t entry, int64_t block) const {
    return ids_[static_cast<size_t>(first_id_[static_cast<size_t>(entry)] + block)];
  }
  // Number of blocks, not counting a shorter last block.
  [[nodiscard]] int64_t full_blocks(int64_t entry) const {
    return lengths(entry).prompt / block_tokens_;
  }

  int64_t recorded_block_tokens_;
  double divisor_;
  int64_t block_tokens_;                 // after division by length_divisor
  std::vector<int64_t> wide_ids_;        // as given, until finish()
  bool is_wide_ = false;                 // some of wide_ids_ are beyond 32 bits
  std::vector<int32_t> ids_;             // block ids of all requests, one after another
  std::vector<int64_t> first_id_ = {0};  // [requests + 1]  in ids_
  std::vector<int32_t> last_tokens_, output_tokens_;  // [requests]  after division
};

// Throws Error, naming the place `where`, if an id is below 0.
void require_block_ids(const std::string& where, std::span<const int64_t> ids);

}  // namespace reprise::workloads::serving
