// cpp-httplib parses requests and writes answers; sockets, threads and bounds are our own. The
// library as Debian 12 has it bounds neither the number of headers nor the bytes of a chunked or
// compressed body, starts a client's time anew with each byte, stops listening for good at the
// first connection that was aborted before it was accepted, and is loose about where a request
// ends: what it leaves of one it would read as the next.
#include "server/http_front.h"

#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "server/api_error.h"
#include "server/head_lines.h"

namespace reprise::server {
namespace {

// The library's view of a connection during one request, whose head it keeps as it was sent.
class ConnectionStream final : public httplib::Stream {
 public:
  explicit ConnectionStream(Connection& connection) : connection_(connection) {}

  [[nodiscard]] const HeadLines& head() const { return head_; }

  [[nodiscard]] bool is_readable() const override { return true; }
  [[nodiscard]] bool is_writable() const override {
    return connection_.fault() == Connection::Fault::kNone;
  }
  // Throws ApiError for a line of the head that is refused.
  ssize_t read(char* out, size_t size) override {
    const ssize_t count = connection_.read(out, size);
    if (count > 0 && !connection_.is_in_body()) head_.take({out, static_cast<size_t>(count)});
    return count;
  }
  ssize_t write(const char* bytes, size_t size) override { return connection_.write(bytes, size); }
  void get_remote_ip_and_port(std::string& /*ip*/, int& port) const override { port = 0; }
  // Overrides what cpp-httplib has from 0.11 on.
  // NOLINTNEXTLINE(modernize-use-override,cppcoreguidelines-explicit-virtual-functions)
  void get_local_ip_and_port(std::string& /*ip*/, int& port) const { port = 0; }
  // For select(), which the library would refuse large numbers for and is not used here.
  [[nodiscard]] socket_t socket() const override { return 0; }

 private:
  Connection& connection_;
  HeadLines head_;
};

const char* reason_of(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Payload Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "Error";
  }
}

// Whether the client is told when to come again.
bool has_retry_after(int status) { return status == 429 || status == 503; }

constexpr const char* kRetryAfter_s = "1";

// An answer that ends the connection.
std::string closing_answer(const ApiError& error) {
  const std::string body = error.json();
  const std::string retry =
      has_retry_after(error.status()) ? fmt::format("Retry-After: {}\r\n", kRetryAfter_s) : "";
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{}Connection: "
      "close\r\n\r\n{}",
      error.status(), reason_of(error.status()), body.size(), retry, body);
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// "Application/JSON; charset=utf-8" to "application/json".
std::string media_type(const std::string& header) {
  std::string type = lower(header.substr(0, header.find(';')));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  return type;
}

ApiError error_of(Connection::Fault fault, const HttpLimits& limits) {
  switch (fault) {
    case Connection::Fault::kTimeout:
      return {408, "the request did not arrive in time"};
    case Connection::Fault::kHeaders:
      return {431, fmt::format("the request's headers are too many or too long: at most {} of "
                               "together {} bytes are read",
                               limits.most_headers, limits.most_header_bytes)};
    case Connection::Fault::kBody:
      return {413, fmt::format("the body is larger than the {} bytes that are read",
                               limits.most_body_bytes)};
    default:
      return {400, "the request is no HTTP that is understood here"};
  }
}

}  // namespace

class HttpFront::Parser final : private httplib::Server {
 public:
  Parser(const HttpLimits& limits, HttpHandler handler, Metrics& metrics)
      : limits_(limits), handler_(std::move(handler)), metrics_(metrics) {
    svr_sock_ = 0;  // the library ends streams where it has no socket to listen on
    keep_alive_max_count_ = 1000;
    keep_alive_timeout_sec_ =
        std::chrono::duration_cast<std::chrono::seconds>(limits.idle_timeout).count();
    payload_max_length_ = limits.most_body_bytes;
    // Paths were checked before the library matches them.
    const auto handle = [this](const httplib::Request& request, httplib::Response& response) {
      answer(request, response);
    };
    Get(".*", handle);
    Post(".*", handle);
    set_error_handler(
        HandlerWithResponse([this](const httplib::Request&, httplib::Response& response) {
          return explain(response);
        }));
  }
  ~Parser() override { svr_sock_ = INVALID_SOCKET; }

