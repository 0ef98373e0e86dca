// Boost.Asio accepts connections and Boost.Beast parses requests. Each connection has a thread of
// its own, which reads and writes with deadlines. One more thread, the control thread, accepts
// connections and owns the list of them.
#include "server/http_server.h"
#include "core/base/lower_case.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <limits>
#include <list>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/base/start_thread.h"
#include "server/api_error.h"

namespace reprise::server {
namespace {

namespace http = boost::beast::http;
namespace net = boost::asio;
using boost::beast::iequals;
using boost::system::error_code;
using net::ip::tcp;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using Request = http::request<http::string_body>;
using Parser = http::request_parser<http::string_body>;

// Size of a socket's send buffer, which fills while the client does not read. The system's default
// may be megabytes.
constexpr int kSendBufferBytes = 64 << 10;
constexpr milliseconds kLinger{500};
constexpr size_t kMostLingerBytes = size_t{1} << 20;
constexpr int kMostTurnedAway = 16;  // most that linger at once; each has a file descriptor
constexpr milliseconds kAcceptPause{10};

std::string text_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

// Returns "application/json" for "Application/JSON; charset=utf-8".
std::string media_type(std::string header) {
  header.resize(std::min(header.find(';'), header.size()));
  header.resize(header.find_last_not_of(' ') + 1);
  return lower_case(std::move(header));
}

// The path of a request's target, without the query, and with escapes such as "%2F" decoded.
std::string path_of(std::string target) {
  // A client that takes this server for a proxy writes "http://HOST/PATH".
  if (const size_t scheme = target.find("://");
      scheme != target.npos && scheme < target.find('/')) {
    const size_t path = target.find('/', scheme + 3);
    target = path == target.npos ? "/" : target.substr(path);
  }
  target.resize(std::min(target.find_first_of("?#"), target.size()));
  std::string path;
  for (size_t i = 0; i < target.size(); ++i) {
    unsigned char byte = 0;
    const char* digits = target.data() + i + 1;
    if (target[i] == '%' && i + 2 < target.size() &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      path += static_cast<char>(byte);
      i += 2;
    } else {
      path += target[i];
    }
  }
  return path;
}

// Size in bytes of the head at the front of `text`, or 0 if its end has not arrived. Throws
// ApiError for line ends that another HTTP reader might interpret differently.
size_t head_bytes(std::string_view text) {
  for (size_t end = text.find('\n'); end != text.npos; end = text.find('\n', end + 1)) {
    if (end == 0 || text[end - 1] != '\r')
      throw ApiError(400, "a line of the head ends with LF alone: end lines with CR LF");
    const std::string_view next = text.substr(end + 1);
    if (next.starts_with(' ') || next.starts_with('\t'))
      throw ApiError(400, "a header line begins with a space: begin it with the header's name");
    if (next.starts_with("\r\n")) return end + 3;
  }
  return 0;
}

// True if the head has a number of 20 digits or more. The parser reports such a length with the
// same error as a length that is not a number.
bool has_huge_number(std::string_view head) {
  const auto is_digit = [](char c, char) { return std::isdigit(static_cast<unsigned char>(c)); };
  return std::search_n(head.begin(), head.end(), 20, '0', is_digit) != head.end();
}

// Throws ApiError if another HTTP reader could find a different end of the request's body.
void require_one_length(const Request& request) {
  const std::string length = text_of(request[http::field::content_length]);
  const size_t codings = request.count(http::field::transfer_encoding);
  if (request.count(http::field::content_length) + codings > 1 ||
      length.find_first_not_of("0123456789") != length.npos ||
      (codings > 0 && !iequals(request[http::field::transfer_encoding], "chunked")))
    throw ApiError(400, "give one Content-Length, or Transfer-Encoding: chunked");
}

// Throws ApiError for an HTTP/1.1 request without a Host header, which HTTP/1.1 demands, and for a
// request with several, since a proxy could use another one than this server.
void require_one_host(const Request& request) {
  const size_t hosts = request.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && request.version() == 11))
    throw ApiError(400, fmt::format("{} Host headers: give one", hosts));
}

