// Parses <schema>: modules, unions, parameters, gaps, scaffolds, turns and texts.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>

#include "core/base/error.h"
#include "methods/prompt_cache/pml/parse.h"
#include "methods/prompt_cache/pml/scaffold_sets.h"
#include "methods/prompt_cache/pml/src_file.h"
#include "methods/prompt_cache/pml/xml_file.h"

namespace reprise::pml {
namespace {

// The names taken inside one module, or in the schema itself. Unions and turns open no scope: the
// path of a module or parameter does not name the union or turn around it.
struct Scope {
  std::map<std::string, Place> modules, parameters;
  size_t path_bytes = 0;  // length of the module's path
  bool is_schema = false;
};

// The surroundings of an element.
struct Around {
  Scope& scope;
  const char* chat = nullptr;  // tag of the turn around it, at any depth; null: none
  bool is_root = false;        // it is a direct child of <schema>
};

bool is_name(const std::string& name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto is_more = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  return !name.empty() && is_letter(name[0]) && std::all_of(name.begin(), name.end(), is_more);
}

class SchemaReader {
 public:
  SchemaReader(const Source& source, const Limits& limits)
      : source_(source),
        limits_(limits),
        report_(source.name()),
        file_(source, limits, report_),
        src_budget_(limits.src_bytes) {}

  Schema read() {
    const pugi::xml_node root = file_.root();
    schema_.file = source_.name();
    schema_.place = file_.place_of(root);
    if (std::string_view(root.name()) != "schema") {
      report_.add(
          schema_.place,
          fmt::format("the root is <{}>; a schema's is <schema name=\"...\">", root.name()));
      report_.raise_if_any();
    }
    schema_.name = file_.required(root, file_.attributes(root, {"name"}), "name");
    Scope scope{.is_schema = true};
    schema_.children = children(root, {.scope = scope, .is_root = true});
    check_scaffolds(schema_, report_);
    report_.raise_if_any();
    return std::move(schema_);
  }

 private:
  void problem(pugi::xml_node node, std::string_view sentence) {
    report_.add(file_.place_of(node), sentence);
  }

  std::vector<Node> children(pugi::xml_node parent, const Around& around) {
    std::vector<Node> out;
    for (const pugi::xml_node node : parent.children()) {
      if (node.type() == pugi::node_element)
        element(node, around, out);
      else if (std::optional<Text> text = file_.text_of(node))
        out.push_back({std::move(*text)});
    }
    return out;
  }

  void element(pugi::xml_node node, const Around& around, std::vector<Node>& out) {
    const std::string tag = node.name();
    if (tag == "module" && !node.attribute("name")) {
      anonymous_module(node, around, out);
    } else if (tag == "module") {
      out.push_back({module(node, around)});
    } else if (tag == "union") {
      out.push_back({make_union(node, around)});
    } else if (tag == "param" || tag == "parameter") {
      out.push_back({parameter(node, around.scope)});
    } else if (tag == "gap") {
      file_.require_empty(node);
      const Attributes given = file_.attributes(node, {"len", "length"});
      out.push_back({Gap{.place = file_.place_of(node), .length = length(node, given)}});
    } else if (tag == "scaffold") {
      scaffold(node, around);
    } else if (const auto role = role_of(tag)) {
      out.push_back({chat(node, *role, around)});
    } else {
      problem(node, unknown("element", tag,
                            {"module", "union", "param", "parameter", "gap", "scaffold", "system",
                             "user", "assistant"}));
    }
  }

  // Returns the name of a module or parameter and adds it to `taken`.
  std::string name(pugi::xml_node node, const Attributes& given, const char* what,
                   std::map<std::string, Place>& taken) {
    std::string name = file_.required(node, given, "name");
    if (name.empty()) return name;
    const Place place = given.at("name").place;
    if (!is_name(name))
      report_.add(place, fmt::format("\"{}\" is no name; a name is a letter or _, then letters, "
                                     "digits, _ - and .",
                                     name));
    const auto [first, is_new] = taken.try_emplace(name, place);
    if (!is_new)
      report_.add(place, fmt::format("a second {} \"{}\" beside that of line {}; name it otherwise",
                                     what, name, first->second.line));
    return name;
  }

  Module module(pugi::xml_node node, const Around& around) {
    Module out{.place = file_.place_of(node)};
    const Attributes given = file_.attributes(node, {"name", "src", "cache"});
    out.name = name(node, given, "module", around.scope.modules);
    if (role_of(out.name))
      report_.add(
          given.at("name").place,
          fmt::format("a module cannot be named \"{}\": in a prompt, <{}> is a turn; name it "
                      "otherwise",
                      out.name, out.name));
    if (const auto cache = given.find("cache"); cache != given.end()) {
      out.is_cached = cache->second.value != "false";
      if (out.is_cached && cache->second.value != "true")
        report_.add(cache->second.place,
                    fmt::format("cache=\"{}\"; known are true and false", cache->second.value));
    }
    if (const auto src = given.find("src"); src != given.end())
      read_src_into(out.children, src->second);
    Scope scope{.path_bytes = around.scope.path_bytes + out.name.size() + 1};
    if (scope.path_bytes > limits_.path_bytes)
      problem(node,
              fmt::format("the names of the modules around this one and its own have more than "
                          "{} characters; shorten them",
                          limits_.path_bytes));
    std::vector<Node> inside = children(node, {.scope = scope, .chat = around.chat});
    std::move(inside.begin(), inside.end(), std::back_inserter(out.children));
    return out;
  }

