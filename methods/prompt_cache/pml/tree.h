// Schemas and prompts as they are written: what the elements of PML say, and where. docs/pml.md is
// the language's reference. [Prompt Cache §3.2]
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "methods/prompt_cache/pml/source.h"

namespace reprise::pml {

enum class Role : uint8_t { kSystem, kUser, kAssistant };
inline constexpr std::array<const char*, 3> kRoleNames = {"system", "user", "assistant"};
[[nodiscard]] inline const char* name_of(Role role) {
  return kRoleNames[static_cast<size_t>(role)];
}

// Which part of a turn's template a chat tag stands for.
enum class Part : uint8_t {
  kWhole,  // <user> ... </user>
  kOpen,   // <user part="open"/>
  kClose,  // <user part="close"/>
  kEmpty   // <system/>
};

struct Text {
  Place place;  // of the first character that is no white space
  std::string text;
  bool is_verbatim = false;  // CDATA: white space stays as it is
  bool is_file = false;      // of src: a run of its own
};

// <param name= len=> or <parameter name= length= scaffold=>: room for an argument. [§3.2.2]
struct Parameter {
  Place place;
  std::string name;
  int64_t length = 0;    // positions, > 0
  std::string scaffold;  // text that stands for the argument while the module is encoded
};

// <gap len=>: positions that nothing of the schema takes; a prompt's text may. [§3.4]
struct Gap {
  Place place;
  int64_t length = 0;
};

struct Node;

struct Module {
  Place place;
  std::string name;
  bool is_cached = true;  // cache="false": its states are computed anew for each prompt
  std::vector<Node> children;
};

// Modules that exclude each other and share their first position. [§3.2.3]
struct Union {
  Place place;
  std::string default_member;  // scaffold=: present while the rest is encoded jointly; "": none
  std::vector<Module> members;
};

// <system>, <user>, <assistant>: a turn's text between its template's markers. [§3.2.3]
struct Chat {
  Place place;
  Role role = Role::kUser;
  Part part = Part::kWhole;
  std::vector<Node> children;  // kWhole alone has any
};

struct Node {
  std::variant<Text, Parameter, Gap, Module, Union, Chat> value;
};

// <scaffold modules="a b/c">: modules that are encoded together too. "." is the schema's own text.
// [§3.3]
struct Scaffold {
  Place place;
  std::vector<std::string> paths;  // at least two, each of a module or "."
};

struct Schema {
  std::string file;  // for messages
  Place place;
  std::string name;
  std::vector<Node> children;
  std::vector<Scaffold> scaffolds;
  // For each role how many turns part="open" leaves open at the end.
  std::array<int32_t, 3> open_turns = {0, 0, 0};
};

struct Argument {
  Place place;
  std::string parameter, value;
};

// <module-name parameter="argument"> with the modules inside it that are imported too.
struct Reference {
  Place place;
  std::string name;
  std::vector<Argument> arguments;
  std::vector<Reference> nested;
};

struct PromptNode;

struct PromptChat {
  Place place;
  Role role = Role::kUser;
  Part part = Part::kWhole;
  std::vector<PromptNode> children;
};

struct PromptNode {
  std::variant<Text, Reference, PromptChat> value;
};

struct Prompt {
  std::string file;
  Place place;
  std::string schema;  // its name
  std::vector<PromptNode> children;
};

// Every module's path: the names of the modules around it and its own with "/" between them (names
// have none). Unions and chat tags are no part of it.
[[nodiscard]] inline std::string path_below(const std::string& parent, const std::string& name) {
  return parent.empty() ? name : parent + "/" + name;
}

}  // namespace reprise::pml
