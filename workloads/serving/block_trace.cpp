#include "workloads/serving/block_trace.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "core/base/error.h"
#include "workloads/json_lines.h"
#include "workloads/serving/draws.h"

namespace reprise::workloads::serving {
namespace {

// A line's place, for messages.
struct Place {
  const JsonObject& line;
  [[nodiscard]] std::string where() const { return line.where("timestamp"); }
};

}  // namespace

BlockTrace::BlockTrace(const BlockFormat& format, const SourceOptions& options)
    : format_(format),
      divisor_(options.length_divisor),
      block_tokens_(divided(format.block_tokens, options.length_divisor)),
      times_(options) {}

void BlockTrace::take_ids(JsonObject& line, int64_t prompt) {
  const std::vector<int64_t> ids = line.integers("hash_ids");
  const int64_t blocks = (prompt + format_.block_tokens - 1) / format_.block_tokens;
  if (std::ssize(ids) != blocks)
    raise("{} has {} ids; input_length {} is {} blocks of {} tokens", line.where("hash_ids"),
          ids.size(), prompt, blocks, format_.block_tokens);
  for (const int64_t id : ids) {
    if (id < 0) raise("{} holds {}, an id must be 0 or more", line.where("hash_ids"), id);
    is_wide_ = is_wide_ || id > std::numeric_limits<int32_t>::max();
    wide_ids_.push_back(id);
  }
}

void BlockTrace::read(JsonObject& line, double time_s, int64_t session) {
  const int64_t prompt = line.integer_in("input_length", 0, kMostTokens);
  const int64_t output = line.integer_in("output_length", 0, kMostTokens);
  take_ids(line, prompt);
  times_.next(time_s, Place{line});
  if (prompt == 0 || output == 0) {
    ++left_out_.by_rule;
    wide_ids_.resize(static_cast<size_t>(first_id_.back()));
    return;
  }
  const int64_t blocks = std::ssize(wide_ids_) - first_id_.back();
  first_id_.push_back(std::ssize(wide_ids_));
  const int64_t last_block = prompt - (blocks - 1) * format_.block_tokens;
  last_tokens_.push_back(
      static_cast<int32_t>(std::min(block_tokens_, divided(last_block, divisor_))));
  output_tokens_.push_back(static_cast<int32_t>(divided(output, divisor_)));
  sessions_.push_back(session < 0 ? size() : session);
  times_s_.push_back(time_s);
}

void BlockTrace::number_anew() {
  std::unordered_map<int64_t, int64_t> numbers;
  for (int64_t& id : wide_ids_) id = numbers.try_emplace(id, std::ssize(numbers)).first->second;
  if (std::ssize(numbers) > std::numeric_limits<int32_t>::max())
    raise("{} different blocks are more than fit into 32 bits", numbers.size());
}

void BlockTrace::finish() {
  if (is_wide_) number_anew();
  ids_.assign(wide_ids_.begin(), wide_ids_.end());
  wide_ids_ = {};
  for (double& time_s : times_s_) time_s -= times_.start_s();
  if (size() < 2) return;
  declared_blocks_ = full_blocks(0);
  for (int64_t entry = 1; entry < size(); ++entry) {
    int64_t same = 0;
    while (same < std::min(declared_blocks_, full_blocks(entry)) && id(entry, same) == id(0, same))
      ++same;
    declared_blocks_ = same;
  }
}

RequestSource::Lengths BlockTrace::lengths(int64_t entry) const {
  const auto i = static_cast<size_t>(entry);
  const int64_t blocks = first_id_[i + 1] - first_id_[i];
  return {.prompt = (blocks - 1) * block_tokens_ + last_tokens_[i], .output = output_tokens_[i]};
}

void BlockTrace::add_parts(int64_t entry, std::vector<PromptPart>& out) const {
  const auto i = static_cast<size_t>(entry);
  for (int64_t at = first_id_[i]; at < first_id_[i + 1]; ++at)
    out.push_back({.item = ids_[static_cast<size_t>(at)], .tokens = block_tokens_});
  out.back().tokens = last_tokens_[i];
}

std::vector<Entries::Prefix> BlockTrace::prefixes() const {
  if (declared_blocks_ == 0) return {};
  Prefix prefix{.name = "system"};
  for (int64_t block = 0; block < declared_blocks_; ++block)
    prefix.parts.push_back({.item = id(0, block), .tokens = block_tokens_});
  return {prefix};
}

std::unique_ptr<Entries> read_block_trace(
    const BlockFormat& format, const SourceOptions& options,
    const std::function<void(JsonObject& line, BlockTrace& trace)>& read_line) {
  if (options.length_divisor > static_cast<double>(format.block_tokens))
    raise("source \"{}\": length_divisor is {}, at most {} leaves a block a token", format.source,
          options.length_divisor, format.block_tokens);
  auto trace = std::make_unique<BlockTrace>(format, options);
  for_each_line(options.file, [&](JsonObject& line) { read_line(line, *trace); });
  trace->finish();
  return trace;
}

}  // namespace reprise::workloads::serving