HttpAnswer error_answer(const ApiError& error) {
  HttpAnswer answer{.status = error.status(), .body = error.json()};
  if (error.status() == 401) answer.headers = {{"WWW-Authenticate", "Bearer"}};
  if (error.status() == 429 || error.status() == 503) answer.headers = {{"Retry-After", "1"}};
  if (error.status() == 405) answer.headers = {{"Allow", error.allow()}};
  return answer;
}

// How an answer is sent, which depends on its request's method and version.
struct Sending {
  bool is_head = false;
  bool takes_chunks = true;
  milliseconds keep_alive{0};  // idle time granted to the connection; 0: closed after the answer
};

// The time in the form of HTTP's Date: "Sun, 06 Nov 1994 08:49:37 GMT".
std::string date_now() {
  return fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(std::time(nullptr)));
}

// An answer's status line, its headers and the empty line after them.
std::string head_of(const HttpAnswer& answer, const Sending& how) {
  const auto reason =
      http::obsolete_reason(http::int_to_status(static_cast<unsigned>(answer.status)));
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\nContent-Type: {}\r\n",
                                 answer.status, text_of(reason), date_now(), answer.content_type);
  for (const auto& [name, value] : answer.headers) head += fmt::format("{}: {}\r\n", name, value);
  if (!answer.stream)
    head += fmt::format("Content-Length: {}\r\n", answer.body.size());
  else if (how.takes_chunks)
    head += "Transfer-Encoding: chunked\r\n";
  if (how.keep_alive.count() == 0) return head + "Connection: close\r\n\r\n";
  return head +
         fmt::format("Connection: keep-alive\r\nKeep-Alive: timeout={}\r\n\r\n",
                     std::chrono::duration_cast<std::chrono::seconds>(how.keep_alive).count());
}

// A client's connection. Only its own thread uses it, except that others may shut down the socket.
struct Connection {
  explicit Connection(tcp::socket connected) : socket(std::move(connected)) {}

  // Waits until the socket can be read (POLLIN) or written (POLLOUT). Returns false at the
  // deadline.
  [[nodiscard]] bool wait(short event, Clock::time_point until) {
    for (;;) {
      const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
      pollfd wanted{socket.native_handle(), event, 0};
      const int ready = ::poll(&wanted, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 60'000)));
      if (ready != 0 && (ready > 0 || errno != EINTR)) return ready > 0;
      if (Clock::now() >= until) return false;
    }
  }

  // Appends bytes to `received`. The time is checked before each read, so that a client that sends
  // byte by byte does not get more time. Returns timed_out, eof, the system's error, or no error.
  error_code receive(Clock::time_point until) {
    std::array<char, 16384> bytes;
    do {
      if (Clock::now() >= until) break;
      error_code fault;
      received.append(bytes.data(), socket.read_some(net::buffer(bytes), fault));
      if (fault != net::error::would_block) return fault;
    } while (wait(POLLIN, until));
    return net::error::timed_out;
  }

  // Returns false if the other end has gone, or did not take the next kSendBufferBytes within
  // `timeout`. A client that takes that much each time gets a long answer whole.
  bool send(std::string_view bytes, milliseconds timeout) {
    while (!bytes.empty()) {
      const std::string_view slice = bytes.substr(0, kSendBufferBytes);
      if (!send_slice(slice, Clock::now() + timeout)) return false;
      bytes.remove_prefix(slice.size());
    }
    return true;
  }

  bool send_slice(std::string_view bytes, Clock::time_point until) {
    while (!bytes.empty()) {
      error_code fault;
      bytes.remove_prefix(socket.write_some(net::buffer(bytes.data(), bytes.size()), fault));
      if (fault && (fault != net::error::would_block || !wait(POLLOUT, until))) return false;
      if (!bytes.empty() && Clock::now() >= until) return false;
    }
    return true;
  }

  void shut_down(tcp::socket::shutdown_type what) {
    error_code ignored;  // the other end may have closed before
    socket.shutdown(what, ignored);
  }

  // Shuts down sending, then reads for up to kLinger what the client still sends. To close a socket
  // with unread bytes would destroy an answer that is still on its way.
  void linger() {
    shut_down(tcp::socket::shutdown_send);
    const Clock::time_point until = Clock::now() + kLinger;
    for (size_t total = 0; total < kMostLingerBytes; total += received.size()) {
      received.clear();
      if (receive(until)) return;
    }
  }

  tcp::socket socket;
  std::string received;               // bytes not yet used by a request
  std::atomic<bool> is_busy = false;  // true while it reads or answers a request
  std::thread thread;
};

// Counts bytes of a body against the budget of all requests, and gives them back when destroyed.
class Reservation {
 public:
  Reservation(std::atomic<size_t>& total, size_t bytes) : total_(total), bytes_(bytes) {
    total_ += bytes;
  }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  ~Reservation() { total_ -= bytes_; }
  void shrink_to(size_t bytes) { total_ -= std::exchange(bytes_, bytes) - bytes; }

