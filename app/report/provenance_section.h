// Whose numbers these are: machine, limits, code, seeds, and when they were measured.
#pragma once

#include "app/report/html.h"
#include "app/report/reported.h"

namespace reprise::app {

void write_provenance(Html& html, const Reported& report);

}  // namespace reprise::app
