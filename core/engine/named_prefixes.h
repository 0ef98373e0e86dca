// The names under which prefixes were declared.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/engine/request.h"

namespace reprise::engine {

// A prefix as users see it.
struct PrefixInfo {
  std::string name;
  int64_t tokens = 0;
  // Bytes of cache kept for the prefix. 0 if it has not been computed, or if the method keeps none.
  int64_t bytes = 0;
  int32_t users = 0;      // running sequences that share the kept prefix
  bool is_ready = false;  // true if no token of the prefix is left to compute
};

// Maps names to prefixes. Names with equal tokens share one prefix.
class NamedPrefixes {
 public:
  struct Prefix {
    std::vector<int32_t> tokens;
    int32_t names = 0;
    bool is_kept = false;  // true if the method keeps it under the prefix's id
    bool is_ready = false;
  };

  // Throws Error for a name that is empty or in use.
  void check_new(const std::string& name) const;
  // Returns the id of the prefix with these tokens, or 0.
  [[nodiscard]] RequestId find(std::span<const int32_t> tokens) const;
  // Returns a new negative id: -2, -3, ...
  [[nodiscard]] RequestId next_id() { return --last_id_; }
  void add(RequestId id, Prefix prefix) { prefixes_.emplace(id, std::move(prefix)); }
  void name(const std::string& name, RequestId id);
  // Removes a name and returns its prefix's id. The prefix stays until erase(), even without names.
  // Throws Error for an unknown name, with the nearest known one.
  RequestId unname(const std::string& name);
  void erase(RequestId id);  // removes all its names too
  [[nodiscard]] Prefix& at(RequestId id) { return prefixes_.at(id); }
  [[nodiscard]] const Prefix& at(RequestId id) const { return prefixes_.at(id); }
  [[nodiscard]] const std::map<std::string, RequestId>& names() const { return names_; }
  [[nodiscard]] std::string names_of(RequestId id) const;  // e.g. "a", "b"

 private:
  std::map<std::string, RequestId> names_;
  std::map<RequestId, Prefix> prefixes_;
  RequestId last_id_ = -1;
};

}  // namespace reprise::engine