 private:
  std::atomic<size_t>& total_;
  size_t bytes_;
};

// Reads requests, asks the handler and sends its answers. Used by the threads of all connections.
class Front {
 public:
  Front(const HttpLimits& limits, HttpHandler handler, Metrics& metrics)
      : limits_(limits), handler_(std::move(handler)), metrics_(metrics) {}

  // Serves the requests of a connection one after another until the connection ends. Once
  // `is_closing` is true, ends the connection after the current request.
  void serve(Connection& connection, const std::atomic<bool>& is_closing) {
    bool goes_on = true;
    while (goes_on && wait_for_request(connection)) {
      connection.is_busy = true;
      Parser parser;
      try {
        goes_on = serve_request(connection, parser, is_closing);
      } catch (const ApiError& error) {
        goes_on = false;  // the unread rest of this request would be taken for the next request
        const Sending how = {.is_head = parser.get().method() == http::verb::head};
        if (respond(connection, error_answer(error), how)) connection.linger();
      } catch (const PeerGone&) {
        goes_on = false;
        metrics_.answer(499);
      } catch (const std::exception&) {  // out of memory
        goes_on = false;
      }
      connection.is_busy = false;
      if (is_closing) return;
    }
  }

 private:
  // Waits for the first byte of a request, and drops empty lines before it (RFC 9112 §2.2), since
  // some clients send an empty line after a body. Returns false at the end of the idle time or the
  // connection.
  bool wait_for_request(Connection& connection) const {
    const Clock::time_point until = Clock::now() + limits_.idle_timeout;
    std::string& received = connection.received;
    for (;;) {
      size_t blank = 0;
      while (received.compare(blank, 2, "\r\n") == 0) blank += 2;
      received.erase(0, blank);
      if (!received.empty() && received != "\r") return true;
      if (connection.receive(until)) return false;
    }
  }

  [[nodiscard]] ApiError refusal(error_code fault) const {
    if (fault == net::error::timed_out) return {408, "the request did not arrive in time"};
    if (fault == http::error::header_limit)
      return {431, fmt::format("the request's headers are too many or too long: at most {} of "
                               "together {} bytes are read",
                               limits_.most_headers, limits_.most_header_bytes)};
    if (fault == http::error::body_limit)
      return {413, fmt::format("the body is larger than the {} bytes that are read: send less, or "
                               "start the server with a larger --max-body",
                               limits_.most_body_bytes)};
    return {400, "the request is no HTTP that is understood here: " + fault.message()};
  }

