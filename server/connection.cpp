#include "server/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace reprise::server {
namespace {

constexpr std::chrono::milliseconds kLinger{500};
constexpr size_t kMostLingerBytes = size_t{1} << 20;

}  // namespace

bool Connection::wait(short event, Clock::time_point until) const {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd wanted{socket_, event, 0};
    const int ready = ::poll(&wanted, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 60'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
    if (Clock::now() >= until) return false;
  }
}

bool Connection::await_request() {
  if (begin_ < end_) return true;
  if (!wait(POLLIN, Clock::now() + limits_.idle_timeout)) return false;
  until_ = Clock::now();
  return fill() > 0;
}

void Connection::begin_head() {
  until_ = Clock::now() + limits_.head_timeout;
  is_body_ = false;
  bytes_left_ = limits_.most_header_bytes;
  lines_left_ = limits_.most_headers + 2;  // the request's line, and the empty one
  has_read_ = has_written_ = false;
  fault_ = Fault::kNone;
}

void Connection::begin_body(size_t most_bytes, bool tells_its_end) {
  until_ = Clock::now() + limits_.body_timeout;
  is_body_ = true;
  tells_its_end_ = tells_its_end;
  bytes_left_ = most_bytes;
}

ssize_t Connection::fail(Fault fault) {
  if (fault_ == Fault::kNone) fault_ = fault;
  return -1;
}

// More bytes into the empty buffer. 0: the other end has closed.
ssize_t Connection::fill() {
  for (;;) {
    const ssize_t count = ::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (count >= 0) {
      begin_ = 0;
      end_ = static_cast<size_t>(count);
      return count;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return fail(Fault::kBroken);
    if (!wait(POLLIN, until_)) return fail(Fault::kTimeout);
  }
}

ssize_t Connection::read(char* out, size_t size) {
  if (fault_ != Fault::kNone) return -1;
  if (size == 0) return 0;
  if (bytes_left_ == 0 && is_body_) return tells_its_end_ ? fail(Fault::kBody) : 0;
  if (bytes_left_ == 0) return fail(Fault::kHeaders);
  // A client that sends byte by byte would otherwise have its time anew with each.
  if (Clock::now() >= until_) return fail(Fault::kTimeout);
  if (begin_ == end_) {
    const ssize_t count = fill();
    if (count < 0) return -1;
    if (count == 0) return has_read_ ? fail(Fault::kBroken) : 0;
  }
  const size_t count = std::min({size, end_ - begin_, bytes_left_});
  const char* bytes = buffer_.data() + begin_;
  if (!is_body_) {
    lines_left_ -= static_cast<int>(std::count(bytes, bytes + count, '\n'));
    if (lines_left_ < 0) return fail(Fault::kHeaders);
  }
  std::memcpy(out, bytes, count);
  begin_ += count;
  bytes_left_ -= count;
  has_read_ = true;
  return static_cast<ssize_t>(count);
}

ssize_t Connection::write(const char* bytes, size_t size) {
  const Clock::time_point until = Clock::now() + limits_.write_timeout;
  has_written_ = true;
  for (size_t done = 0; done < size;) {
    const ssize_t count = ::send(socket_, bytes + done, size - done, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0) {
      done += static_cast<size_t>(count);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait(POLLOUT, until)) return fail(Fault::kTimeout);
    } else if (errno != EINTR) {
      return fail(Fault::kBroken);
    }
    if (done < size && Clock::now() >= until) return fail(Fault::kTimeout);
  }
  return static_cast<ssize_t>(size);
}

void Connection::linger() {
  ::shutdown(socket_, SHUT_WR);
  const Clock::time_point until = Clock::now() + kLinger;
  for (size_t total = 0; total < kMostLingerBytes && wait(POLLIN, until);) {
    const ssize_t count = ::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (count <= 0) return;
    total += static_cast<size_t>(count);
  }
}

}  // namespace reprise::server
