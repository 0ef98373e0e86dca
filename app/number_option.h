// What a number on the command line may be, said once: checked before the command runs, and shown
// by --help.
#pragma once

#include <CLI/CLI.hpp>

namespace reprise::app {

// Accepts a finite number from `low` to `high`, both included, and refuses everything else (nan,
// inf, 1e-300 where that is below `low`, text behind the number) with the range that is accepted.
CLI::Validator number_within(double low, double high);

// The same for whole numbers.
CLI::Validator integer_within(int64_t low, int64_t high);

}  // namespace reprise::app