  // Reads a request's line and headers. Throws ApiError if they are refused.
  void read_head(Connection& connection, Parser& parser) const {
    const Clock::time_point until = Clock::now() + limits_.head_timeout;
    std::string& received = connection.received;
    error_code fault;
    size_t size = 0;
    while ((size = head_bytes(received)) == 0 && !fault)
      fault = received.size() > limits_.most_header_bytes ? http::error::header_limit
                                                          : connection.receive(until);
    if (fault) throw refusal(fault);
    parser.header_limit(static_cast<uint32_t>(limits_.most_header_bytes));
    // admit_body() checks the length, after the handler has seen the head.
    parser.body_limit(std::numeric_limits<uint64_t>::max());
    parser.put(net::buffer(received.data(), size), fault);
    if (fault == http::error::bad_content_length && has_huge_number({received.data(), size}))
      fault = http::error::body_limit;
    const Request& request = parser.get();
    if (!fault && std::distance(request.begin(), request.end()) > limits_.most_headers)
      fault = http::error::header_limit;
    if (!fault && request.method() == http::verb::unknown) fault = http::error::bad_method;
    if (fault) throw refusal(fault);
    received.erase(0, size);
  }

  // Returns an upper bound on the body's bytes. Throws ApiError if the body is refused unread.
  [[nodiscard]] size_t admit_body(const Parser& parser) const {
    const Request& request = parser.get();
    if (request.count(http::field::content_encoding) > 0)
      throw ApiError(415, "a compressed body is not read: send it as it is");
    require_one_length(request);
    const uint64_t length =
        parser.chunked() ? limits_.most_body_bytes : parser.content_length().value_or(0);
    if (length > limits_.most_body_bytes) throw refusal(http::error::body_limit);
    if (length > 0 && request.method() != http::verb::post)
      throw ApiError(400, fmt::format("a body with the method {}: leave it out, or POST it",
                                      text_of(request.method_string())));
    return length;
  }

  // Reads the admitted body. Throws ApiError if it is malformed, too long or too slow.
  void read_body(Connection& connection, Parser& parser) const {
    const Clock::time_point until = Clock::now() + limits_.body_timeout;
    if (!parser.is_done() && parser.get().version() == 11 &&  // HTTP/1.0 has no 100
        iequals(parser.get()[http::field::expect], "100-continue"))
      connection.send("HTTP/1.1 100 Continue\r\n\r\n", limits_.write_timeout);
    parser.body_limit(limits_.most_body_bytes);
    parser.eager(true);
    while (!parser.is_done()) {
      error_code fault;
      connection.received.erase(0, parser.put(net::buffer(connection.received), fault));
      if (parser.is_done() && !fault) return;
      // The parser consumes everything except an incomplete line between chunks.
      if (connection.received.size() > limits_.most_header_bytes) fault = http::error::header_limit;
      if (!fault || fault == http::error::need_more) fault = connection.receive(until);
      if (fault) throw refusal(fault);
    }
  }

  [[nodiscard]] HttpAnswer ask(const HttpCall& call) const {
    try {
      return handler_.answer(call);
    } catch (const ApiError& error) {
      return error_answer(error);
    } catch (const std::exception& error) {
      return error_answer(ApiError(500, error.what()));
    }
  }

  // Sends an answer and counts it. Returns false if not all of it was sent.
  bool respond(Connection& connection, const HttpAnswer& answer, const Sending& how) const {
    metrics_.answer(answer.status);
    const std::string head = head_of(answer, how);
    if (!answer.stream || how.is_head)
      return connection.send(how.is_head ? head : head + answer.body, limits_.write_timeout);
    bool is_sent = connection.send(head, limits_.write_timeout);
    answer.stream([&](std::string_view piece) {
      if (piece.empty() || !is_sent) return is_sent;
      is_sent = how.takes_chunks
                    ? connection.send(fmt::format("{:x}\r\n{}\r\n", piece.size(), piece),
                                      limits_.write_timeout)
                    : connection.send(piece, limits_.write_timeout);
      return is_sent;
    });
    return is_sent && (!how.takes_chunks || connection.send("0\r\n\r\n", limits_.write_timeout));
  }

