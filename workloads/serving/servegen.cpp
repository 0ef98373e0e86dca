// Requests of one client of a production service, drawn from ServeGen's statistics.
//
// FILE-trace.csv has for each time window (usually 10 minutes) its start in s, its requests per s,
// and the distribution of the gaps: coefficient of variation, family ("Gamma", "Weibull", none at
// rate 0), shape and scale. FILE-dataset.json beside it has the shares of input and output lengths
// in windows of 6 hours.
//
// Gaps are drawn from the window's family with its shape; their mean is 1 / its rate. Lengths are
// drawn independently. For Weibull gaps the shape is used and not the recorded coefficient of
// variation, which outliers raise above the value that the shape implies.
#include "workloads/serving/sources.h"

#include <algorithm>

#include "core/base/error.h"
#include "workloads/serving/draws.h"
#include "workloads/serving/recorded_lengths.h"
#include "workloads/serving/servegen_client.h"

namespace reprise::workloads::serving {
namespace {

// Throws Error unless the options limit the number of requests or the time, since two weeks of one
// client may have a hundred million requests.
void require_end(const SourceOptions& options, const ServeGenClient& client) {
  if (options.requests == 0 && options.window_s == 0)
    raise("source \"servegen\" needs requests or window_s: requests are drawn without end");
  if (options.window_start_s >= client.length_s())
    raise("source \"servegen\": window_start_s is {}, but {} ends at {} s", options.window_start_s,
          options.file.string(), client.length_s());
}

}  // namespace

SourceInfo servegen_info() {
  return {.name = "servegen",
          .summary = "requests drawn from ServeGen's statistics of a client: times and lengths",
          .file = FileUse::kNeeded,
          .fields = {"requests", "shared_tokens", "window_start_s", "window_s", "length_divisor",
                     "most_prompt_tokens", "most_output_tokens", "too_long"},
          .is_timed = true};
}

std::unique_ptr<Entries> make_servegen(const SourceOptions& options) {
  const ServeGenClient client(options.file);
  require_end(options, client);
  const double end_s = options.window_s == 0
                           ? client.length_s()
                           : std::min(client.length_s(), options.window_start_s + options.window_s);
  auto entries = std::make_unique<RecordedLengths>(options);
  ServeGenClient::Arrivals arrivals(client, options.window_start_s);
  for (int64_t item = 0; options.requests == 0 || entries->size() < options.requests; ++item) {
    const double time_s = arrivals.next_s(GapDraws(options.arrivals_seed, item));
    if (time_s >= end_s) break;
    if (item == kMostRequests)
      raise("source \"servegen\": more than {} requests; narrow window_s", kMostRequests);
    const ServeGenClient::Lengths& lengths = client.lengths_at(time_s);
    const int64_t prompt =
        lengths.input.draw(draw_unit(options.prompts_seed, Draw::kUserTokens, item));
    const int64_t output =
        lengths.output.draw(draw_unit(options.prompts_seed, Draw::kOutputTokens, item));
    const RequestSource::Lengths asked = entries->asked(prompt, output);
    const int64_t salted = options.salt.tokens(/*has_text=*/false) + asked.prompt;
    if (options.too_long == "drop" && is_too_long(options, salted, asked.output))
      entries->leave_out_too_long();
    else
      entries->add(prompt, output, time_s);
  }
  return entries;
}

}  // namespace reprise::workloads::serving
