#include "core/engine/named_prefixes.h"

#include <algorithm>

#include "core/base/error.h"

namespace reprise::engine {

void NamedPrefixes::check_new(const std::string& name) const {
  if (name.empty()) raise("a prefix was declared without a name: give it one");
  if (names_.contains(name))
    raise("prefix name \"{}\" is in use already: drop that prefix first, or choose another name",
          name);
}

RequestId NamedPrefixes::find(std::span<const int32_t> tokens) const {
  for (const auto& [id, prefix] : prefixes_)
    if (std::equal(tokens.begin(), tokens.end(), prefix.tokens.begin(), prefix.tokens.end()))
      return id;
  return 0;
}

void NamedPrefixes::name(const std::string& name, RequestId id) {
  names_.emplace(name, id);
  ++at(id).names;
}

RequestId NamedPrefixes::unname(const std::string& name) {
  const auto found = names_.find(name);
  if (found == names_.end()) {
    std::vector<std::string> known;
    for (const auto& [other, id] : names_) known.push_back(other);
    raise("{}", unknown_name("prefix", name, known));
  }
  const RequestId id = found->second;
  names_.erase(found);
  --at(id).names;
  return id;
}

void NamedPrefixes::erase(RequestId id) {
  std::erase_if(names_, [id](const auto& entry) { return entry.second == id; });
  prefixes_.erase(id);
}

std::string NamedPrefixes::names_of(RequestId id) const {
  std::string text;
  for (const auto& [name, other] : names_)
    if (other == id) text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", name);
  return text;
}

}  // namespace reprise::engine
