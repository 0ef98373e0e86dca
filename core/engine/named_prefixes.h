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
  int64_t bytes = 0;      // of cache kept for it; 0: it is not computed, or the method keeps none
  int32_t users = 0;      // running sequences that begin with it and share what is kept
  bool is_ready = false;  // nothing has to be computed (any more)
};

// Names share the prefix where their tokens are the same.
class NamedPrefixes {
 public:
  struct Prefix {
    std::vector<int32_t> tokens;
    int32_t names = 0;
    bool is_kept = false;  // by the method, which knows it by its id
    bool is_ready = false;
  };

  // Throws Error for an empty name and one in use.
  void check_new(const std::string& name) const;
  // The prefix of these tokens, or 0 where there is none.
  [[nodiscard]] RequestId find(std::span<const int32_t> tokens) const;
  // A fresh id, below 0: -2, -3, ...
  [[nodiscard]] RequestId next_id() { return --last_id_; }
  void add(RequestId id, Prefix prefix) { prefixes_.emplace(id, std::move(prefix)); }
  void name(const std::string& name, RequestId id);
  // Takes the name away. Throws Error for an unknown one, with the nearest known. Returns the
  // prefix's id; it stays until erase(), whatever names it has left.
  RequestId unname(const std::string& name);
  void erase(RequestId id);  // with all its names
  [[nodiscard]] Prefix& at(RequestId id) { return prefixes_.at(id); }
  [[nodiscard]] const Prefix& at(RequestId id) const { return prefixes_.at(id); }
  [[nodiscard]] const std::map<std::string, RequestId>& names() const { return names_; }
  [[nodiscard]] std::string names_of(RequestId id) const;  // "a", "b"

 private:
  std::map<std::string, RequestId> names_;
  std::map<RequestId, Prefix> prefixes_;
  RequestId last_id_ = -1;
};

}  // namespace reprise::engine
