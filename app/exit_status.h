// The exit statuses of commands.
#pragma once

#include <string_view>

namespace reprise::app {

// Thrown by a command that has already printed the reason why it ends, to end the program with
// this status.
struct ExitStatus {
  int status = 0;
};

// `check` found a slower kernel.
inline constexpr int kSlowerStatus = 1;

// `store verify` found a damaged file.
inline constexpr int kDamagedStatus = 1;

// `run` or `bench` measured what fits into memory and skipped the rest.
inline constexpr int kSkippedStatus = 3;

// `run` or `load` measured all points that fit, or `report` wrote its page, but figures could not
// be drawn.
inline constexpr int kNoFigureStatus = 4;

// `load` measured all points, and none is VALID, whether or not figures could be drawn.
inline constexpr int kInvalidStatus = 5;

// The exit status after an error, including errors of usage: 1, but 2 for `check`, so that scripts
// can distinguish a slower kernel from a check that could not run.
constexpr int error_status_of(std::string_view command) { return command == "check" ? 2 : 1; }

}  // namespace reprise::app
