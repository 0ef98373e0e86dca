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

// Gaps have the window's family and shape, and the mean of its rate; lengths are drawn
// independently. Recorded Weibull gaps vary more than their shape says, since the shape describes
// the bulk. The shape is used.
SourceInfo servegen_info();
std::unique_ptr<Entries> make_servegen(const SourceOptions& options);

}  // namespace reprise::workloads::serving