  void serve(int socket, std::atomic<bool>& is_busy, const std::atomic<bool>& is_closing) {
    Connection connection(socket, limits_);
    Here here{connection};
    here_ = &here;
    while (connection.await_request()) {
      is_busy = true;
      const bool goes_on = serve_one(here, is_closing);
      is_busy = false;
      if (!goes_on || is_closing) break;
    }
    here_ = nullptr;
  }

 private:
  // The request that this thread is at.
  struct Here {
    Connection& connection;
    size_t reserved_bytes = 0;  // of all_body_bytes
    bool closes = false;        // the connection ends with this request
  };

  // False: the connection is over.
  bool serve_one(Here& here, const std::atomic<bool>& is_closing) {
    here.connection.begin_head();
    here.closes = false;
    ConnectionStream stream(here.connection);
    bool is_over = false, was_served = false;
    try {
      was_served = process_request(stream, is_closing, is_over, [&](httplib::Request& request) {
        admit(request, stream.head(), here);
      });
    } catch (const ApiError& error) {
      refuse(here.connection, error);
    }
    release_all_but(0, here);
    const Connection::Fault fault = here.connection.fault();
    if (!was_served && fault != Connection::Fault::kNone && fault != Connection::Fault::kBroken &&
        here.connection.has_read() && !here.connection.has_written())
      refuse(here.connection, error_of(fault, limits_));
    if (here.closes) here.connection.linger();
    return was_served && !is_over && !here.closes && fault == Connection::Fault::kNone;
  }

  void refuse(Connection& connection, const ApiError& error) {
    metrics_.answer(error.status());
    const std::string answer = closing_answer(error);
    connection.write(answer.data(), answer.size());
    here_->closes = true;
  }

  // Between the headers and the body: refuses what need not be read, and bounds what will be.
  void admit(httplib::Request& request, const HeadLines& head, Here& here) {
    handler_.check({.method = request.method,
                    .path = request.path,
                    .authorization = request.get_header_value("Authorization"),
                    .content_type = media_type(request.get_header_value("Content-Type"))});
    if (request.has_header("Content-Encoding"))
      throw ApiError(415, "a compressed body is not read: send it as it is");
    // Answers are small or come token by token: nothing to compress, and no parts to ask for.
    request.headers.erase("Accept-Encoding");
    request.ranges.clear();
    const bool is_chunked = !head.encodings().empty();
    const size_t length = body_length(request.method, head);
    if (is_chunked) {
      // The library takes whatever follows a chunk for the end of all, and would read on behind it.
      request.headers.erase("Connection");
      request.set_header("Connection", "close");
      here.closes = true;
    }
    // Chunks bring bytes of their own.
    const size_t on_wire = is_chunked ? length + length / 2 : length;
    reserve(on_wire, here);
    here.connection.begin_body(on_wire, is_chunked);
  }

  // At most so many bytes: of a chunked body it is the bound. Throws ApiError where two readers
  // could find two ends.
  [[nodiscard]] size_t body_length(const std::string& method, const HeadLines& head) const {
    const bool is_chunked = !head.encodings().empty();
    if (head.lengths().size() + head.encodings().size() > 1 ||
        (is_chunked && lower(head.encodings()[0]) != "chunked"))
      throw ApiError(400, "give one Content-Length, or Transfer-Encoding: chunked");
    const size_t length = is_chunked               ? limits_.most_body_bytes
                          : head.lengths().empty() ? 0
                                                   : read_length(head.lengths()[0]);
    // The library reads none of a GET or HEAD, and nothing here has a use for others'.
    if (length > 0 && method != "POST")
      throw ApiError(400, fmt::format("a body with the method {}: leave it out, or POST it",
                                      method.substr(0, 20)));
    return length;
  }

