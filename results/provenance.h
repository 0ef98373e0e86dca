// The code and the build that made a record.
#pragma once

#include <string>

#include "core/base/json.h"

namespace reprise::results {

// Returns {version, revision, dirty, compiler, flags, build_type, libraries: {name: version}}. The
// revision is looked up at each build; "unknown" outside a git checkout. The optional libtorch is
// "none" if it was not found.
Json provenance_json();

// Four lines for --version: "reprise 0.1.0", the revision, the compiler and the libraries.
std::string version_text();

}  // namespace reprise::results
