#include "workloads/serving/recorded_lengths.h"

#include <cctype>
#include <optional>

#include "core/base/error.h"
#include "workloads/serving/draws.h"

namespace reprise::workloads::serving {
namespace {

bool is_name(std::string_view field) {
  return !field.empty() && (std::isalpha(static_cast<unsigned char>(field[0])) || field[0] == '_');
}

// Column numbers of the two lengths.
struct Places {
  size_t prompt = 0, output = 1;
};

Places find_columns(const TableLine& heading, const LengthColumns& columns) {
  const auto place_of = [&](const std::string& name, size_t fallback) {
    return name.empty() ? fallback : heading.column(name);
  };
  const Places places = {.prompt = place_of(columns.prompt, 0),
                         .output = place_of(columns.output, 1)};
  if (places.prompt == places.output)
    raise("{}: prompts and outputs would have their lengths from the same column, {}",
          heading.where(), places.prompt + 1);
  return places;
}

}  // namespace

RecordedLengths::RecordedLengths(const SourceOptions& options)
    : shared_tokens_(options.shared_tokens), divisor_(options.length_divisor) {}

void RecordedLengths::add(int64_t prompt_tokens, int64_t output_tokens) {
  if (prompt_tokens == 0 || output_tokens == 0) {
    leave_out();
    return;
  }
  prompt_tokens_.push_back(static_cast<int32_t>(divided(prompt_tokens, divisor_)));
  output_tokens_.push_back(static_cast<int32_t>(divided(output_tokens, divisor_)));
}

void RecordedLengths::add(int64_t prompt_tokens, int64_t output_tokens, double time_s) {
  const int64_t before = size();
  add(prompt_tokens, output_tokens);
  if (size() > before) times_s_.push_back(time_s);
}

void RecordedLengths::begin_at(double start_s) {
  for (double& time_s : times_s_) time_s -= start_s;
}

RequestSource::Lengths RecordedLengths::asked(int64_t prompt_tokens, int64_t output_tokens) const {
  return {.prompt = shared_tokens_ + divided(prompt_tokens, divisor_),
          .output = divided(output_tokens, divisor_)};
}

RequestSource::Lengths RecordedLengths::lengths(int64_t entry) const {
  const auto i = static_cast<size_t>(entry);
  return {.prompt = shared_tokens_ + prompt_tokens_[i], .output = output_tokens_[i]};
}

void RecordedLengths::add_parts(int64_t entry, std::vector<PromptPart>& out) const {
  out.push_back({.item = -1, .tokens = shared_tokens_});
  out.push_back({.item = entry, .tokens = prompt_tokens_[static_cast<size_t>(entry)]});
}

std::vector<Entries::Prefix> RecordedLengths::prefixes() const {
  if (shared_tokens_ == 0) return {};
  return {{.name = "system", .parts = {{.item = -1, .tokens = shared_tokens_}}}};
}

void RecordedTimes::raise_goes_back(const std::string& where, double by_s) {
  raise(
      "{}: its time is {:g} s before that of the line above; repair the file, or set "
      "unsorted_times to \"sort\"",
      where, by_s);
}

void for_each_length_pair(const std::filesystem::path& path, const LengthColumns& columns,
                          const std::function<void(int64_t prompt, int64_t output)>& read) {
  std::optional<Places> places;
  size_t fields = 0;  // number of fields in the first line
  for_each_table_line(path, [&](const TableLine& line) {
    if (!places) {
      fields = line.size();
      const bool is_heading = line.size() >= 2 && is_name(line.text(0, "the prompt's length")) &&
                              is_name(line.text(1, "the output's length"));
      const bool has_names = !columns.prompt.empty() || !columns.output.empty();
      if (has_names && !is_heading)
        raise("{}: columns are asked for by name, but the line is no heading; leave the names out",
              line.where());
      places = is_heading ? find_columns(line, columns) : Places{};
      if (is_heading) return;
    }
    line.require_at_most(fields);
    read(line.integer(places->prompt, "the prompt's length", kMostTokens),
         line.integer(places->output, "the output's length", kMostTokens));
  });
}

}  // namespace reprise::workloads::serving
