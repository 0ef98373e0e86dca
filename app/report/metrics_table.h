// The numbers of a folder as tables of a page.
#pragma once

#include "app/report/data_table.h"
#include "app/report/reported.h"

namespace reprise::app {

// A row for each point: the settings that vary, what is wrong with it if anything is, and its
// metrics with their quartiles (percentiles with their intervals). The experiment's metrics and the
// papers' numbers beside them stand there at first, all others and all percentiles on demand.
[[nodiscard]] DataTable metrics_table(const Reported& report);

// What came out beside the metrics, point by point: texts and numbers of "answers"; no rows where
// there are none.
[[nodiscard]] DataTable answers_table(const Reported& report);

// "INVALID", "NOT EXACT", "other programs": what is to be known about a point before its numbers
// are read; "" where there is nothing.
[[nodiscard]] std::string marks_of(const Json& record);

}  // namespace reprise::app
