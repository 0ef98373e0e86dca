// "What changed": two folders of one experiment beside each other.
#pragma once

#include "app/report/changes.h"
#include "app/report/html.h"
#include "app/report/reported.h"

namespace reprise::app {

// What differs between the folders in words, how many points became better or worse by method and
// metric, and every comparison with its interval.
void write_changes(Html& html, const Reported& before, const Reported& after,
                   const checks::ChangeOptions& options);

}  // namespace reprise::app
