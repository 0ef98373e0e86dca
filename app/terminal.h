// How wide what is printed may be.
#pragma once

#include <cstddef>
#include <cstdio>

namespace reprise::app {

// $COLUMNS where it is set to 20 or more, else the terminal's width, else (a pipe, a file) 120.
[[nodiscard]] size_t output_columns(std::FILE* out);

}  // namespace reprise::app
