// The code and the build that made a record.
#pragma once

#include <string>

#include "core/base/value.h"

namespace reprise::results {

struct Provenance {
  std::string version;
  std::string revision;  // looked up at each build; "unknown" outside a git checkout
  bool is_dirty = false;
  std::string changes;  // hash of the changes to that revision; "" if there are none
  std::string compiler, flags, build_type;
  Fields libraries;  // versions by name; libtorch is "none" if it was not found

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.defaulted("version", self.version);
    visitor.defaulted("revision", self.revision);
    visitor.defaulted("dirty", self.is_dirty);
    visitor.defaulted("changes", self.changes);
    visitor.defaulted("compiler", self.compiler);
    visitor.defaulted("flags", self.flags);
    visitor.defaulted("build_type", self.build_type);
    visitor.defaulted("libraries", self.libraries);
  }
};

// The provenance of this program.
Provenance provenance();

// Four lines for --version: "reprise 0.1.0", the revision, the compiler and the libraries.
std::string version_text();

}  // namespace reprise::results
