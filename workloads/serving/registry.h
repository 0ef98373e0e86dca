// The sources of requests that a serving run can name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "workloads/serving/request_source.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads {

// In the order `reprise list` shows them.
std::vector<SourceInfo> known_request_sources();

// Throws Error for an unknown name, with the nearest, as check_options(), for options that do not
// go together, for a file that cannot be read or is not what the source reads, with file and line,
// and where no request is left. A prompt's length in tokens is exact, and asserted as it is drawn.
std::unique_ptr<RequestSource> make_request_source(const std::string& name,
                                                   const SourceOptions& options);

}  // namespace reprise::workloads
