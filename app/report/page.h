// A report: one HTML file that holds everything it shows, and asks nobody for anything.
#pragma once

#include <string>
#include <vector>

#include "app/report/reported.h"
#include "checks/change.h"

namespace reprise::app {

// Folders in their order, and before them what changed wherever a folder has the experiment of an
// earlier one (the first such). At least one (CHECK). The page is well-formed XML too; its policy
// lets no script run but its own, and nothing be loaded. The same folders give the same bytes.
[[nodiscard]] std::string report_page(const std::vector<Reported>& reports,
                                      const checks::ChangeOptions& options);

// The page's only script, and the policy's hash of it: "sha256-..." in base64.
extern const char* const kPageScript;
extern const char* const kPageScriptHash;
extern const char* const kPageStyle;

}  // namespace reprise::app
