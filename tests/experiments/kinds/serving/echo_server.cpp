#include "tests/experiments/kinds/serving/echo_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/base/error.h"

namespace reprise::server {
namespace {

bool write_bytes(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::string header_of(const std::string& head, const std::string& name) {
  const size_t at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

// Reads one request. Returns false at the end of the connection.
bool read_request(int socket, std::string& buffer, EchoRequest& request) {
  char bytes[16384];
  const auto more = [&] {
    const ssize_t got = ::recv(socket, bytes, sizeof bytes, 0);
    if (got > 0) buffer.append(bytes, static_cast<size_t>(got));
    return got > 0;
  };
  size_t end = 0;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos)
    if (!more()) return false;
  const std::string head = buffer.substr(0, end + 2);
  const std::string length = header_of(head, "Content-Length");
  const size_t body = length.empty() ? 0 : std::stoul(length);
  while (buffer.size() < end + 4 + body)
    if (!more()) return false;
  request.method = head.substr(0, head.find(' '));
  request.path = head.substr(request.method.size() + 1);
  request.path.resize(request.path.find(' '));
  request.authorization = header_of(head, "Authorization");
  request.accept_encoding = header_of(head, "Accept-Encoding");
  request.body = buffer.substr(end + 4, body);
  buffer.erase(0, end + 4 + body);
  return true;
}

using Clock = std::chrono::steady_clock;

// Waits until `at`. Returns false if the peer closes the connection before that.
bool wait_until(int socket, Clock::time_point at) {
  pollfd gone = {.fd = socket, .events = POLLRDHUP, .revents = 0};
  const auto left = std::max(Clock::duration::zero(), at - Clock::now());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec wait = {.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
  return ::ppoll(&gone, 1, &wait, nullptr) == 0;
}

std::string event_text(int64_t first, int64_t count, Telling telling, int64_t prompt_tokens) {
  std::string ids, names, text;
  for (int64_t i = first; i < first + count; ++i) {
    ids += fmt::format("{}{}", i > first ? "," : "", i);
    names += fmt::format("{}\"t{}\"", i > first ? "," : "", i);
    text += fmt::format("t{} ", i);
  }
  std::string choice = fmt::format(R"({{"index":0,"text":"{}","finish_reason":null)", text);
  if (telling == Telling::kTokenIds) choice += fmt::format(R"(,"token_ids":[{}])", ids);
  if (telling == Telling::kLogprobs)
    choice += fmt::format(R"(,"logprobs":{{"tokens":[{}]}})", names);
  std::string event = R"({"object":"text_completion","choices":[)" + choice + "}]";
  if (telling == Telling::kRunningUsage)
    event += fmt::format(R"(,"usage":{{"prompt_tokens":{},"completion_tokens":{}}})", prompt_tokens,
                         first + count);
  return "data: " + event + "}\n\n";
}

}  // namespace

EchoServer::EchoServer(Script script, Observer observer)
    : script_(std::move(script)), observer_(std::move(observer)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  REPRISE_CHECK(::bind(listener_, any, size) == 0 && ::listen(listener_, 1024) == 0 &&
                    ::getsockname(listener_, any, &size) == 0,
                "{}", std::strerror(errno));
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

EchoServer::~EchoServer() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    for (const Connection& connection : connections_) ::shutdown(connection.socket, SHUT_RDWR);
  }
  acceptor_.join();
  for (Connection& connection : connections_) {
    connection.thread.join();
    ::close(connection.socket);
  }
  ::close(listener_);
}

int64_t EchoServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

int64_t EchoServer::connections() const {
  const std::lock_guard lock(mutex_);
  return std::ssize(connections_);
}

void EchoServer::accept_all() {
  for (;;) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::lock_guard lock(mutex_);
    if (socket < 0 || is_ending_) {
      if (socket >= 0) ::close(socket);
      return;
    }
    const int yes = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    connections_.push_back({.socket = socket, .thread = std::thread([this, socket] {
                                                serve(socket);
                                                ::shutdown(socket, SHUT_RDWR);
                                              })});
  }
}

void EchoServer::serve(int socket) {
  std::string buffer;
  EchoRequest request;
  while (read_request(socket, buffer, request)) {
    {
      const std::lock_guard lock(mutex_);
      request.number = requests_++;
    }
    if (!write_answer(socket, request, script_(request))) return;
  }
}

// Returns false if the peer has gone, or if the answer breaks off.
bool EchoServer::write_answer(int socket, const EchoRequest& request,
                              const EchoAnswer& answer) const {
  if (answer.hangs_up) return false;
  if (!write_bytes(socket, fmt::format("HTTP/1.1 {} Echo\r\nContent-Type: text/event-stream\r\n"
                                       "Transfer-Encoding: chunked\r\n\r\n",
                                       answer.status)))
    return false;
  Clock::time_point at = Clock::now();
  for (size_t i = 0; i < answer.pieces.size(); ++i) {
    const EchoPiece& piece = answer.pieces[i];
    at += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(piece.after_s));
    if (piece.after_s > 0 && !wait_until(socket, at)) return false;
    if (piece.bytes.empty()) continue;
    if (observer_) observer_(request, i);
    if (!write_bytes(socket, fmt::format("{:x}\r\n{}\r\n", piece.bytes.size(), piece.bytes)))
      return false;
  }
  return !answer.breaks_off && write_bytes(socket, "0\r\n\r\n");
}

EchoAnswer completion(int64_t tokens, double first_s, double gap_s, Telling telling,
                      int64_t per_event, int64_t prompt_tokens, int64_t cached_tokens) {
  EchoAnswer answer;
  for (int64_t i = 0; i < tokens; i += per_event)
    answer.pieces.push_back(
        {.after_s = i == 0 ? first_s : gap_s,
         .bytes = event_text(i, std::min(per_event, tokens - i), telling, prompt_tokens)});
  std::string end = R"(data: {"choices":[{"index":0,"text":"","finish_reason":"length"}]})"
                    "\n\n";
  if (telling != Telling::kNothing && telling != Telling::kLogprobs)
    end += fmt::format(
        R"(data: {{"choices":[],"usage":{{"prompt_tokens":{},"completion_tokens":{}{}}}}})"
        "\n\n",
        prompt_tokens, tokens,
        cached_tokens < 0
            ? ""
            : fmt::format(R"(,"prompt_tokens_details":{{"cached_tokens":{}}})", cached_tokens));
  answer.pieces.push_back({.bytes = end + "data: [DONE]\n\n"});
  return answer;
}

int64_t max_tokens_of(const EchoRequest& request) {
  const std::string key = "\"max_tokens\":";
  const size_t at = request.body.find(key);
  return at == std::string::npos ? -1 : std::stoll(request.body.substr(at + key.size()));
}

EchoAnswer model_list() {
  return {
      .pieces = {
          {.bytes =
               R"({"object":"list","data":[{"id":"echo","object":"model","owned_by":"echo"}]})"}}};
}

}  // namespace reprise::server
