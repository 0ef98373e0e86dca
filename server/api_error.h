// An error with an HTTP status and the API's JSON: {"error": {"message", "type", "param", "code"}}.
#pragma once

#include <string>

#include "core/base/error.h"

namespace reprise::server {

class ApiError : public Error {
 public:
  // `param` names the wrong field of the request, and `code` is a word for programs; "": none.
  // `allow` is the answer's header "Allow", for status 405.
  ApiError(int status, const std::string& message, std::string param = "", std::string code = "",
           std::string allow = "");

  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] const std::string& allow() const { return allow_; }
  // The JSON for the body of the answer or for the last event of a stream.
  [[nodiscard]] std::string json() const;

 private:
  int status_;
  std::string param_, code_, allow_;
};

template <typename... Args>
[[noreturn]] void refuse(int status, const std::string& param, fmt::format_string<Args...> format,
                         Args&&... args) {
  throw ApiError(status, fmt::format(format, std::forward<Args>(args)...), param);
}

}  // namespace reprise::server
