#include "checks/machine_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/error.h"
#include "core/base/temporary_file.h"

namespace reprise::checks {

MachineLock::MachineLock() {
  const std::string path = (temporary_folder() / "reprise_check.lock").string();
  // Tries without O_CREAT first, since in a sticky folder Linux refuses O_CREAT for another user's
  // file.
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) file_ = ::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0)
    raise("cannot open {}, which keeps checks from running at once: {}", path,
          std::strerror(errno));
  if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return;
  const int reason = errno;
  ::close(file_);
  if (reason == EWOULDBLOCK)
    raise(
        "another check runs on this machine (it holds {}). Wait for its end: at once, each would "
        "measure the other.",
        path);
  raise("cannot lock {}: {}", path, std::strerror(reason));
}

MachineLock::~MachineLock() { ::close(file_); }

}  // namespace reprise::checks
