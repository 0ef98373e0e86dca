// Writes all bytes to a file descriptor.
#pragma once

#include <string_view>

namespace reprise {

// Calls write() again after partial writes and interrupts. Returns false, with errno set, if the
// system refuses.
bool write_all(int file, std::string_view bytes);

}  // namespace reprise
