// Requests of one client of a production service, drawn from ServeGen's statistics.
//
// FILE-trace.csv has for each time window (usually 10 minutes) its start in s, its requests per s,
// and the distribution of the gaps: coefficient of variation, family ("Gamma", "Weibull", none at
// rate 0), shape and scale. FILE-dataset.json beside it has the shares of input and output lengths
// in windows of 6 hours.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// Gaps are drawn from the window's family with its shape; their mean is 1 / its rate. Lengths are
// drawn independently. For Weibull gaps the shape is used and not the recorded coefficient of
// variation, which outliers raise above the value that the shape implies.
SourceInfo servegen_info();
std::unique_ptr<Entries> make_servegen(const SourceOptions& options);

}  // namespace reprise::workloads::serving
