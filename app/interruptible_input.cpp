#include "app/interruptible_input.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/error.h"

namespace reprise::app {
namespace {

// Returns true if a read of `file` would not wait, or stops waiting within `timeout_ms`.
bool is_readable(int file, int timeout_ms) {
  pollfd wanted{.fd = file, .events = POLLIN, .revents = 0};
  return ::poll(&wanted, 1, timeout_ms) > 0;
}

}  // namespace

InterruptibleInput::int_type InterruptibleInput::underflow() {
  // A signal that comes just before poll() does not end it, so `stop` is looked at again each tick.
  constexpr int kTick_ms = 100;
  while (!stop_) {
    if (!is_readable(file_, kTick_ms)) continue;
    const ssize_t bytes = ::read(file_, buffer_.data(), buffer_.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) raise("the input cannot be read");  // the stream turns this into badbit
    if (bytes == 0) break;
    setg(buffer_.data(), buffer_.data(), buffer_.data() + bytes);
    return traits_type::to_int_type(*gptr());
  }
  return traits_type::eof();
}

std::streamsize InterruptibleInput::showmanyc() { return is_readable(file_, 0) ? 1 : 0; }

}  // namespace reprise::app
