// Requests of one client of a production service, drawn from ServeGen's statistics.
//
// FILE-trace.csv has for each time window (usually 10 minutes) its start in s, requests per s, the
// coefficient of variation of the gaps, their family ("Gamma", "Weibull", none at rate 0), shape
// and scale. FILE-dataset.json beside it has the shares of input and output lengths in windows of 6
// hours.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// Gaps are drawn from the window's family with its shape; their mean is 1 / its rate. Lengths are
// drawn independently. The recorded coefficient of variation of Weibull gaps is larger than their
// shape implies, because outliers raise it; the shape is used.
SourceInfo servegen_info();
std::unique_ptr<Entries> make_servegen(const SourceOptions& options);

}  // namespace reprise::workloads::serving
