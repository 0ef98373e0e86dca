// The sources of requests that an experiment of kind serving can name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "workloads/serving/request_source.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads {

// All sources, in the order in which `reprise list` shows them.
std::vector<SourceInfo> known_request_sources();

// Throws Error for an unknown name (with the nearest one), for options that check_options() refuses
// or that conflict, for a file that cannot be read or parsed (with file and line), and if no
// request remains. A prompt always has exactly the stated number of tokens.
std::unique_ptr<RequestSource> make_request_source(const std::string& name,
                                                   const SourceOptions& options);

}  // namespace reprise::workloads
