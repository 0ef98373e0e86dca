#include "workloads/serving/mooncake.h"

#include <algorithm>

#include "core/base/error.h"
#include "workloads/json_lines.h"
#include "workloads/serving/draws.h"
#include "workloads/serving/recorded_lengths.h"

namespace reprise::workloads::serving {
namespace {

constexpr int64_t kBlockTokens = 512;

class Mooncake final : public Entries {
 public:
  explicit Mooncake(const SourceOptions& options)
      : divisor_(options.length_divisor),
        block_tokens_(divided(kBlockTokens, options.length_divisor)),
        times_(options) {}

  void read(JsonObject& line) {
    const auto time_s = static_cast<double>(line.integer_in("timestamp", 0, INT64_MAX)) * 1e-3;
    const int64_t prompt = line.integer_in("input_length", 0, kMostTokens);
    const int64_t output = line.integer_in("output_length", 0, kMostTokens);
    const std::vector<int64_t> ids = line.integers("hash_ids");
    require_blocks(line, prompt, ids);
    times_.next(time_s, Place{line});
    if (prompt == 0 || output == 0) {
      ++left_out_.by_rule;
      return;
    }
    for (const int64_t id : ids) ids_.push_back(static_cast<int32_t>(id));
    first_id_.push_back(std::ssize(ids_));
    const int64_t last_block = prompt - (std::ssize(ids) - 1) * kBlockTokens;
    last_tokens_.push_back(
        static_cast<int32_t>(std::min(block_tokens_, divided(last_block, divisor_))));
    output_tokens_.push_back(static_cast<int32_t>(divided(output, divisor_)));
    times_s_.push_back(time_s);
  }

  void finish() {
    for (double& time_s : times_s_) time_s -= times_.start_s();
    if (size() < 2) return;
    declared_blocks_ = full_blocks(0);
    for (int64_t entry = 1; entry < size(); ++entry) {
      int64_t same = 0;
      while (same < std::min(declared_blocks_, full_blocks(entry)) &&
             id(entry, same) == id(0, same))
        ++same;
      declared_blocks_ = same;
    }
  }

  [[nodiscard]] int64_t size() const override { return std::ssize(times_s_); }
  [[nodiscard]] RequestSource::Lengths lengths(int64_t entry) const override {
    const auto i = static_cast<size_t>(entry);
    const int64_t blocks = first_id_[i + 1] - first_id_[i];
    return {.prompt = (blocks - 1) * block_tokens_ + last_tokens_[i], .output = output_tokens_[i]};
  }
  void add_parts(int64_t entry, std::vector<PromptPart>& out) const override {
    const auto i = static_cast<size_t>(entry);
    for (int64_t at = first_id_[i]; at < first_id_[i + 1]; ++at)
      out.push_back({.item = ids_[static_cast<size_t>(at)], .tokens = block_tokens_});
    out.back().tokens = last_tokens_[i];
  }
  [[nodiscard]] std::vector<Prefix> prefixes() const override {
    if (declared_blocks_ == 0) return {};
    Prefix prefix{.name = "system"};
    for (int64_t block = 0; block < declared_blocks_; ++block)
      prefix.parts.push_back({.item = id(0, block), .tokens = block_tokens_});
    return {prefix};
  }
  [[nodiscard]] int32_t prefix(int64_t /*entry*/) const override {
    return declared_blocks_ > 0 ? 0 : -1;
  }
  [[nodiscard]] std::span<const double> times_s() const override { return times_s_; }
  [[nodiscard]] RequestSource::Dropped left_out() const override { return left_out_; }

 private:
  // A line's place, for messages.
  struct Place {
    const JsonObject& line;
    [[nodiscard]] std::string where() const { return line.where("timestamp"); }
  };

  static void require_blocks(const JsonObject& line, int64_t prompt,
                             const std::vector<int64_t>& ids) {
    const int64_t blocks = (prompt + kBlockTokens - 1) / kBlockTokens;
    if (std::ssize(ids) != blocks)
      raise("{} has {} ids; input_length {} is {} blocks of {} tokens", line.where("hash_ids"),
            ids.size(), prompt, blocks, kBlockTokens);
    for (const int64_t id : ids)
      if (id < 0 || id > INT32_MAX)
        raise("{} holds {}, an id must be from 0 to {}", line.where("hash_ids"), id, INT32_MAX);
  }

  [[nodiscard]] int32_t id(int64_t entry, int64_t block) const {
    return ids_[static_cast<size_t>(first_id_[static_cast<size_t>(entry)] + block)];
  }
  // Number of blocks, without the last one if it is shorter.
  [[nodiscard]] int64_t full_blocks(int64_t entry) const {
    return lengths(entry).prompt / block_tokens_;
  }

  double divisor_;
  int64_t block_tokens_;
  RecordedTimes times_;
  int64_t declared_blocks_ = 0;
  std::vector<int32_t> ids_;             // block ids of all requests, one after another
  std::vector<int64_t> first_id_ = {0};  // [requests + 1]  in ids_
  std::vector<int32_t> last_tokens_, output_tokens_;  // [requests]  divided
  std::vector<double> times_s_;                       // [requests]
  RequestSource::Dropped left_out_;
};

}  // namespace

SourceInfo mooncake_info() {
  return {.name = "mooncake",
          .summary = "Mooncake's traces: times, lengths and which blocks of prompts are the same",
          .file = FileUse::kNeeded,
          .fields = {"requests", "window_start_s", "window_s", "unsorted_times", "length_divisor",
                     "most_prompt_tokens", "most_output_tokens", "too_long"},
          .is_timed = true};
}

std::unique_ptr<Entries> make_mooncake(const SourceOptions& options) {
  if (options.length_divisor > static_cast<double>(kBlockTokens))
    raise("source \"mooncake\": length_divisor is {}, at most {} leaves a block a token",
          options.length_divisor, kBlockTokens);
  auto entries = std::make_unique<Mooncake>(options);
  for_each_line(options.file, [&](JsonObject& line) { entries->read(line); });
  entries->finish();
  return entries;
}

}  // namespace reprise::workloads::serving
