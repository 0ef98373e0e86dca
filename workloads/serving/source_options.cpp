#include "workloads/serving/source_options.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "workloads/questions/mmlu.h"
#include "workloads/questions/mmlu_files.h"
#include "workloads/questions/mmlu_template.h"

namespace reprise::workloads {
namespace {

using Options = SourceOptions;
using Name = std::string_view;

SourceField tokens(Name name, int64_t Options::*member, Name help) {
  return {.name = name, .member = member, .high = kMostTokens, .unit = "tokens", .help = help};
}
SourceField count(Name name, int64_t Options::*member, int64_t low, int64_t high, Name help) {
  return {.name = name,
          .member = member,
          .low = static_cast<double>(low),
          .high = static_cast<double>(high),
          .help = help};
}
SourceField real(Name name, double Options::*member, double low, double high, Name unit,
                 Name help) {
  return {.name = name, .member = member, .low = low, .high = high, .unit = unit, .help = help};
}
SourceField word(Name name, std::string Options::*member, std::vector<std::string> words,
                 Name help) {
  return {.name = name, .member = member, .words = std::move(words), .help = help};
}

SourceField later(SourceField field) {
  field.came_later = true;
  return field;
}

// The list of all fields.
std::vector<SourceField> all_fields() {
  constexpr int64_t kMany = kMostRequests;
  constexpr double kSeconds = 1e9;
  return {
      count("requests", &Options::requests, 0, kMany,
            "how many; of a file at most, and 0 is all of it"),
      word("order", &Options::order, {"shuffled", "recorded"},
           "shuffled by the seed of the order, or as in the file or as drawn"),
      tokens("prompt_tokens", &Options::prompt_tokens, "of the whole prompt; or give user_tokens"),
      tokens("shared_tokens", &Options::shared_tokens,
             "of the declared prefix before each prompt, a group's or a tree's system prompt"),
      tokens("user_tokens", &Options::user_tokens, "of the part that is a request's own"),
      tokens("user_tokens_most", &Options::user_tokens_most,
             "if given, each length is drawn from user_tokens to this"),
      tokens("output_tokens", &Options::output_tokens, "to generate"),
      tokens("output_tokens_most", &Options::output_tokens_most,
             "if given, each length is drawn from output_tokens to this"),
      count("groups", &Options::groups, 1, kMany, "prefixes, each of other tokens"),
      real("zipf_exponent", &Options::zipf_exponent, 0, 10, "",
           "number k of 1, 2, ... is drawn in proportion to 1 / k^this; 0: evenly"),
      count("few_shots", &Options::few_shots, 1, kMany, "sets of examples below each group"),
      tokens("few_shot_tokens", &Options::few_shot_tokens, "of such a set"),
      count("documents", &Options::documents, 1, kMany,
            "below each set of examples; of recombined, in all"),
      tokens("document_tokens", &Options::document_tokens, "of a document"),
      later(count("picks", &Options::picks, 1, 1000, "documents of a prompt")),
      later(real("novelty", &Options::novelty, 0, 1, "",
                 "share of the requests that combine documents anew; the others repeat an earlier "
                 "combination")),
      count("conversations", &Options::conversations, 0, kMany,
            "how many; of a file at most, and 0 is all of it"),
      count("turns", &Options::turns, 0, kMostTurns, "requests of a made-up conversation"),
      count("turns_most", &Options::turns_most, 0, kMostTurns,
            "if given, their number is drawn from turns to this"),
      count("under_way", &Options::under_way, 0, kMany,
            "conversations that take turns at a time; 0: all"),
      word("prompt_column", &Options::prompt_column, {}, "by its heading; empty: the first"),
      word("output_column", &Options::output_column, {}, "by its heading; empty: the second"),
      word("subjects", &Options::subjects, {}, "with commas between them; empty: all"),
      count("shots", &Options::shots, 0, 5, "worked examples before each question"),
      later(word("split", &Options::split, questions::mmlu_splits(), questions::kMmluSplitHelp)),
      later(word("question_template", &Options::question_template, questions::mmlu_template_names(),
                 questions::kMmluTemplateHelp)),
      real("window_start_s", &Options::window_start_s, 0, kSeconds, "s",
           "of the recorded time, from its start; the run begins there"),
      real("window_s", &Options::window_s, 0, kSeconds, "s",
           "length of recorded time that is asked; 0: to its end"),
      word("unsorted_times", &Options::unsorted_times, {"refuse", "sort"},
           "what becomes of a file whose times go back"),
      real("length_divisor", &Options::length_divisor, 1, kMostTokens, "",
           "recorded lengths are divided by it, rounded, at least 1"),
      tokens("most_prompt_tokens", &Options::most_prompt_tokens,
             "longer prompts are too long; 0: none is"),
      tokens("most_output_tokens", &Options::most_output_tokens,
             "longer outputs are too long; 0: none is"),
      word("too_long", &Options::too_long, {"drop", "cut"},
           "what becomes of a request that is too long: cut, it keeps its beginning"),
  };
}

const std::vector<SourceField>& fields() {
  static const std::vector<SourceField> kFields = all_fields();
  return kFields;
}

void check_number(const SourceInfo& info, const SourceField& field, double value,
                  const std::string& shown) {
  if (!(value >= field.low && value <= field.high))
    raise("source \"{}\": {} is {}, it must be from {} to {}", info.name, field.name, shown,
          field.low, field.high);
}

void check_range(const SourceInfo& info, const SourceField& field, const SourceOptions& options) {
  if (const auto* integer = std::get_if<int64_t Options::*>(&field.member)) {
    check_number(info, field, static_cast<double>(options.*(*integer)),
                 std::to_string(options.*(*integer)));
  } else if (const auto* number = std::get_if<double Options::*>(&field.member)) {
    check_number(info, field, options.*(*number), fmt::format("{}", options.*(*number)));
  } else if (!field.words.empty()) {
    const std::string& found = options.*std::get<std::string Options::*>(field.member);
    if (std::find(field.words.begin(), field.words.end(), found) == field.words.end())
      raise("source \"{}\": {}", info.name, unknown_name(field.name, found, field.words));
  }
}

bool is_set(const SourceField& field, const SourceOptions& options) {
  static const SourceOptions kDefaults;
  return std::visit([&](auto member) { return options.*member != kDefaults.*member; },
                    field.member);
}

[[noreturn]] void raise_not_taken(const SourceInfo& info, const SourceField& field,
                                  std::span<const SourceInfo> all) {
  std::string takers;
  for (const SourceInfo& other : all)
    if (other.takes(field.name)) takers += (takers.empty() ? "" : ", ") + other.name;
  raise("source \"{}\" takes no {}; it is of: {}", info.name, field.name, takers);
}

void check_file(const SourceInfo& info, const SourceOptions& options) {
  if (info.file == FileUse::kNeeded && options.file.empty())
    raise("source \"{}\" needs a file", info.name);
  if (info.file == FileUse::kNone && !options.file.empty())
    raise("source \"{}\" takes no file, found {}", info.name, options.file.string());
}

}  // namespace

bool SourceInfo::takes(std::string_view field) const {
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

std::span<const SourceField> source_fields() { return fields(); }

void check_options(const SourceInfo& info, const SourceOptions& options,
                   std::span<const SourceInfo> all) {
  REPRISE_CHECK(options.vocab > 0 && options.vocab <= INT32_MAX, "vocab {}", options.vocab);
  for (const SourceField& field : fields()) {
    if (info.takes(field.name))
      check_range(info, field, options);
    else if (is_set(field, options))
      raise_not_taken(info, field, all);
  }
  check_file(info, options);
}

}  // namespace reprise::workloads
