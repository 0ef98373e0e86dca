// Which code, built how, made a record.
#pragma once

#include <string>

#include "core/base/json.h"

namespace reprise::results {

// {version, revision, dirty, compiler, flags, build_type, libraries: {...}}. The revision is looked
// up at each build, not when the tree was configured; "unknown" outside a git checkout. The
// libraries map names to versions; libtorch, which is optional, is "none" where it was not found.
Json provenance_json();

// Four lines for --version: "reprise 0.1.0", then revision, compiler and libraries.
std::string version_text();

}  // namespace reprise::results