  // A module without a name is always included: its content belongs to the module around it, or to
  // the schema. [Prompt Cache §3.2.1]
  void anonymous_module(pugi::xml_node node, const Around& around, std::vector<Node>& out) {
    const Attributes given = file_.attributes(node, {"name", "src", "cache"});
    if (const auto cache = given.find("cache"); cache != given.end())
      report_.add(cache->second.place,
                  "a module without a name is part of what is around it, so cache= has no effect; "
                  "name it, or leave cache= out");
    const Gap border{.place = file_.place_of(node), .length = 0};
    out.push_back({border});
    if (const auto src = given.find("src"); src != given.end()) read_src_into(out, src->second);
    std::vector<Node> inside = children(node, {.scope = around.scope, .chat = around.chat});
    std::move(inside.begin(), inside.end(), std::back_inserter(out));
    out.push_back({border});
  }

  void read_src_into(std::vector<Node>& children, const AttributeValue& src) {
    try {
      children.push_back({Text{
          .place = src.place, .text = read_src(source_, src.value, src_budget_), .is_file = true}});
    } catch (const Error& error) {
      report_.add(src.place, error.what());
    }
  }

  Union make_union(pugi::xml_node node, const Around& around) {
    Union out{.place = file_.place_of(node)};
    const Attributes given = file_.attributes(node, {"scaffold"});
    std::vector<std::string> names;
    for (const pugi::xml_node child : node.children()) {
      const std::optional<Text> text = file_.text_of(child);
      if (std::string_view(child.name()) == "module") {
        out.members.push_back(module(child, {.scope = around.scope, .chat = around.chat}));
        names.push_back(out.members.back().name);
      } else if (child.type() == pugi::node_element) {
        problem(child, fmt::format("<{}> directly in <union>; a union holds modules, put it into "
                                   "one of them",
                                   child.name()));
      } else if (text && !is_blank(text->text)) {
        report_.add(text->place, "text directly in <union>; put it into one of its modules");
      }
    }
    if (out.members.empty()) problem(node, "<union> has no modules; put in those to choose from");
    if (const auto named = given.find("scaffold"); named != given.end()) {
      out.default_member = named->second.value;
      if (std::find(names.begin(), names.end(), out.default_member) == names.end())
        report_.add(named->second.place,
                    fmt::format("scaffold: {}", unknown("member", out.default_member, names)));
    }
    return out;
  }

  Parameter parameter(pugi::xml_node node, Scope& scope) {
    Parameter out{.place = file_.place_of(node)};
    file_.require_empty(node);
    const Attributes given = file_.attributes(node, {"name", "len", "length", "scaffold"});
    out.name = name(node, given, "parameter", scope.parameters);
    out.length = length(node, given);
    if (const auto text = given.find("scaffold"); text != given.end())
      out.scaffold = text->second.value;
    if (scope.is_schema)
      problem(node, fmt::format("parameter \"{}\" is in no module, so that no prompt can give its "
                                "argument; put it into a module",
                                out.name));
    return out;
  }

  // Reads len= (the paper's name) or length= (the released code's name).
  int64_t length(pugi::xml_node node, const Attributes& given) {
    const bool has_both = given.contains("len") && given.contains("length");
    const auto found = given.contains("len") ? given.find("len") : given.find("length");
    if (found == given.end() || has_both) {
      problem(node, fmt::format("<{}> needs one of len and length, in tokens", node.name()));
      return 1;
    }
    const auto& [text, place] = found->second;
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 1 ||
        value > limits_.positions) {
      report_.add(place, fmt::format("{}=\"{}\" is no number of tokens; write one from 1 to {}",
                                     found->first, text, limits_.positions));
      return 1;
    }
    return value;
  }

  void scaffold(pugi::xml_node node, const Around& around) {
    file_.require_empty(node);
    const std::string list = file_.required(node, file_.attributes(node, {"modules"}), "modules");
    Scaffold out{.place = file_.place_of(node)};
    for (size_t at = 0; at < list.size();) {
      const size_t end = std::min(list.find_first_of(" \t\r\n", at), list.size());
      if (end > at) out.paths.push_back(list.substr(at, end - at));
      at = end + 1;
    }
    if (!around.is_root)
      problem(node, "<scaffold> stands inside another element; put it directly into <schema>");
    else if (!list.empty() && out.paths.size() < 2)
      problem(node, "<scaffold> needs at least two modules, such as modules=\"a b/c\"");
    else
      schema_.scaffolds.push_back(std::move(out));
  }

  Chat chat(pugi::xml_node node, Role role, const Around& around) {
    Chat out{.place = file_.place_of(node), .role = role};
    if (around.chat != nullptr)
      problem(node, fmt::format("<{}> inside <{}>; turns follow each other, put it behind",
                                name_of(role), around.chat));
    out.part = file_.chat_part(node, role, around.is_root);
    int32_t& open = schema_.open_turns[static_cast<size_t>(role)];
    if (out.part == Part::kOpen) ++open;
    if (out.part == Part::kClose && --open < 0) {
      open = 0;
      problem(node, fmt::format("<{} part=\"close\"/> closes no turn; write <{} part=\"open\"/> "
                                "before it",
                                name_of(role), name_of(role)));
    }
    if (out.part == Part::kWhole)
      out.children = children(node, {.scope = around.scope, .chat = name_of(role)});
    return out;
  }

  const Source& source_;
  const Limits& limits_;
  Report report_;
  XmlFile file_;
  size_t src_budget_;
  Schema schema_;
};

}  // namespace

Schema parse_schema(const Source& source, const Limits& limits) {
  return SchemaReader(source, limits).read();
}

}  // namespace reprise::pml
