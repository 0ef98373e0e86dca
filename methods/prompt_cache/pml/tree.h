// Syntax trees of schemas and prompts, each element with its place. docs/pml.md is the language's
// reference. [Prompt Cache §3.2]
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

// The part of a turn that a chat tag stands for.
enum class Part : uint8_t {
  kWhole,  // <user> ... </user>
  kOpen,   // <user part="open"/>
  kClose,  // <user part="close"/>
  kEmpty   // <system/>
};

struct Text {
  Place place;  // place of the first character that is not white space
  std::string text;
  bool is_verbatim = false;  // from CDATA: white space is kept
  bool is_file = false;      // from a src= file: tokenized by itself
};

// <param name= len=> or <parameter name= length= scaffold=> reserves positions for an argument.
// [§3.2.2]
struct Parameter {
  Place place;
  std::string name;
  int64_t length = 0;    // in positions, > 0
  std::string scaffold;  // text that stands for the argument while the module is encoded
};

// <gap len=> leaves positions free, which a prompt's text may take. [§3.4] The parser puts gaps of
// length 0 around the content of a module without a name, so that its texts are tokenized by
// themselves.
struct Gap {
  Place place;
  int64_t length = 0;
};

struct Node;

struct Module {
  Place place;
  std::string name;
  bool is_cached = true;  // false (cache="false"): its states are computed for each prompt
  std::vector<Node> children;
};

// Modules that exclude each other and share their first position. [§3.2.3]
struct Union {
  Place place;
  std::string default_member;  // scaffold=, the member used in the joint encoding; "": none
  std::vector<Module> members;
};

// <system>, <user> and <assistant> put the markers of the chat template around a turn. [§3.2.3]
struct Chat {
  Place place;
  Role role = Role::kUser;
  Part part = Part::kWhole;
  std::vector<Node> children;  // empty unless kWhole
};

struct Node {
  std::variant<Text, Parameter, Gap, Module, Union, Chat> value;
};

// <scaffold modules="a b/c"> names modules that are also encoded together. [§3.3]
struct Scaffold {
  Place place;
  std::vector<std::string> paths;  // at least two; "." is the schema's own text
};

struct Schema {
  std::string file;  // name used in messages
  Place place;
  std::string name;
  std::vector<Node> children;
  std::vector<Scaffold> scaffolds;
  // Number of turns by role that are opened with part="open" and still open at the end.
  std::array<int32_t, 3> open_turns = {0, 0, 0};
};

struct Argument {
  Place place;
  std::string parameter, value;
};

// <module-name parameter="argument"> imports a module. References nested in it import modules that
// are inside that module.
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
  std::string schema;  // name of its schema
  std::vector<PromptNode> children;
};

// The path of a module: the names of the modules around it and its own, joined by "/", which names
// cannot contain. Unions and chat tags are not part of it.
[[nodiscard]] inline std::string path_below(const std::string& parent, const std::string& name) {
  return parent.empty() ? name : parent + "/" + name;
}

}  // namespace reprise::pml