  // Reads a request and answers it. Returns false if the connection must end. Throws PeerGone, and
  // ApiError for a request that is refused before its handler is called.
  bool serve_request(Connection& connection, Parser& parser, const std::atomic<bool>& is_closing) {
    read_head(connection, parser);
    const Request& request = parser.get();
    require_one_host(request);
    HttpCall call{.method = text_of(request.method_string()),
                  .path = path_of(text_of(request.target())),
                  .socket = connection.socket.native_handle()};
    handler_.check({.method = call.method,
                    .path = call.path,
                    .authorization = text_of(request[http::field::authorization]),
                    .content_type = media_type(text_of(request[http::field::content_type]))});
    Reservation memory(body_bytes_, admit_body(parser));
    if (body_bytes_ > limits_.all_body_bytes)
      throw ApiError(
          503,
          "the server is reading as many requests as its memory is meant for: try again later");
    read_body(connection, parser);
    call.body = std::move(parser.get().body());
    memory.shrink_to(call.body.size());
    const HttpAnswer answer = ask(call);
    const bool takes_chunks = request.version() == 11;
    // A connection ends after a request with a chunked body, since a proxy may have found the end
    // of such a body elsewhere.
    const bool goes_on =
        parser.keep_alive() && !parser.chunked() && !is_closing && (takes_chunks || !answer.stream);
    const bool is_sent = respond(connection, answer,
                                 {.is_head = request.method() == http::verb::head,
                                  .takes_chunks = takes_chunks,
                                  .keep_alive = goes_on ? limits_.idle_timeout : milliseconds(0)});
    if (is_sent && !goes_on) connection.linger();
    return is_sent && goes_on;
  }

  const HttpLimits limits_;
  const HttpHandler handler_;
  Metrics& metrics_;
  std::atomic<size_t> body_bytes_ = 0;  // bytes reserved by all requests
};

tcp::acceptor listen_on(net::io_context& io, const std::string& host, int port) {
  try {
    const auto flags = tcp::resolver::passive | tcp::resolver::numeric_service;
    const auto found = tcp::resolver(io).resolve(host, std::to_string(port), flags);
    return tcp::acceptor(io, *found.begin());
  } catch (const boost::system::system_error& error) {
    raise(
        "cannot listen on {}:{}: {}. Choose another --port, or a --host of this machine, such as "
        "127.0.0.1",
        host, port, error.code().message());
  }
}

}  // namespace

struct HttpServer::State {
  // A connection that was turned away, until its client has closed or kLinger is over.
  struct Leaving {
    Leaving(tcp::socket refused, net::io_context& io)
        : socket(std::move(refused)), until(io, kLinger) {}
    tcp::socket socket;
    net::steady_timer until;
    std::array<char, 16384> bytes;
    size_t total = 0;
  };

  const int most_connections;
  Metrics& metrics;
  Front front;
  std::atomic<bool> is_closing = false;
  // Only the control thread uses the members below.
  net::io_context io{1};
  net::executor_work_guard<net::io_context::executor_type> runs{io.get_executor()};
  tcp::acceptor acceptor;
  const int port;
  net::steady_timer cut_off{io};
  std::list<Connection> connections;
  int turned_away = 0;  // connections that linger
  std::thread thread;

  State(const std::string& host, int wanted_port, const HttpLimits& limits, HttpHandler handler,
        Metrics& m)
      : most_connections(limits.most_connections),
        metrics(m),
        front(limits, std::move(handler), m),
        acceptor(listen_on(io, host, wanted_port)),
        port(acceptor.local_endpoint().port()) {
    ::fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
    accept_next();
    thread = start_thread("to accept connections", [this] { io.run(); });
  }

  void accept_next() {
    acceptor.async_accept([this](error_code fault, tcp::socket socket) {
      if (!fault) take(std::move(socket));
      if (is_closing) return end_idle();
      // On a fault the process is out of descriptors or memory for now. The connection stays in the
      // system's queue.
      if (fault) std::this_thread::sleep_for(kAcceptPause);
      accept_next();
    });
  }

