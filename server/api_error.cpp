#include "server/api_error.h"

#include <utility>

#include "core/base/json.h"

namespace reprise::server {
namespace {

const char* type_of(int status) {
  if (status == 429) return "rate_limit_error";
  if (status == 408) return "timeout_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

Value text_or_null(const std::string& text) { return text.empty() ? Value() : Value(text); }

}  // namespace

ApiError::ApiError(int status, const std::string& message, std::string param, std::string code,
                   std::string allow)
    : Error(message),
      status_(status),
      param_(std::move(param)),
      code_(std::move(code)),
      allow_(std::move(allow)) {}

std::string ApiError::json() const {
  const Fields error = {{"message", what()},
                        {"type", type_of(status_)},
                        {"param", text_or_null(param_)},
                        {"code", text_or_null(code_)}};
  return json_text(Fields{{"error", error}});
}

}  // namespace reprise::server
