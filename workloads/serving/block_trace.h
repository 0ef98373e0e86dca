// Traces that hold an id for each block of a prompt; equal ids mean equal blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/json.h"
#include "workloads/serving/block_prompts.h"
#include "workloads/serving/entries.h"
#include "workloads/serving/recorded_lengths.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

struct BlockFormat {
  const char* source;        // name of the request source, for messages
  int64_t block_tokens = 0;  // tokens of a block in the file
};

class BlockTrace final : public Entries {
 public:
  // See BlockPrompts for the option length_divisor.
  BlockTrace(const BlockFormat& format, const SourceOptions& options);

  // Adds the request of a line: reads input_length, output_length and hash_ids; the caller has read
  // `time_s`. `session` is the request's conversation; -1: a conversation of its own. Leaves out
  // and counts requests of length 0. Throws Error with the line if lengths and ids do not fit
  // together, or if the time is earlier than that of the line before (unless unsorted_times is
  // "sort").
  void read(JsonObject& line, double time_s, int64_t session = -1);
  // Replaces the conversation of each request by name(conversation).
  void rename_sessions(const std::function<int64_t(int64_t)>& name);
  // Ends reading. The blocks with which all requests begin become a declared prefix.
  void finish();

  [[nodiscard]] int64_t size() const override { return std::ssize(times_s_); }
  [[nodiscard]] RequestSource::Lengths lengths(int64_t entry) const override {
    return prompts_.lengths(entry);
  }
  void add_parts(int64_t entry, std::vector<PromptPart>& out) const override {
    prompts_.add_parts(entry, out);
  }
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
  // The ids of a line's blocks. Throws Error if their number does not fit a prompt of `prompt`
  // tokens, and for an id below 0.
  [[nodiscard]] std::vector<int64_t> ids_of(JsonObject& line, int64_t prompt) const;

  BlockFormat format_;
  BlockPrompts prompts_;
  RecordedTimes times_;
  int64_t declared_blocks_ = 0;
  std::vector<int64_t> sessions_;  // [requests]
  std::vector<double> times_s_;    // [requests]
  RequestSource::Dropped left_out_;
};

// Reads a file of JSON Lines into a trace. `read_line` reads the fields that only this format has,
// and calls BlockTrace::read(). Throws Error if length_divisor is above the format's block_tokens.
std::unique_ptr<BlockTrace> read_block_trace(
    const BlockFormat& format, const SourceOptions& options,
    const std::function<void(JsonObject& line, BlockTrace& trace)>& read_line);

}  // namespace reprise::workloads::serving
