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

// Writes to the client. Returns false if the client has gone or reads too slowly.
using HttpWrite = std::function<bool(std::string_view)>;

struct HttpAnswer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
  // If set, it writes the body piece by piece after status and headers are sent; `body` is unused.
  std::function<void(const HttpWrite& write)> stream = {};
};

// The functions that a server calls. Both must be thread-safe and throw ApiError to refuse.
struct HttpHandler {
  std::function<void(const HttpHead&)> check;  // before the body is read
  std::function<HttpAnswer(const HttpCall&)> answer;
};

// Thrown by `answer` if the client has gone. No answer is written then.
struct PeerGone {};

}  // namespace reprise::server