  void take(tcp::socket socket) {
    error_code ignored;  // the other end may have closed already
    ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
    socket.set_option(tcp::no_delay(true), ignored);
    socket.set_option(net::socket_base::send_buffer_size(kSendBufferBytes), ignored);
    socket.non_blocking(true, ignored);
    if (std::ssize(connections) >= most_connections) return turn_away(std::move(socket));
    const auto connection = connections.emplace(connections.end(), std::move(socket));
    try {
      connection->thread = std::thread([this, connection] {
        front.serve(*connection, is_closing);
        connection->shut_down(tcp::socket::shutdown_both);
        net::post(io, [this, connection] { drop(connection); });
      });
    } catch (const std::system_error&) {  // the system gives no more threads
      turn_away(std::move(connection->socket));
      connections.erase(connection);
      return;
    }
    metrics.connections(std::ssize(connections));
  }

  // Answers a connection with 503 because there are too many, without waiting for the client.
  void turn_away(tcp::socket socket) {
    const HttpAnswer answer = error_answer(
        ApiError(503, "the server has as many connections as it takes: try again later", "",
                 "too_many_connections"));
    metrics.answer(answer.status);
    const std::string text = head_of(answer, {}) + answer.body;
    error_code ignored;
    socket.write_some(net::buffer(text), ignored);
    socket.shutdown(tcp::socket::shutdown_send, ignored);
    if (turned_away == kMostTurnedAway) return;  // closes the socket
    ++turned_away;
    const auto leaving = std::make_shared<Leaving>(std::move(socket), io);
    leaving->until.async_wait([leaving](error_code) {
      error_code gone;
      leaving->socket.cancel(gone);
    });
    linger(leaving);
  }

  // Reads what a client that was turned away still sends, like Connection::linger(), but on the
  // control thread.
  void linger(const std::shared_ptr<Leaving>& leaving) {
    leaving->socket.async_read_some(net::buffer(leaving->bytes),
                                    [this, leaving](error_code fault, size_t count) {
                                      leaving->total += count;
                                      if (!fault && leaving->total < kMostLingerBytes)
                                        return linger(leaving);
                                      leaving->until.cancel();
                                      --turned_away;
                                    });
  }

  void drop(std::list<Connection>::iterator connection) {
    connection->thread.join();
    connections.erase(connection);
    metrics.connections(std::ssize(connections));
    if (is_closing && connections.empty()) io.stop();
  }

  // Ends the connections that wait for a request. A request that has arrived can still be read.
  void end_idle() {
    for (Connection& connection : connections)
      if (!connection.is_busy) connection.shut_down(tcp::socket::shutdown_receive);
  }

  void begin_close(milliseconds most) {
    is_closing = true;
    acceptor.cancel();
    // Serves the clients that wait to be accepted at this moment. Clients that come later are not
    // served, because there may always be one more.
    tcp_info queue{};
    socklen_t size = sizeof queue;
    (void)::getsockopt(acceptor.native_handle(), IPPROTO_TCP, TCP_INFO, &queue, &size);
    acceptor.non_blocking(true);
    for (uint32_t waiting = queue.tcpi_unacked; waiting > 0; --waiting) {
      error_code fault;
      tcp::socket socket = acceptor.accept(fault);
      if (fault) break;
      take(std::move(socket));
    }
    acceptor.close();
    end_idle();
    cut_off.expires_after(most);
    cut_off.async_wait([this](error_code) {
      for (Connection& connection : connections) connection.shut_down(tcp::socket::shutdown_both);
    });
    if (connections.empty()) io.stop();
  }

  void close(milliseconds most) {
    if (!thread.joinable()) return;
    net::post(io, [this, most] { begin_close(most); });
    thread.join();
  }
};

HttpServer::HttpServer(const std::string& host, int port, const HttpLimits& limits,
                       HttpHandler handler, Metrics& metrics)
    : state_(std::make_unique<State>(host, port, limits, std::move(handler), metrics)) {}
HttpServer::~HttpServer() { state_->close(milliseconds(0)); }

int HttpServer::port() const { return state_->port; }
void HttpServer::close(milliseconds most) { state_->close(most); }

}  // namespace reprise::server
