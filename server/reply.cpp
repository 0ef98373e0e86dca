#include "server/reply.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/error.h"

namespace reprise::server {
namespace {

int make_event() {
  const int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (event < 0) raise("the system gives no event for an answer: {}", std::strerror(errno));
  return event;
}

int milliseconds_until(Reply::Clock::time_point until) {
  constexpr int64_t kMost = 60'000;  // longest single wait; the caller waits again
  const int64_t left =
      std::chrono::ceil<std::chrono::milliseconds>(until - Reply::Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, kMost));
}

}  // namespace

Reply::Reply(size_t most_pieces) : most_pieces_(most_pieces), event_(make_event()) {}

Reply::~Reply() { ::close(event_); }

bool Reply::push(Piece piece) {
  const std::scoped_lock lock(mutex_);
  if (pieces_.size() >= most_pieces_ && piece.finish == engine::FinishReason::kNone) return false;
  if (pieces_.empty()) (void)eventfd_write(event_, 1);
  pieces_.push_back(std::move(piece));
  return true;
}

Reply::Wake Reply::wait(int socket, Clock::time_point until) const {
  // poll() ignores a socket of -1.
  std::array<pollfd, 2> wanted = {{{event_, POLLIN, 0}, {socket, POLLRDHUP, 0}}};
  for (;;) {
    const int ready = ::poll(wanted.data(), wanted.size(), milliseconds_until(until));
    if (ready < 0 && errno != EINTR) raise("waiting for tokens failed: {}", std::strerror(errno));
    if (ready > 0 && wanted[0].revents != 0) return Wake::kPieces;
    if (ready > 0 && wanted[1].revents != 0) return Wake::kPeerGone;
    if (Clock::now() >= until) return Wake::kTimeout;
  }
}

std::vector<Piece> Reply::take() {
  const std::scoped_lock lock(mutex_);
  eventfd_t count = 0;
  (void)eventfd_read(event_, &count);
  return std::exchange(pieces_, {});
}

}  // namespace reprise::server
