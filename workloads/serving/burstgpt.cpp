#include "workloads/serving/burstgpt.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/base/error.h"
#include "workloads/serving/recorded_lengths.h"

namespace reprise::workloads::serving {
namespace {

// The places of the columns that are read, in this order.
constexpr std::array<const char*, 3> kColumns = {"Timestamp", "Request tokens", "Response tokens"};

std::array<size_t, 3> columns_of(const TableLine& heading) {
  std::array<size_t, 3> places{};
  for (size_t column = 0; column < kColumns.size(); ++column) {
    size_t place = 0;
    while (place < heading.size() && heading.text(place, kColumns[column]) != kColumns[column])
      ++place;
    if (place == heading.size())
      raise("{}: the heading has no column \"{}\"", heading.where(), kColumns[column]);
    places[column] = place;
  }
  return places;
}

}  // namespace

SourceInfo burstgpt_info() {
  return {.name = "burstgpt",
          .summary = "BurstGPT's traces of ChatGPT and GPT-4: times and lengths",
          .file = FileUse::kNeeded,
          .fields = {"requests", "shared_tokens", "window_start_s", "window_s", "unsorted_times",
                     "length_divisor", "most_prompt_tokens", "most_output_tokens", "too_long"},
          .is_timed = true};
}

std::unique_ptr<Entries> make_burstgpt(const SourceOptions& options) {
  auto entries = std::make_unique<RecordedLengths>(options);
  RecordedTimes times(options);
  std::array<size_t, 3> places{};
  for_each_table_line(options.file, [&](const TableLine& line) {
    if (line.number() == 1) {
      places = columns_of(line);
      return;
    }
    const double time_s = line.real(places[0], kColumns[0]);
    times.next(time_s, line);
    entries->add(line.integer(places[1], kColumns[1], kMostTokens),
                 line.integer(places[2], kColumns[2], kMostTokens), time_s);
  });
  entries->begin_at(times.start_s());
  return entries;
}

}  // namespace reprise::workloads::serving
