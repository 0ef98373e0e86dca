#include "server/embedding_answer.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <iterator>

#include "core/base/json.h"

namespace reprise::server {
namespace {

static_assert(std::endian::native == std::endian::little, "base64_of() writes bytes as they lie");

void append_base64(std::span<const float> numbers, std::string& out) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto bytes = std::as_bytes(numbers);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](size_t at) {
      return at < bytes.size() ? std::to_integer<uint32_t>(bytes[at]) : 0u;
    };
    const uint32_t three = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    for (int digit = 0; digit < 4; ++digit)
      out += i + static_cast<size_t>(digit) > bytes.size()
                 ? '='
                 : kDigits[three >> (18 - 6 * digit) & 63];
  }
}

void append_list(std::span<const float> numbers, std::string& out) {
  out += '[';
  for (size_t i = 0; i < numbers.size(); ++i)
    fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "" : ",", numbers[i]);
  out += ']';
}

}  // namespace

// Writes text directly, because Value objects would take tens of bytes for each number.
std::string embedding_answer(std::span<const float> vectors, int64_t width, bool is_base64,
                             const std::string& model, int64_t prompt_tokens) {
  std::string out = R"({"object":"list","data":[)";
  const auto numbers = static_cast<size_t>(width);
  for (size_t i = 0; i * numbers < vectors.size(); ++i) {
    fmt::format_to(std::back_inserter(out), R"({}{{"object":"embedding","index":{},"embedding":)",
                   i == 0 ? "" : ",", i);
    const auto vector = vectors.subspan(i * numbers, numbers);
    if (is_base64) {
      out += '"';
      append_base64(vector, out);
      out += '"';
    } else {
      append_list(vector, out);
    }
    out += '}';
  }
  const Fields usage = {{"prompt_tokens", prompt_tokens}, {"total_tokens", prompt_tokens}};
  return out +
         fmt::format(R"(],"model":{},"usage":{}}})", json_text(Value(model)), json_text(usage));
}

}  // namespace reprise::server
