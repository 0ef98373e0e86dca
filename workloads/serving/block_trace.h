// Traces that tell which blocks of their prompts are equal, by an id for each block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/json.h"
#include "workloads/serving/entries.h"
#include "workloads/serving/recorded_lengths.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

struct BlockFormat {
  const char* source;        // name of the request source, for messages
  int64_t block_tokens = 0;  // tokens of a block in the file
};

// Equal ids become equal tokens. Ids may be any numbers from 0 on: if one is beyond 32 bits, all
// are numbered anew in the order in which they come.
class BlockTrace final : public Entries {
 public:
  // The option length_divisor divides the blocks, too, so that sharing is kept: a prompt has whole
  // blocks of round(block_tokens / divisor) tokens and a last one of at least 1.
  BlockTrace(const BlockFormat& format, const SourceOptions& options);

  // Adds the request of a line, whose time the caller has read: input_length, output_length and
  // hash_ids. `session`: the request's conversation; -1: its own. Throws Error with the line for
  // lengths and ids that do not fit together, and for a time that goes back.
  void read(JsonObject& line, double time_s, int64_t session = -1);
  // Ends reading. The blocks with which all requests begin become a declared prefix.
  void finish();

  [[nodiscard]] int64_t size() const override { return std::ssize(times_s_); }
  [[nodiscard]] RequestSource::Lengths lengths(int64_t entry) const override;
  void add_parts(int64_t entry, std::vector<PromptPart>& out) const override;
  [[nodiscard]] std::vector<Prefix> prefixes() const override;
  [[nodiscard]] int32_t prefix(int64_t /*entry*/) const override {
    return declared_blocks_ > 0 ? 0 : -1;
  }
  [[nodiscard]] int64_t session(int64_t entry) const override {
    return sessions_[static_cast<size_t>(entry)];
  }
  [[nodiscard]] std::span<const double> times_s() const override { return times_s_; }
  [[nodiscard]] RequestSource::Dropped left_out() const override { return left_out_; }

 private:
  // Takes the ids of a line's blocks. Throws Error if they are not those of `prompt` tokens.
  void take_ids(JsonObject& line, int64_t prompt);
  void number_anew();
  [[nodiscard]] int32_t id(int64_t entry, int64_t block) const {
    return ids_[static_cast<size_t>(first_id_[static_cast<size_t>(entry)] + block)];
  }
  // Number of blocks, without the last one if it is shorter.
  [[nodiscard]] int64_t full_blocks(int64_t entry) const {
    return lengths(entry).prompt / block_tokens_;
  }

  BlockFormat format_;
  double divisor_;
  int64_t block_tokens_;  // tokens of a block after division by length_divisor
  RecordedTimes times_;
  int64_t declared_blocks_ = 0;
  std::vector<int64_t> wide_ids_;        // as read, until finish()
  bool is_wide_ = false;                 // some of them are beyond 32 bits
  std::vector<int32_t> ids_;             // block ids of all requests, one after another
  std::vector<int64_t> first_id_ = {0};  // [requests + 1]  in ids_
  std::vector<int32_t> last_tokens_, output_tokens_;  // [requests]  after division
  std::vector<int64_t> sessions_;                     // [requests]
  std::vector<double> times_s_;                       // [requests]
  RequestSource::Dropped left_out_;
};

// Reads a file of JSON Lines into a trace. `read_line` reads the fields that only this format has,
// and calls BlockTrace::read(). Throws Error for a divisor that leaves a block no token.
std::unique_ptr<Entries> read_block_trace(
    const BlockFormat& format, const SourceOptions& options,
    const std::function<void(JsonObject& line, BlockTrace& trace)>& read_line);

}  // namespace reprise::workloads::serving
