// A client that sends any bytes, well formed or not, and reads the server's answers.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "tests/support/json.h"

namespace reprise::server {

struct RawAnswer {
  int status = 0;  // 0: no answer came
  std::string head, body;

  [[nodiscard]] Json json() const { return Json::parse(body); }
  [[nodiscard]] std::string error() const { return json()["error"]["message"]; }
};

// A connection to 127.0.0.1. No operation takes longer than `patience`.
class RawClient {
 public:
  explicit RawClient(int port, int receive_buffer_bytes = 0,
                     std::chrono::milliseconds patience = std::chrono::seconds(20))
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), patience_(patience) {
    if (receive_buffer_bytes > 0)
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes,
                   sizeof receive_buffer_bytes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_open_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient() { close(); }

  [[nodiscard]] bool is_open() const { return is_open_; }
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  // Ends the sending side; answers can still be received.
  void finish_sending() const { ::shutdown(socket_, SHUT_WR); }

  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }

  // Receives more bytes; "" once the other end has closed or `patience` is over.
  std::string receive() const {
    pollfd wanted{socket_, POLLIN, 0};
    if (::poll(&wanted, 1, static_cast<int>(patience_.count())) <= 0) return "";
    std::string bytes(65536, '\0');
    const ssize_t count = ::recv(socket_, bytes.data(), bytes.size(), 0);
    bytes.resize(count > 0 ? static_cast<size_t>(count) : 0);
    return bytes;
  }

  // Receives one answer; the connection can be used again.
  RawAnswer answer() {
    RawAnswer out;
    while (pending_.find("\r\n\r\n") == pending_.npos) {
      const std::string more = receive();
      if (more.empty()) return out;
      pending_ += more;
    }
    const size_t end = pending_.find("\r\n\r\n") + 4;
    out.head = pending_.substr(0, end);
    pending_.erase(0, end);
    out.status = std::stoi(out.head.substr(out.head.find(' ') + 1, 3));
    if (out.head.find("Transfer-Encoding: chunked") != out.head.npos)
      out.body = chunks();
    else
      out.body = exactly(length_in(out.head));
    return out;
  }

 private:
  static size_t length_in(const std::string& head) {
    const size_t at = head.find("Content-Length: ");
    return at == head.npos ? 0 : std::stoul(head.substr(at + 16));
  }
  std::string exactly(size_t size) {
    while (pending_.size() < size) {
      const std::string more = receive();
      if (more.empty()) break;
      pending_ += more;
    }
    std::string out(pending_, 0, size);
    pending_.erase(0, out.size());
    return out;
  }
  // The size of the next chunk; 0 for the last one or a closed connection.
  size_t chunk_size() {
    while (pending_.find("\r\n") == pending_.npos) {
      const std::string more = receive();
      if (more.empty()) return 0;
      pending_ += more;
    }
    const size_t size = std::stoul(pending_, nullptr, 16);
    pending_.erase(0, pending_.find("\r\n") + 2);
    return size;
  }
  std::string chunks() {
    std::string out;
    while (const size_t size = chunk_size()) out.append(exactly(size + 2), 0, size);
    if (pending_.starts_with("\r\n")) pending_.erase(0, 2);  // line end after the last chunk
    return out;
  }

  int socket_;
  std::chrono::milliseconds patience_;
  bool is_open_ = false;
  std::string pending_;
};

inline std::string post_text(const std::string& path, const std::string& body,
                             const std::string& more_headers = "") {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
      "{}\r\n{}\r\n{}",
      path, body.size(), more_headers, body);
}
inline std::string get_text(const std::string& path, const std::string& more_headers = "") {
  return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", path, more_headers);
}

inline RawAnswer post(int port, const std::string& path, const Json& body,
                      const std::string& more_headers = "") {
  RawClient client(port);
  client.send(post_text(path, body.dump(), more_headers));
  return client.answer();
}
inline RawAnswer get(int port, const std::string& path, const std::string& more_headers = "") {
  RawClient client(port);
  client.send(get_text(path, more_headers));
  return client.answer();
}

// The data of all events in a stream, in order.
inline std::vector<std::string> events_of(const std::string& stream) {
  std::vector<std::string> events;
  for (size_t at = 0; at < stream.size();) {
    const size_t end = stream.find("\n\n", at);
    if (end == stream.npos) break;
    REPRISE_CHECK(stream.compare(at, 6, "data: ") == 0, "no event: {}", stream.substr(at, 50));
    events.push_back(stream.substr(at + 6, end - at - 6));
    at = end + 2;
  }
  return events;
}

}  // namespace reprise::server
