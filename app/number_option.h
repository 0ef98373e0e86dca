// Checks of values on the command line. A value is checked before the command runs, and --help
// shows the accepted values.
#pragma once

#include <CLI/CLI.hpp>

namespace reprise::app {

// Accepts a finite number from `low` to `high`, both included. Refuses everything else (nan, inf,
// text after the number) with the accepted range.
CLI::Validator number_within(double low, double high);

// Like number_within(), but refuses `low` itself.
CLI::Validator number_above(double low, double high);

// Accepts a decimal whole number from `low` to `high`, both included. Refuses leading zeros,
// because CLI11 would read 010 as 8.
CLI::Validator integer_within(int64_t low, int64_t high);

// Accepts the seed of a random stream, 0 to 2^63 - 1, as experiment files do.
CLI::Validator seed_number();

// dtype_name() accepts names that parse_dtype() knows; weight_format_name() accepts names that
// parse_weight_format() knows.
CLI::Validator dtype_name();
CLI::Validator weight_format_name();

// Accepts one of `names`. The error for another word names the nearest of `names` ("unknown mode
// ...", if `what` is "mode").
CLI::Validator one_of(const std::string& what, const std::vector<std::string>& names);

// Accepts any name or path that is not empty.
CLI::Validator not_empty();

}  // namespace reprise::app
