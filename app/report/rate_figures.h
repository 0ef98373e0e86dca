// The figures that an experiment over request rates asks for, whatever its file names: latency
// against the rate, and which methods are worth their latency at which throughput.
#pragma once

#include "results/folder.h"

namespace reprise::app {

// Where the sweep has an axis of rates (requests per second) and its records have latencies, adds
// to folder.run["plots"]: each latency's median and 99th percentile against the rate, as far as the
// experiment has no such figure, and the Pareto front (family "pareto", whose "against" is the
// metric of the rate that was reached). Another axis of few values parts them into panels.
void add_rate_figures(results::ResultsFolder& folder);

}  // namespace reprise::app
