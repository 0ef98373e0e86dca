// The width of printed output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace reprise::app {

// Width of output in columns: $COLUMNS if that is 20 or more, otherwise the terminal's width; 120
// for a pipe or a file.
[[nodiscard]] size_t output_columns(std::FILE* out);

// Like output_columns(), but SIZE_MAX for a pipe or a file, so that other programs find one entry
// per line.
[[nodiscard]] size_t terminal_columns(std::FILE* out);

}  // namespace reprise::app
