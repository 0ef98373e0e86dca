// Requests with recorded lengths and, for some sources, recorded times, in compact columns. Their
// prompts are made up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"
#include "workloads/serving/table_file.h"

namespace reprise::workloads::serving {

class RecordedLengths final : public Entries {
 public:
  // Uses two options: `shared_tokens`, the length of a declared prefix that precedes each prompt,
  // and `length_divisor`, by which the recorded lengths are divided.
  explicit RecordedLengths(const SourceOptions& options);
  // Adds a request. A request with a length of 0 is left out and counted in left_out().
  void add(int64_t prompt_tokens, int64_t output_tokens);
  void add(int64_t prompt_tokens, int64_t output_tokens, double time_s);
  void leave_out() { ++left_out_.by_rule; }
  void leave_out_too_long() { ++left_out_.too_long; }
  // Makes times count from `start_s`.
  void begin_at(double start_s);
  // Lengths of the request that is made from these recorded lengths: they are divided, and the
  // prefix is added to the prompt.
  [[nodiscard]] RequestSource::Lengths asked(int64_t prompt_tokens, int64_t output_tokens) const;

  [[nodiscard]] int64_t size() const override { return std::ssize(prompt_tokens_); }
  [[nodiscard]] RequestSource::Lengths lengths(int64_t entry) const override;
  void add_parts(int64_t entry, std::vector<PromptPart>& out) const override;
  [[nodiscard]] std::vector<Prefix> prefixes() const override;
  [[nodiscard]] int32_t prefix(int64_t /*entry*/) const override {
    return shared_tokens_ > 0 ? 0 : -1;
  }
  [[nodiscard]] std::span<const double> times_s() const override { return times_s_; }
  [[nodiscard]] RequestSource::Dropped left_out() const override { return left_out_; }

 private:
  int64_t shared_tokens_;
  double divisor_;
  std::vector<int32_t> prompt_tokens_, output_tokens_;  // divided lengths
  std::vector<double> times_s_;
  RequestSource::Dropped left_out_;
};

// Checks that a file's times ascend, unless the options ask for sorting them.
class RecordedTimes {
 public:
  explicit RecordedTimes(const SourceOptions& options)
      : is_sorted_later_(options.unsorted_times == "sort") {}
  // Throws Error with the line if `time_s` is earlier than the time before. `line` must have
  // where().
  template <typename Line>
  void next(double time_s, const Line& line) {
    if (times_ > 0 && time_s < last_s_ && !is_sorted_later_)
      raise_goes_back(line.where(), last_s_ - time_s);
    start_s_ = times_ == 0 ? time_s : std::min(start_s_, time_s);
    last_s_ = time_s;
    ++times_;
  }
  [[nodiscard]] double start_s() const { return start_s_; }  // the earliest time

 private:
  [[noreturn]] static void raise_goes_back(const std::string& where, double by_s);

  bool is_sorted_later_;
  int64_t times_ = 0;
  double start_s_ = 0, last_s_ = 0;
};

// The columns that hold a request's two lengths.
struct LengthColumns {
  std::string prompt, output;  // heading names; "": the first and second column
};
// Calls `read` with both lengths of each line. The first line is a heading if both of its first
// fields begin with a letter or "_". Throws Error with file and line.
void for_each_length_pair(const std::filesystem::path& path, const LengthColumns& columns,
                          const std::function<void(int64_t prompt, int64_t output)>& read);

}  // namespace reprise::workloads::serving
