// Writing to a file descriptor until everything is written.
#pragma once

#include <string_view>

namespace reprise {

// Goes on where the system took a part, or was interrupted. False, with errno, where it refuses.
bool write_all(int file, std::string_view bytes);

}  // namespace reprise
