#include "core/base/write_all.h"

#include <unistd.h>

#include <cerrno>

namespace reprise {

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = EIO;  // the system gave no reason
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::string_view write_remedy(int error, std::string_view otherwise) {
  if (error == ENOSPC || error == EDQUOT)
    return "Free some space, then run the same command again.";
  if (error == EFBIG)
    return "Raise the limit of a file's size (ulimit -f), then run the same command again.";
  if (error == EISDIR) return "Remove the folder that has this name, or choose another name.";
  return otherwise;
}

}  // namespace reprise
