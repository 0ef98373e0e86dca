// Collects what a page about results folders shows, in one document for the templates of plots/.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checks/change.h"
#include "core/base/value.h"
#include "results/folder.h"

namespace reprise::app {

struct Reported {
  results::ResultsFolder folder;
  std::map<std::string, std::string> help;  // description of each metric
};

// Returns the document of a page about these folders, in their order. Every number comes with the
// text by which the terminal's table shows it.
//   version   the program that writes the page, lines of text
//   reports   results::figures_document() of each folder, and beside it
//     id, prefix   "r1", "r1-": the report's part of the page, and the prefix of its figures' ids
//     caption      as results::filled_caption() returns it
//     keys         settings that distinguish its points, see key_columns()
//     columns      [{name, heading, help, is_own, is_measured}]: metrics and percentiles; own ones
//                  are those that the experiment names
//     facts        for each record {settings: {name: text},
//                  metrics: {name: {text, value, spread}},
//                  papers: [{metric: {text, value}} for each paper], answers: {name: text},
//                  limits: {name: text}, caches_mib: {l2_bytes, l3_bytes: text}, noisy: [metric],
//                  is_disturbed, is_judged, inexact: remark or ""}
//     means        the same fields for each mean over the experiment's axis `mean_over`, and
//                  requested: {name: value}, the mean's settings
//     notes        {gaps, papers}: sentences of the terminal's table, a line each
//     looks        {method: [color, marker]}
//     torn_bytes   bytes behind the last complete group of records
//     has_plan     false for a file of records alone, which do not tell what was planned
//   changes   for each folder that follows a folder of the same experiment, the comparison with the
//             first such folder:
//     [{before, after: indices in reports, points, only_before, only_after, tested,
//       differences: [sentence], confidence, margin, most_compared,
//       metrics: [{point: index in the later facts, metric, heading, before, after: {text, value},
//                  ratio, interval: [low, high], verdict}]}]
//     A ratio is null if the earlier value was 0. An interval is null if no samples were compared,
//     and [] if there were too few samples.
// Throws Error for an unknown placeholder or paper.
[[nodiscard]] Fields report_document(const std::vector<Reported>& reports,
                                     const checks::ChangeOptions& options);

}  // namespace reprise::app
