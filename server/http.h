// A request and its answer as the endpoints see them, independent of the HTTP library.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprise::server {

// The part of a request that is known before its body is read.
struct HttpHead {
  std::string method, path;
  std::string authorization;  // the header; "": none
  std::string content_type;   // in lower case, without parameters; "": none
};

struct HttpCall {
  std::string method, path, body;
  int socket = -1;  // socket of the connection, used to notice that the client has gone
};

// Writes a piece of an answer to the client. Returns false if the client has closed the connection
// or reads too slowly.
using HttpWrite = std::function<bool(std::string_view)>;

struct HttpAnswer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
  // If set, it is called after status and headers are sent, and writes the body piece by piece
  // with `write`. `body` is then unused.
  std::function<void(const HttpWrite& write)> stream = {};
};

// The functions that an HttpServer calls. Both must be thread-safe, and throw ApiError to refuse a
// request.
struct HttpHandler {
  std::function<void(const HttpHead&)> check;  // before the body is read
  std::function<HttpAnswer(const HttpCall&)> answer;
};

// Thrown by HttpHandler::answer if the client has closed the connection. No answer is written then.
struct PeerGone {};

}  // namespace reprise::server
