// BurstGPT's traces of ChatGPT and GPT-4 on Azure: arrival times and lengths.
//
// Files are CSV with the heading Timestamp,Model,Request tokens,Response tokens,Total tokens,Log
// Type, in release 2 with "Session ID" and "Elapsed time" [BurstGPT, KDD'25]. Timestamps are
// seconds. A failed request has no response tokens and is left out.
#include "workloads/serving/sources.h"

#include "workloads/serving/recorded_lengths.h"

namespace reprise::workloads::serving {
namespace {

constexpr const char* kTime = "Timestamp";
constexpr const char* kPrompt = "Request tokens";
constexpr const char* kOutput = "Response tokens";

struct Places {
  size_t time = 0, prompt = 0, output = 0;
  size_t fields = 0;  // number of fields in the heading
};

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
  Places places;
  for_each_table_line(options.file, [&](const TableLine& line) {
    if (line.number() == 1) {
      places = {.time = line.column(kTime),
                .prompt = line.column(kPrompt),
                .output = line.column(kOutput),
                .fields = line.size()};
      return;
    }
    line.require_at_most(places.fields);
    const double time_s = line.real(places.time, kTime);
    times.next(time_s, line);
    entries->add(line.integer(places.prompt, kPrompt, kMostTokens),
                 line.integer(places.output, kOutput, kMostTokens), time_s);
  });
  entries->begin_at(times.start_s());
  return entries;
}

}  // namespace reprise::workloads::serving
