#include "core/base/visible.h"

#include <fmt/format.h>
#include <utf8proc.h>

namespace reprise {
namespace {

bool is_control(utf8proc_int32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

std::string written_out(std::string_view bytes) {
  if (bytes == "\n") return "\\n";
  if (bytes == "\r") return "\\r";
  if (bytes == "\t") return "\\t";
  std::string out;
  for (const char c : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return out;
}

}  // namespace

std::string visible(std::string_view text, std::string_view kept) {
  std::string out;
  while (!text.empty()) {
    utf8proc_int32_t code = 0;
    const utf8proc_ssize_t read =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                         static_cast<utf8proc_ssize_t>(text.size()), &code);
    const bool is_broken = read <= 0;
    const std::string_view character = text.substr(0, is_broken ? 1 : static_cast<size_t>(read));
    const bool is_kept = character.size() == 1 && kept.find(character[0]) != std::string_view::npos;
    if (is_broken || (is_control(code) && !is_kept))
      out += written_out(character);
    else
      out += character;
    text.remove_prefix(character.size());
  }
  return out;
}

}  // namespace reprise
