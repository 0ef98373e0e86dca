// A PML file parsed by pugixml, with the places of its elements, texts and attributes.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <string>

#include "methods/prompt_cache/pml/tree.h"

namespace reprise::pml {

struct AttributeValue {
  std::string value;
  Place place;
};
using Attributes = std::map<std::string, AttributeValue>;

// The parsed document of a text that check_markup() accepts. `source` and `report` must outlive it.
class XmlFile {
 public:
  // Parses the source. Throws ProblemsError with the problems of check_markup().
  XmlFile(const Source& source, const Limits& limits, Report& report);
  XmlFile(const XmlFile&) = delete;
  XmlFile& operator=(const XmlFile&) = delete;

  [[nodiscard]] pugi::xml_node root() const { return root_; }
  // Place of an element's "<", or of the first character of a text that is not white space.
  [[nodiscard]] Place place_of(pugi::xml_node node) const;

  // Attributes of an element by name. Reports an attribute that comes twice.
  Attributes attributes(pugi::xml_node element);
  // Like attributes() above. Also reports attributes that are not `known`.
  Attributes attributes(pugi::xml_node element, std::initializer_list<const char*> known);
  // Value of an attribute. If the attribute is missing or empty, reports this and returns "".
  std::string required(pugi::xml_node element, const Attributes& attributes, const char* name);

  // Text of a text or CDATA node; nothing for other nodes.
  [[nodiscard]] std::optional<Text> text_of(pugi::xml_node node) const;
  // True if the element holds nothing but comments and white space.
  [[nodiscard]] static bool is_empty(pugi::xml_node element);
  void require_empty(pugi::xml_node element);

  // Returns what a chat element stands for. With an attribute part= it is kOpen or kClose;
  // otherwise it is kEmpty if the element has no content, else kWhole. Reports a part= of another
  // value, part= where `may_be_half` is false or on an element with content, and an empty element
  // other than <system/>.
  Part chat_part(pugi::xml_node element, Role role, bool may_be_half);

  Report& report() { return report_; }

 private:
  [[nodiscard]] size_t offset_of(const char* in_buffer) const;

  const Source& source_;
  Report& report_;
  std::string buffer_;  // pugixml's strings point into it
  pugi::xml_document document_;
  pugi::xml_node root_;
};

[[nodiscard]] std::optional<Role> role_of(const std::string& tag);
// True if `text` is empty or white space only.
[[nodiscard]] bool is_blank(const std::string& text);

}  // namespace reprise::pml
