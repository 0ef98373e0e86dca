// Requests of one client of a production service, drawn from ServeGen's statistics.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// FILE-trace.csv tells for each window of time (usually 10 minutes) its start in s, requests per s,
// the coefficient of variation of the gaps, their family ("Gamma", "Weibull", none at rate 0) and
// its shape and scale. FILE-dataset.json beside it has the shares of input and output lengths by
// windows of 6 hours. Gaps are of the family and the shape, their mean that of the window's rate;
// lengths are drawn apart from each other. Recorded gaps of the Weibull family vary more than their
// shape says: the shape is that of the bulk, which counts here.
SourceInfo servegen_info();
std::unique_ptr<Entries> make_servegen(const SourceOptions& options);

}  // namespace reprise::workloads::serving
