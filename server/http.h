// A request and its answer as the endpoints see them, whatever the library that speaks HTTP.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprise::server {

// What is known of a request before its body is read.
struct HttpHead {
  std::string method, path;
  std::string authorization;  // the header; "": none
  std::string content_type;   // in lower case, without parameters; "": none
};

struct HttpCall {
  std::string method, path, body;
  int socket = -1;  // the connection's, to learn that the other end has gone
};

// False: the other end has gone, or reads too slowly.
using HttpWrite = std::function<bool(std::string_view)>;

struct HttpAnswer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
  // Writes the body piece by piece instead, once `status` is on its way.
  std::function<void(const HttpWrite& write)> stream = {};
};

// Both are called from many threads at once; both throw ApiError for what they refuse.
struct HttpHandler {
  std::function<void(const HttpHead&)> check;  // before the body is read
  std::function<HttpAnswer(const HttpCall&)> answer;
};

// Thrown by `answer` where the other end has gone: nothing is written.
struct PeerGone {};

}  // namespace reprise::server
