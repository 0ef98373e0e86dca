// The width of printed output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace reprise::app {

// Columns for output: $COLUMNS if it is 20 or more, else the terminal's width, else (a pipe, a
// file) 120.
[[nodiscard]] size_t output_columns(std::FILE* out);

// output_columns(), but SIZE_MAX for a pipe or a file, so that other programs find one entry per
// line.
[[nodiscard]] size_t terminal_columns(std::FILE* out);

}  // namespace reprise::app
