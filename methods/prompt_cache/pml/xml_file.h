// A PML file parsed by pugixml, whose elements, texts and attributes know their places.
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

// Reads what pugixml made of a text that check_markup() accepts. `source` and `report` must outlive
// it.
class XmlFile {
 public:
  // Throws the problems of check_markup().
  XmlFile(const Source& source, const Limits& limits, Report& report);
  XmlFile(const XmlFile&) = delete;
  XmlFile& operator=(const XmlFile&) = delete;

  [[nodiscard]] pugi::xml_node root() const { return root_; }
  // Of an element its "<", of a text its first character that is no white space.
  [[nodiscard]] Place place_of(pugi::xml_node node) const;

  // Attributes of an element by name; one that comes twice is a problem.
  Attributes attributes(pugi::xml_node element);
  // The same, where only `known` ones are accepted.
  Attributes attributes(pugi::xml_node element, std::initializer_list<const char*> known);
  // The attribute's value, "" and a problem where it is missing or empty.
  std::string required(pugi::xml_node element, const Attributes& attributes, const char* name);

  // The text of a text node; an element, comment or declaration has none.
  [[nodiscard]] std::optional<Text> text_of(pugi::xml_node node) const;
  // Whether nothing but comments and white space is inside.
  [[nodiscard]] static bool is_empty(pugi::xml_node element);
  void require_empty(pugi::xml_node element);

  // part= of a chat tag: its Part, checked against what is inside. `may_be_half`: the tag stands
  // where a half may.
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
// Whether there is nothing but white space.
[[nodiscard]] bool is_blank(const std::string& text);

}  // namespace reprise::pml
