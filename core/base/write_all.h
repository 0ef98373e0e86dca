// Writes all bytes to a file descriptor, and says what to do if that fails.
#pragma once

#include <string_view>

namespace reprise {

// Calls write() again after partial writes and interrupts. Returns false, with errno set, if the
// system refuses.
bool write_all(int file, std::string_view bytes);

// Returns a sentence that says what a user can do about a write that failed with `error` (errno):
// for a full disk, a file that exceeds the limit of its size, or a folder in the file's place. For
// all other errors returns `otherwise`.
std::string_view write_remedy(int error,
                              std::string_view otherwise = "Choose a place you may write to.");

}  // namespace reprise
