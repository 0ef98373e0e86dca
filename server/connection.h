// A connection's socket with bounds on what it may cost: bytes, lines and time.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace reprise::server {

struct HttpLimits {
  int most_connections = 1024;
  size_t most_body_bytes = size_t{2} << 20;
  size_t all_body_bytes = size_t{256} << 20;  // of all requests that are being read or answered
  size_t most_header_bytes = size_t{32} << 10;
  int most_headers = 100;
  std::chrono::milliseconds head_timeout{10'000};   // for a request's line and headers
  std::chrono::milliseconds body_timeout{30'000};   // for its body
  std::chrono::milliseconds idle_timeout{30'000};   // for the next request of a connection
  std::chrono::milliseconds write_timeout{10'000};  // for each piece of an answer
};

// Reads and writes a socket that it does not own. Used by one thread.
class Connection {
 public:
  enum class Fault : uint8_t {
    kNone,
    kTimeout,  // the other end was too slow
    kHeaders,  // too many headers, or too long ones
    kBody,     // more than the request may have
    kBroken    // reset, or closed within a request
  };

  Connection(int socket, const HttpLimits& limits) : socket_(socket), limits_(limits) {}

  [[nodiscard]] int socket() const { return socket_; }
  // Waits for the first byte of a request. False: none came in time, or the other end has closed.
  bool await_request();
  // From here on the line and the headers of a request may be read.
  void begin_head();
  // From here on its body: at most this many bytes on the wire. Behind them it ends, or, where it
  // tells its own end, whoever reads on meets a fault.
  void begin_body(size_t most_bytes, bool tells_its_end);

  [[nodiscard]] bool is_in_body() const { return is_body_; }
  // At most `size` bytes, at least one; 0: there are no more. -1: see fault().
  ssize_t read(char* out, size_t size);
  // All of them, or -1.
  ssize_t write(const char* bytes, size_t size);

  [[nodiscard]] Fault fault() const { return fault_; }
  // Whether anything was read, or written, since begin_head().
  [[nodiscard]] bool has_read() const { return has_read_; }
  [[nodiscard]] bool has_written() const { return has_written_; }

  // Tells the other end that there is no more, and reads what it still sends for a moment: closing
  // a socket with unread bytes would destroy an answer on its way.
  void linger();

 private:
  using Clock = std::chrono::steady_clock;

  bool wait(short event, Clock::time_point until) const;
  ssize_t fill();
  ssize_t fail(Fault fault);
  [[nodiscard]] bool passes(const char* bytes, size_t size);

  const int socket_;
  const HttpLimits& limits_;
  Clock::time_point until_;  // of what is being read
  bool is_body_ = false, tells_its_end_ = false;
  size_t bytes_left_ = 0;
  int lines_left_ = 0;
  bool has_read_ = false, has_written_ = false;
  Fault fault_ = Fault::kNone;
  std::array<char, 4096> buffer_;  // [begin_, end_) was received and not read
  size_t begin_ = 0, end_ = 0;
};

}  // namespace reprise::server
