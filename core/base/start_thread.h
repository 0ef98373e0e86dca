// Starts a thread, with an error that names the remedy if the system refuses.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "core/base/error.h"

namespace reprise {

// Returns a thread that runs `body`. Throws Error if the system refuses because of its limits on
// processes or memory. `purpose` completes "the system starts no thread ..." in that error: "to
// compute with".
template <typename Body>
[[nodiscard]] std::thread start_thread(const char* purpose, Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    raise(
        "the system starts no thread {}: {}. Take fewer threads (--threads), end other programs, "
        "or raise the limits on processes, memory and stacks (ulimit -u, -v, -s).",
        purpose, error.code().message());
  }
}

}  // namespace reprise