  [[nodiscard]] size_t read_length(const std::string& text) const {
    uint64_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    if (!is_number && error != std::errc::result_out_of_range)
      throw ApiError(400, "Content-Length is no number of bytes");
    if (!is_number || length > limits_.most_body_bytes)
      throw error_of(Connection::Fault::kBody, limits_);
    return length;
  }

  void reserve(size_t bytes, Here& here) {
    here.reserved_bytes = bytes;
    if (reserved_bytes_.fetch_add(bytes) + bytes > limits_.all_body_bytes)
      throw ApiError(503,
                     "the server is reading as many requests as its memory is meant for: try "
                     "again later");
  }

  // Of what was reserved, all but so many bytes.
  void release_all_but(size_t bytes, Here& here) {
    const size_t kept = std::min(bytes, here.reserved_bytes);
    reserved_bytes_ -= std::exchange(here.reserved_bytes, kept) - kept;
  }

  void answer(const httplib::Request& request, httplib::Response& response) {
    release_all_but(request.body.size(), *here_);
    HttpAnswer made;
    try {
      made = handler_.answer({.method = request.method,
                              .path = request.path,
                              .body = request.body,
                              .socket = here_->connection.socket()});
    } catch (const ApiError& error) {
      made = {.status = error.status(), .body = error.json()};
      if (has_retry_after(made.status)) made.headers = {{"Retry-After", kRetryAfter_s}};
    } catch (const PeerGone&) {  // nobody reads this; the status is for the metrics
      made = {.status = 499, .body = ApiError(499, "the client has gone").json()};
      here_->closes = true;
    } catch (const std::exception& error) {
      made = {.status = 500, .body = ApiError(500, error.what()).json()};
    }
    metrics_.answer(made.status);
    response.status = made.status;
    for (const auto& [name, value] : made.headers) response.set_header(name.c_str(), value);
    if (!made.stream) {
      response.set_content(made.body, made.content_type.c_str());
      return;
    }
    response.set_chunked_content_provider(
        made.content_type.c_str(),
        [stream = std::move(made.stream)](size_t, httplib::DataSink& sink) {
          bool is_written = true;
          stream([&](std::string_view bytes) {
            is_written = is_written && sink.write(bytes.data(), bytes.size());
            return is_written;
          });
          if (is_written) sink.done();
          return is_written;
        });
  }

  // What the library refuses by itself, in the API's form.
  httplib::Server::HandlerResponse explain(httplib::Response& response) {
    if (!response.body.empty()) return HandlerResponse::Unhandled;
    const Connection::Fault fault = here_->connection.fault();
    ApiError error = error_of(fault, limits_);
    if (fault == Connection::Fault::kNone && response.status != 400)
      error = ApiError(response.status, reason_of(response.status));
    metrics_.answer(error.status());
    response.status = error.status();
    response.set_content(error.json(), "application/json");
    response.set_header("Connection", "close");
    here_->closes = true;  // what is left of the request would be read as the next one
    return HandlerResponse::Handled;
  }

  const HttpLimits limits_;
  const HttpHandler handler_;
  Metrics& metrics_;
  std::atomic<size_t> reserved_bytes_ = 0;
  static thread_local Here* here_;
};

thread_local HttpFront::Parser::Here* HttpFront::Parser::here_ = nullptr;

HttpFront::HttpFront(const HttpLimits& limits, HttpHandler handler, Metrics& metrics)
    : parser_(std::make_unique<Parser>(limits, std::move(handler), metrics)) {}
HttpFront::~HttpFront() = default;

void HttpFront::serve(int socket, std::atomic<bool>& is_busy, const std::atomic<bool>& is_closing) {
  parser_->serve(socket, is_busy, is_closing);
}

void HttpFront::turn_away(int socket) {
  const std::string answer = closing_answer(
      ApiError(503, "the server has as many connections as it takes: try again later", "",
               "too_many_connections"));
  (void)::send(socket, answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace reprise::server
