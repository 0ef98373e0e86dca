// What a source can ask, before it is chosen, cut and put in order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "workloads/serving/prompt_part.h"
#include "workloads/serving/request_source.h"

namespace reprise::workloads::serving {

// Entries are in the file's order, or in that of their numbers. Constant: several threads may read.
class Entries {
 public:
  virtual ~Entries() = default;
  [[nodiscard]] virtual int64_t size() const = 0;
  // Appends the parts of its prompt.
  virtual void add_parts(int64_t entry, std::vector<PromptPart>& out) const = 0;
  [[nodiscard]] virtual RequestSource::Lengths lengths(int64_t entry) const = 0;

  // A prefix is the first part of the prompts that begin with it, or the first parts.
  struct Prefix {
    std::string name;
    std::vector<PromptPart> parts;
  };
  [[nodiscard]] virtual std::vector<Prefix> prefixes() const { return {}; }
  // Of these, the entry's; -1: none.
  [[nodiscard]] virtual int32_t prefix(int64_t /*entry*/) const { return -1; }

  // Seconds, by entry; empty: entries have no times.
  [[nodiscard]] virtual std::span<const double> times_s() const { return {}; }
  // Whether they can be asked in any order. Those with times cannot.
  [[nodiscard]] virtual bool order_is_free() const { return times_s().empty(); }
  // What is no entry.
  [[nodiscard]] virtual RequestSource::Dropped left_out() const { return {}; }
};

}  // namespace reprise::workloads::serving
