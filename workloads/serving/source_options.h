// The options of request sources: one plain struct for all sources, and a list of its fields; each
// source's SourceInfo names the fields that it takes.
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

#include "workloads/serving/salt.h"

namespace reprise {
class Tokenizer;
}

namespace reprise::workloads {

// 0 and "" mean "not given" unless the field says otherwise. source_fields() has ranges and
// meanings.
struct SourceOptions {
  // Options of every source.
  std::filesystem::path file;  // if the source reads one
  int64_t vocab = 0;           // made-up tokens are in [0, vocab)
  // The experiment's Seeds::prompts: decides what is asked.
  uint64_t prompts_seed = 1;
  // The experiment's Seeds::order: decides the order, for sources whose order is free.
  uint64_t order_seed = 1;
  // The experiment's Seeds::arrivals, for sources that draw their own times.
  uint64_t arrivals_seed = 1;
  Salt salt = {};
  // Loads the model's tokenizer on first use, for sources with text. Throws Error if there is none.
  std::function<std::shared_ptr<const Tokenizer>()> tokenizer = {};

  // Options of the sources that list them.
  int64_t requests = 0;
  std::string order = "shuffled";
  int64_t prompt_tokens = 0, shared_tokens = 0;
  int64_t user_tokens = 0, user_tokens_most = 0;
  int64_t output_tokens = 0, output_tokens_most = 0;
  int64_t groups = 1;
  double zipf_exponent = 0;
  int64_t few_shots = 1, few_shot_tokens = 0;
  int64_t documents = 1, document_tokens = 0;
  int64_t picks = 1;
  double novelty = 1;
  int64_t conversations = 0;
  int64_t turns = 0, turns_most = 0;
  int64_t under_way = 0;
  std::string prompt_column, output_column;
  std::string subjects;
  int64_t shots = 5;
  std::string split = "test", question_template = "hendrycks";
  double window_start_s = 0, window_s = 0;
  std::string unsorted_times = "refuse";
  double length_divisor = 1;
  int64_t most_prompt_tokens = 0, most_output_tokens = 0;
  std::string too_long = "drop";
};

// An option that only some sources take.
struct SourceField {
  std::string_view name;
  std::variant<int64_t SourceOptions::*, double SourceOptions::*, std::string SourceOptions::*>
      member;
  double low = 0, high = 0;        // range of a number, both ends included
  std::vector<std::string> words;  // accepted values of a text; empty: any
  std::string_view unit;           // "" if it has none
  std::string_view help;
  bool came_later = false;  // records made before this option existed stay valid
};

// The fields in the order of the struct.
std::span<const SourceField> source_fields();

enum class FileUse : uint8_t { kNone, kOptional, kNeeded };

struct SourceInfo {
  std::string name;     // name in experiment files and records
  std::string summary;  // one line for `reprise list`
  FileUse file = FileUse::kNone;
  std::vector<std::string_view> fields;  // the fields it takes
  bool is_timed = false;                 // true: the source gives the times of its requests

  [[nodiscard]] bool takes(std::string_view field) const;
};

// Throws Error for a field out of range, for a field that the source does not take (naming sources
// that take it), and for a file that is missing or superfluous. vocab > 0 (CHECK).
void check_options(const SourceInfo& info, const SourceOptions& options,
                   std::span<const SourceInfo> all);

// Upper bound on lengths and counts of one request or file.
inline constexpr int64_t kMostTokens = int64_t{1} << 24;
inline constexpr int64_t kMostTurns = int64_t{1} << 20;  // bound on a made-up conversation
inline constexpr int64_t kMostRequests = 100'000'000;

}  // namespace reprise::workloads
