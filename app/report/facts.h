// Collects the content of a page on folders of results in one document for the templates of plots/.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checks/change.h"
#include "core/base/json.h"
#include "results/folder.h"

namespace reprise::app {

struct Reported {
  results::ResultsFolder folder;
  std::map<std::string, std::string> help;  // what a metric is, by its name
};

// The facts of folders in their order. All numbers have their texts, as in the terminal's table.
//   version   the program that writes the page, lines of text
//   reports   of each folder, results::figures_document() and beside it
//     id, prefix     "r1", "r1-": its part of the page, and what ids of its figures begin with
//     caption        as results::filled_caption() gives it
//     keys           settings that tell its points apart, as key_columns()
//     columns        [{name, heading, help, is_own, is_measured}]: metrics and percentiles; own
//     ones
//                    are those that the experiment names
//     facts          of each record {settings: {name: text}, metrics: {name: {text, value,
//     spread}},
//                    papers: [{metric: {text, value}} of each paper], answers: {name: text},
//                    limits: {name: text}, caches_mib: {l2_bytes, l3_bytes: text}, noisy: [metric],
//                    is_disturbed, is_judged, inexact: remark or ""}
//     notes          {gaps, papers}: sentences of the terminal's table, a line each
//     torn_bytes     behind the last whole group of records
//   changes   [{before, after: places in reports, points, only_before, only_after, tested,
//             differences: [sentence], confidence, margin, most_compared, metrics: [{point: place
//             in the later facts, metric, heading, before, after: {text, value}, ratio, interval:
//             [low, high], verdict}]}] for each folder whose experiment an earlier one has, against
//             the first such. A ratio is null where there was 0, an interval where nothing was
//             tested; one of samples that decide nothing is [].
// Throws Error for a placeholder or a paper's name that nobody knows.
[[nodiscard]] Json report_document(const std::vector<Reported>& reports,
                                   const checks::ChangeOptions& options);

}  // namespace reprise::app
