// Parses <prompt>: references to modules with arguments, turns and texts.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "methods/prompt_cache/pml/parse.h"
#include "methods/prompt_cache/pml/xml_file.h"

namespace reprise::pml {
namespace {

class PromptReader {
 public:
  PromptReader(const Source& source, const Limits& limits)
      : report_(source.name()), file_(source, limits, report_) {}

  Prompt read() {
    const pugi::xml_node root = file_.root();
    Prompt out{.file = report_.file(), .place = file_.place_of(root)};
    if (std::string_view(root.name()) != "prompt") {
      report_.add(out.place, fmt::format("the root is <{}>; a prompt's is <prompt schema=\"...\">",
                                         root.name()));
      report_.raise_if_any();
    }
    out.schema = file_.required(root, file_.attributes(root, {"schema"}), "schema");
    out.children = children(root, /*chat=*/nullptr);
    report_.raise_if_any();
    return out;
  }

 private:
  // `chat` is the tag of the turn if `parent` is one, otherwise null.
  std::vector<PromptNode> children(pugi::xml_node parent, const char* chat) {
    std::vector<PromptNode> out;
    for (const pugi::xml_node node : parent.children()) {
      if (std::optional<Text> text = file_.text_of(node))
        out.push_back({std::move(*text)});
      else if (node.type() != pugi::node_element)
        continue;
      else if (const auto role = role_of(node.name()))
        out.push_back({turn(node, *role, chat)});
      else
        out.push_back({reference(node)});
    }
    return out;
  }

  PromptChat turn(pugi::xml_node node, Role role, const char* chat) {
    PromptChat out{.place = file_.place_of(node), .role = role};
    if (chat != nullptr)
      report_.add(out.place, fmt::format("<{}> inside <{}>; turns follow each other, put it behind",
                                         name_of(role), chat));
    out.part = file_.chat_part(node, role, /*may_be_half=*/chat == nullptr);
    if (out.part == Part::kWhole) out.children = children(node, name_of(role));
    return out;
  }

  Reference reference(pugi::xml_node node) {
    Reference out{.place = file_.place_of(node), .name = node.name()};
    for (const auto& [name, attribute] : file_.attributes(node))
      out.arguments.push_back({attribute.place, name, attribute.value});
    // Arguments stay in the order in which they are written, as in the released code.
    std::sort(out.arguments.begin(), out.arguments.end(), [](const Argument& a, const Argument& b) {
      return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
    });
    for (const pugi::xml_node child : node.children()) {
      const std::optional<Text> text = file_.text_of(child);
      if (text && (text->is_verbatim || !is_blank(text->text)))
        report_.add(
            text->place,
            fmt::format("text inside <{}>; a module's text is the schema's, put yours behind "
                        "</{}>",
                        out.name, out.name));
      else if (child.type() == pugi::node_element && role_of(child.name()))
        report_.add(file_.place_of(child), fmt::format("<{}> inside <{}>; put it behind </{}>",
                                                       child.name(), out.name, out.name));
      else if (child.type() == pugi::node_element)
        out.nested.push_back(reference(child));
    }
    return out;
  }

  Report report_;
  XmlFile file_;
};

}  // namespace

Prompt parse_prompt(const Source& source, const Limits& limits) {
  return PromptReader(source, limits).read();
}

bool is_prompt(const Source& source, const Limits& limits) {
  Report report(source.name());
  return std::string_view(XmlFile(source, limits, report).root().name()) == "prompt";
}

}  // namespace reprise::pml
