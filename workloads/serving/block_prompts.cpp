#include "workloads/serving/block_prompts.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "core/base/error.h"
#include "workloads/serving/draws.h"

namespace reprise::workloads::serving {

BlockPrompts::BlockPrompts(const char* source, int64_t block_tokens, double length_divisor)
    : recorded_block_tokens_(block_tokens), divisor_(length_divisor) {
  if (length_divisor > static_cast<double>(block_tokens))
    raise("source \"{}\": length_divisor is {}, at most {} leaves a block a token", source,
          length_divisor, block_tokens);
  block_tokens_ = divided(block_tokens, length_divisor);
}

int64_t BlockPrompts::blocks_of(int64_t prompt_tokens) const {
  return (prompt_tokens + recorded_block_tokens_ - 1) / recorded_block_tokens_;
}

void BlockPrompts::add(RequestSource::Lengths recorded, std::span<const int64_t> ids) {
  const int64_t blocks = blocks_of(recorded.prompt);
  REPRISE_CHECK(recorded.prompt > 0 && recorded.output > 0 && std::ssize(ids) == blocks,
                "{} and {} tokens, {} ids", recorded.prompt, recorded.output, ids.size());
  for (const int64_t id : ids) is_wide_ = is_wide_ || id > std::numeric_limits<int32_t>::max();
  wide_ids_.insert(wide_ids_.end(), ids.begin(), ids.end());
  first_id_.push_back(std::ssize(wide_ids_));
  const int64_t last_block = recorded.prompt - (blocks - 1) * recorded_block_tokens_;
  last_tokens_.push_back(
      static_cast<int32_t>(std::min(block_tokens_, divided(last_block, divisor_))));
  output_tokens_.push_back(static_cast<int32_t>(divided(recorded.output, divisor_)));
}

void BlockPrompts::number_anew() {
  std::unordered_map<int64_t, int64_t> numbers;
  for (int64_t& id : wide_ids_) id = numbers.try_emplace(id, std::ssize(numbers)).first->second;
  if (std::ssize(numbers) > std::numeric_limits<int32_t>::max())
    raise("{} different blocks are more than fit into 32 bits", numbers.size());
}

void BlockPrompts::finish() {
  if (is_wide_) number_anew();
  ids_.assign(wide_ids_.begin(), wide_ids_.end());
  wide_ids_ = {};
}

RequestSource::Lengths BlockPrompts::lengths(int64_t entry) const {
  const auto i = static_cast<size_t>(entry);
  const int64_t blocks = first_id_[i + 1] - first_id_[i];
  return {.prompt = (blocks - 1) * block_tokens_ + last_tokens_[i], .output = output_tokens_[i]};
}

void BlockPrompts::add_parts(int64_t entry, std::vector<PromptPart>& out) const {
  const auto i = static_cast<size_t>(entry);
  for (int64_t at = first_id_[i]; at < first_id_[i + 1]; ++at)
    out.push_back({.item = ids_[static_cast<size_t>(at)], .tokens = block_tokens_});
  out.back().tokens = last_tokens_[i];
}

std::vector<PromptPart> BlockPrompts::first_blocks(int64_t entry, int64_t count) const {
  std::vector<PromptPart> parts;
  for (int64_t block = 0; block < count; ++block)
    parts.push_back({.item = id(entry, block), .tokens = block_tokens_});
  return parts;
}

int64_t BlockPrompts::common_blocks() const {
  if (size() < 2) return 0;
  int64_t common = full_blocks(0);
  for (int64_t entry = 1; entry < size(); ++entry) {
    int64_t same = 0;
    while (same < std::min(common, full_blocks(entry)) && id(entry, same) == id(0, same)) ++same;
    common = same;
  }
  return common;
}

void require_block_ids(const std::string& where, std::span<const int64_t> ids) {
  for (const int64_t id : ids)
    if (id < 0) raise("{} holds {}, an id must be 0 or more", where, id);
}

}  // namespace reprise::workloads::serving
