#include "methods/prompt_cache/pml/scaffold_sets.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

namespace reprise::pml {
namespace {

// The unions around a module, each with the member that contains the module.
using Choices = std::map<const Union*, const Module*>;

void collect(const std::vector<Node>& children, const std::string& path, const Choices& choices,
             std::map<std::string, Choices>& out);

void collect(const Module& module, const std::string& parent, const Choices& choices,
             std::map<std::string, Choices>& out) {
  const std::string path = path_below(parent, module.name);
  out.emplace(path, choices);
  collect(module.children, path, choices, out);
}

void collect(const std::vector<Node>& children, const std::string& path, const Choices& choices,
             std::map<std::string, Choices>& out) {
  for (const Node& node : children) {
    if (const auto* module = std::get_if<Module>(&node.value)) {
      collect(*module, path, choices, out);
    } else if (const auto* chat = std::get_if<Chat>(&node.value)) {
      collect(chat->children, path, choices, out);
    } else if (const auto* group = std::get_if<Union>(&node.value)) {
      for (const Module& member : group->members) {
        Choices with_member = choices;
        with_member[group] = &member;
        collect(member, path, with_member, out);
      }
    }
  }
}

void check(const Scaffold& scaffold, const std::map<std::string, Choices>& known,
           const std::vector<std::string>& names, Report& report) {
  std::set<std::string> seen;
  std::map<const Union*, std::pair<const Module*, std::string>> chosen;
  for (const std::string& path : scaffold.paths) {
    if (!seen.insert(path).second) {
      report.add(scaffold.place, fmt::format("<scaffold> names \"{}\" twice; name it once", path));
      continue;
    }
    if (path == ".") continue;
    const auto found = known.find(path);
    if (found == known.end()) {
      report.add(scaffold.place, fmt::format("<scaffold>: {}", unknown("module", path, names)));
      continue;
    }
    for (const auto& [group, member] : found->second) {
      const auto& [other, other_path] = chosen.try_emplace(group, member, path).first->second;
      if (other != member)
        report.add(scaffold.place,
                   fmt::format("<scaffold> names \"{}\" and \"{}\", of which the union of line {} "
                               "lets a prompt have one; make it two scaffolds",
                               other_path, path, group->place.line));
    }
  }
}

}  // namespace

void check_scaffolds(const Schema& schema, Report& report) {
  if (schema.scaffolds.empty()) return;
  std::map<std::string, Choices> known;
  collect(schema.children, "", {}, known);
  std::vector<std::string> names;
  for (const auto& [path, choices] : known) names.push_back(path);
  std::map<std::set<std::string>, Place> sets;
  for (const Scaffold& scaffold : schema.scaffolds) {
    check(scaffold, known, names, report);
    std::set<std::string> paths(scaffold.paths.begin(), scaffold.paths.end());
    const auto [same, is_new] = sets.try_emplace(std::move(paths), scaffold.place);
    if (!is_new)
      report.add(
          scaffold.place,
          fmt::format("<scaffold> of the same modules as in line {}; keep one", same->second.line));
  }
}

}  // namespace reprise::pml
