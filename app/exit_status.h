// The statuses that commands end with.
#pragma once

#include <string_view>

namespace reprise::app {

// Thrown by a command that ends with a status of its own, after it has said everything itself.
struct ExitStatus {
  int status = 0;
};

// `check` found something slower.
inline constexpr int kSlowerStatus = 1;

// `store verify` found a damaged file.
inline constexpr int kDamagedStatus = 1;

// `run` measured what fits into memory and skipped the rest.
inline constexpr int kSkippedStatus = 3;

// `run` measured all that fits, or `report` wrote its page, and the figures could not be drawn.
inline constexpr int kNoFigureStatus = 4;

// What a command ends with after an error, of usage too: 1, but 2 from `check`, whose readers must
// tell a slower kernel from a check that could not be made.
constexpr int error_status_of(std::string_view command) { return command == "check" ? 2 : 1; }

}  // namespace reprise::app
