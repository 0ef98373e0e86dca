#include "methods/prompt_cache/pml/xml_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "methods/prompt_cache/pml/markup.h"

namespace reprise::pml {
namespace {

// Keeps everything that pugixml would otherwise drop in silence.
constexpr unsigned int kKeepAll = pugi::parse_cdata | pugi::parse_escapes | pugi::parse_eol |
                                  pugi::parse_wconv_attribute | pugi::parse_ws_pcdata |
                                  pugi::parse_comments | pugi::parse_pi | pugi::parse_declaration |
                                  pugi::parse_doctype | pugi::parse_fragment;

}  // namespace

std::optional<Role> role_of(const std::string& tag) {
  for (size_t i = 0; i < kRoleNames.size(); ++i)
    if (tag == kRoleNames[i]) return static_cast<Role>(i);
  return std::nullopt;
}

bool is_blank(const std::string& text) { return text.find_first_not_of(kBlank) == text.npos; }

XmlFile::XmlFile(const Source& source, const Limits& limits, Report& report)
    : source_(source), report_(report), buffer_(source.text()) {
  check_markup(source, limits, report);
  report.raise_if_any();
  const pugi::xml_parse_result result =
      document_.load_buffer_inplace(buffer_.data(), buffer_.size(), kKeepAll, pugi::encoding_utf8);
  if (!result) {
    report.add(source.place_of(static_cast<size_t>(std::max<ptrdiff_t>(result.offset, 0))),
               fmt::format("malformed XML ({})", result.description()));
    report.raise_if_any();
  }
  for (const pugi::xml_node node : document_.children())
    if (node.type() == pugi::node_element) root_ = node;
  REPRISE_CHECK(!root_.empty(), "{} passed the scan without an element", source.name());
}

size_t XmlFile::offset_of(const char* in_buffer) const {
  return static_cast<size_t>(in_buffer - buffer_.data());
}

Place XmlFile::place_of(pugi::xml_node node) const {
  const ptrdiff_t offset = node.offset_debug();
  REPRISE_CHECK(offset >= 0, "a node of {} does not know its offset", source_.name());
  size_t first = static_cast<size_t>(offset);
  if (node.type() == pugi::node_element) return source_.place_of(first - 1);
  const std::string& text = source_.text();
  const size_t visible = text.find_first_not_of(kBlank, first);
  return source_.place_of(is_blank(node.value()) || visible == text.npos ? first : visible);
}

Attributes XmlFile::attributes(pugi::xml_node element) {
  Attributes found;
  for (const pugi::xml_attribute attribute : element.attributes()) {
    const Place place = source_.place_of(offset_of(attribute.name()));
    if (!found.try_emplace(attribute.name(), attribute.value(), place).second)
      report_.add(place, fmt::format("attribute \"{}\" of <{}> comes twice; keep one",
                                     attribute.name(), element.name()));
  }
  return found;
}

Attributes XmlFile::attributes(pugi::xml_node element, std::initializer_list<const char*> known) {
  const std::vector<std::string> names(known.begin(), known.end());
  Attributes found = attributes(element);
  for (const auto& [name, attribute] : found)
    if (std::find(names.begin(), names.end(), name) == names.end())
      report_.add(attribute.place,
                  fmt::format("<{}>: {}", element.name(), unknown("attribute", name, names)));
  return found;
}

std::string XmlFile::required(pugi::xml_node element, const Attributes& attributes,
                              const char* name) {
  const auto found = attributes.find(name);
  if (found != attributes.end() && !found->second.value.empty()) return found->second.value;
  report_.add(found == attributes.end() ? place_of(element) : found->second.place,
              fmt::format("<{}> has no {}; write <{} {}=\"...\">", element.name(), name,
                          element.name(), name));
  return "";
}

std::optional<Text> XmlFile::text_of(pugi::xml_node node) const {
  const bool is_verbatim = node.type() == pugi::node_cdata;
  if (!is_verbatim && node.type() != pugi::node_pcdata) return std::nullopt;
  return Text{.place = place_of(node), .text = node.value(), .is_verbatim = is_verbatim};
}

bool XmlFile::is_empty(pugi::xml_node element) {
  for (const pugi::xml_node node : element.children()) {
    if (node.type() == pugi::node_element || node.type() == pugi::node_cdata) return false;
    if (node.type() == pugi::node_pcdata && !is_blank(node.value())) return false;
  }
  return true;
}

void XmlFile::require_empty(pugi::xml_node element) {
  if (!is_empty(element))
    report_.add(place_of(element), fmt::format("<{}> holds nothing; write it as <{} .../> and put "
                                               "what is inside behind it",
                                               element.name(), element.name()));
}

Part XmlFile::chat_part(pugi::xml_node element, Role role, bool may_be_half) {
  const Attributes given = attributes(element, {"part"});
  const std::string tag = name_of(role);
  const auto part = given.find("part");
  if (part == given.end()) {
    if (!is_empty(element)) return Part::kWhole;
    if (role != Role::kSystem)
      report_.add(
          place_of(element),
          fmt::format("<{}> holds nothing; put the turn's text inside, or write part=\"open\" "
                      "or part=\"close\" for one end of the turn",
                      tag));
    return Part::kEmpty;
  }
  require_empty(element);
  const std::string& value = part->second.value;
  if (value != "open" && value != "close")
    report_.add(part->second.place,
                fmt::format("<{}> has part=\"{}\"; known are open and close", tag, value));
  else if (!may_be_half)
    report_.add(
        place_of(element),
        fmt::format("<{} part=\"{}\"> stands inside another element, which a prompt may leave "
                    "out; put it directly into the root",
                    tag, value));
  return value == "close" ? Part::kClose : Part::kOpen;
}

}  // namespace reprise::pml
