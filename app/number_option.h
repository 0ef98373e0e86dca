// What a value on the command line may be, said once: checked before the command runs, and shown by
// --help.
#pragma once

#include <CLI/CLI.hpp>

namespace reprise::app {

// Accepts a finite number from `low` to `high`, both included, and refuses everything else (nan,
// inf, 1e-300 where that is below `low`, text behind the number) with the range that is accepted.
CLI::Validator number_within(double low, double high);

// The same without `low` itself.
CLI::Validator number_above(double low, double high);

// The same for whole numbers, both ends included. Decimal: CLI11 would read 010 as 8, so that
// leading zeros are refused.
CLI::Validator integer_within(int64_t low, int64_t high);

// The seed of a random stream, as experiment files take it: 0 to 2^63 - 1.
CLI::Validator seed_number();

// The name of a dtype: see parse_dtype(); of a weight format: see parse_weight_format().
CLI::Validator dtype_name();
CLI::Validator weight_format_name();

// One of these words; else the error names the nearest ("unknown mode ...").
CLI::Validator one_of(const std::string& what, const std::vector<std::string>& names);

// A name or path: anything but nothing.
CLI::Validator not_empty();

}  // namespace reprise::app
