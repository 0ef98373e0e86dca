// How wide what is printed may be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace reprise::app {

// $COLUMNS where it is set to 20 or more, else the terminal's width, else (a pipe, a file) 120.
[[nodiscard]] size_t output_columns(std::FILE* out);

// The same, and SIZE_MAX for a pipe or a file: other programs want one thing on one line.
[[nodiscard]] size_t terminal_columns(std::FILE* out);

}  // namespace reprise::app
