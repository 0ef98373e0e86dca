// What a reader should know before believing a folder's numbers.
#pragma once

#include "app/report/html.h"
#include "app/report/reported.h"

namespace reprise::app {

// Writes, in this order: points that are INVALID or not exact, with the reason; what is missing,
// was skipped, left out or mixed; metrics that are noisy, and where other programs took the cores;
// every remark of the records.
void write_validity(Html& html, const Reported& report);

// "96 points", "2 INVALID", "4 missing": the same in a line, the bad ones marked.
void write_badges(Html& html, const Reported& report);

}  // namespace reprise::app
