#include "methods/prompt_cache/pml/compose.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>

#include "core/base/error.h"

namespace reprise::pml {
namespace {

constexpr std::string_view kOpen = "<![CDATA[", kClose = "]]>";

// True for the characters that the production Char of XML 1.0 allows.
bool is_character(utf8proc_int32_t code) {
  if (code < 0x20) return code == '\t' || code == '\n' || code == '\r';
  return code != 0xFFFE && code != 0xFFFF;
}

void require_characters(std::string_view text, std::string_view what) {
  for (size_t at = 0, count = 1; at < text.size(); ++count) {
    utf8proc_int32_t code = 0;
    const utf8proc_ssize_t read =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at),
                         static_cast<utf8proc_ssize_t>(text.size() - at), &code);
    if (read <= 0)
      raise("{}: byte \\x{:02x} at {} is no UTF-8, and PML is; convert the text", what,
            static_cast<unsigned char>(text[at]), at);
    if (!is_character(code))
      raise("{}: character {} is U+{:04X}, which no XML file can hold; take it out", what, count,
            code);
    at += static_cast<size_t>(read);
  }
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

std::string name_of(size_t module) { return fmt::format("d{}", module + 1); }

void check(const TextSchema& schema) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  if (schema.name.empty() || !std::all_of(schema.name.begin(), schema.name.end(), is_plain))
    raise("\"{}\" is no name for a schema; letters, digits, _ - and . make one", schema.name);
  const auto modules = static_cast<int32_t>(schema.modules.size());
  for (const std::vector<int32_t>& set : schema.scaffolds) {
    std::vector<int32_t> sorted = set;
    std::sort(sorted.begin(), sorted.end());
    const bool is_set = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
    if (sorted.size() < 2 || !is_set || sorted.front() < 0 || sorted.back() > modules)
      raise("[{}] is no scaffold; it takes two or more different ones of 0 to {}",
            fmt::join(set, " "), modules);
  }
}

}  // namespace

std::string verbatim(std::string_view text, std::string_view what) {
  require_characters(text, what);
  std::string inside(text);
  // A "]]>" inside the text would end the section, so it is split between two sections.
  replace_all(inside, kClose, "]]]]><![CDATA[>");
  replace_all(inside, "\r", "]]>&#13;<![CDATA[");
  return fmt::format("{}{}{}", kOpen, inside, kClose);
}

std::string schema_text(const TextSchema& schema) {
  check(schema);
  std::string out = fmt::format("<schema name=\"{}\">", schema.name);
  if (schema.has_opening) out += "<system/>";
  if (!schema.own_text.empty()) out += verbatim(schema.own_text, "the schema's own text");
  for (size_t i = 0; i < schema.modules.size(); ++i) {
    const std::string name = name_of(i);
    if (schema.modules[i].empty()) raise("module {} is empty; leave it out", name);
    out += fmt::format("<module name=\"{}\">{}</module>", name,
                       verbatim(schema.modules[i], "module " + name));
  }
  for (const std::vector<int32_t>& set : schema.scaffolds) {
    std::vector<std::string> paths;
    for (const int32_t id : set)
      paths.push_back(id == 0 ? "." : name_of(static_cast<size_t>(id) - 1));
    out += fmt::format("<scaffold modules=\"{}\"/>", fmt::join(paths, " "));
  }
  return out + "</schema>";
}

std::string prompt_text(const TextSchema& schema, std::string_view text) {
  check(schema);
  std::string out = fmt::format("<prompt schema=\"{}\">", schema.name);
  for (size_t i = 0; i < schema.modules.size(); ++i) out += fmt::format("<{}/>", name_of(i));
  return out + verbatim(text, "the prompt's text") + "</prompt>";
}

}  // namespace reprise::pml
