// An error as the API tells it: {"error": {"message", "type", "param", "code"}} with an HTTP
// status.
#pragma once

#include <string>

#include "core/base/error.h"

namespace reprise::server {

class ApiError : public Error {
 public:
  // `param`: the request's field that is wrong, "": none. `code`: a word for programs, "": none.
  ApiError(int status, const std::string& message, std::string param = "", std::string code = "");

  [[nodiscard]] int status() const { return status_; }
  // The body of the answer, or the data of a stream's last event.
  [[nodiscard]] std::string json() const;

 private:
  int status_;
  std::string param_, code_;
};

template <typename... Args>
[[noreturn]] void refuse(int status, const std::string& param, fmt::format_string<Args...> format,
                         Args&&... args) {
  throw ApiError(status, fmt::format(format, std::forward<Args>(args)...), param);
}

}  // namespace reprise::server
