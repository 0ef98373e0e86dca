// What a source of requests may be told: one plain struct for all of them, and which of it each
// takes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace reprise {
class Tokenizer;
}

namespace reprise::workloads {

// 0 and "" are "not given" unless the field says otherwise. Ranges and meanings stand in
// source_fields(), once.
struct SourceOptions {
  // For every source.
  std::filesystem::path file;  // where the source has one
  int64_t vocab = 0;           // of the model: made-up tokens are from [0, vocab)
  uint64_t prompts_seed = 1;   // Seeds.prompts: what is asked
  uint64_t order_seed = 1;     // Seeds.order: in which order, where that is free
  uint64_t arrivals_seed = 1;  // Seeds.arrivals: of sources that draw their times
  // The model's tokenizer, loaded when it is first asked for, by sources that have text. Throws
  // Error where there is none.
  std::function<std::shared_ptr<const Tokenizer>()> tokenizer = {};

  // For those that list it.
  int64_t requests = 0;
  std::string order = "shuffled";
  int64_t prompt_tokens = 0, shared_tokens = 0;
  int64_t user_tokens = 0, user_tokens_most = 0;
  int64_t output_tokens = 0, output_tokens_most = 0;
  int64_t groups = 1;
  double zipf_exponent = 0;
  int64_t few_shots = 1, few_shot_tokens = 0;
  int64_t documents = 1, document_tokens = 0;
  int64_t conversations = 0;
  int64_t turns = 0, turns_most = 0;
  int64_t under_way = 0;
  std::string prompt_column, output_column;
  std::string subjects;
  int64_t shots = 5;
  double window_start_s = 0, window_s = 0;
  std::string unsorted_times = "refuse";
  double length_divisor = 1;
  int64_t most_prompt_tokens = 0, most_output_tokens = 0;
  std::string too_long = "drop";
};

// A field of the options that not every source takes.
struct SourceField {
  std::string_view name;
  std::variant<int64_t SourceOptions::*, double SourceOptions::*, std::string SourceOptions::*>
      member;
  double low = 0, high = 0;        // of numbers, both ends included
  std::vector<std::string> words;  // that a text is one of; empty: any text
  std::string_view unit;           // "" where it has none
  std::string_view help;
};

// In the order of the struct.
std::span<const SourceField> source_fields();

enum class FileUse : uint8_t { kNone, kOptional, kNeeded };

struct SourceInfo {
  std::string name;     // in experiment files and records
  std::string summary;  // one line for `reprise list`
  FileUse file = FileUse::kNone;
  std::vector<std::string_view> fields;  // those it takes
  bool is_timed = false;                 // its requests come with their times

  [[nodiscard]] bool takes(std::string_view field) const;
};

// Throws Error for a field that is out of its range, for one that was set and that the source does
// not take, with those that do, and for a file that is missing or superfluous. vocab > 0 (CHECK).
void check_options(const SourceInfo& info, const SourceOptions& options,
                   std::span<const SourceInfo> all);

// Lengths and counts of one request or file may not be above this.
inline constexpr int64_t kMostTokens = int64_t{1} << 24;
inline constexpr int64_t kMostTurns = int64_t{1} << 20;  // of a made-up conversation
inline constexpr int64_t kMostRequests = 100'000'000;

}  // namespace reprise::workloads
