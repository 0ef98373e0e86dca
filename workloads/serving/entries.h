// The requests a source could send, before they are chosen, cut and ordered.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/serving/prompt_part.h"
#include "workloads/serving/request_source.h"

namespace reprise::workloads::serving {

// Entries are in the order of the file or, if they are made up, of their numbers. Immutable, so
// several threads may read.
class Entries {
 public:
  virtual ~Entries() = default;
  [[nodiscard]] virtual int64_t size() const = 0;
  // Appends the parts of the entry's prompt.
  virtual void add_parts(int64_t entry, std::vector<PromptPart>& out) const = 0;
  [[nodiscard]] virtual RequestSource::Lengths lengths(int64_t entry) const = 0;

  // A declared prefix. Prompts that have it begin with its part or parts.
  struct Prefix {
    std::string name;
    std::vector<PromptPart> parts;
  };
  [[nodiscard]] virtual std::vector<Prefix> prefixes() const { return {}; }
  // Index of the entry's prefix; -1: none.
  [[nodiscard]] virtual int32_t prefix(int64_t /*entry*/) const { return -1; }

  // Texts that prompts are put together from, in any order, before the request's own part. A prompt
  // holds each text at most once.
  [[nodiscard]] virtual std::vector<std::vector<PromptPart>> modules() const { return {}; }
  // Number of leading tokens of the entry's prompt that belong to modules.
  [[nodiscard]] virtual int64_t module_tokens(int64_t /*entry*/) const { return 0; }

  // Number of the entry's conversation: equal for all its turns, different for all other entries.
  [[nodiscard]] virtual int64_t session(int64_t entry) const { return entry; }
  // Answers of the conversation's turns before the entry, oldest first. In these answers `request`
  // is the index of an entry, and `first` counts tokens from the prompt's beginning. Entries of
  // conversations keep their order.
  [[nodiscard]] virtual std::vector<EarlierAnswer> earlier_answers(int64_t /*entry*/) const {
    return {};
  }
  [[nodiscard]] virtual bool has_conversations() const { return false; }
  // The earlier entries whose answers the entry waits for, in conversations.
  [[nodiscard]] virtual std::vector<int64_t> waits_for(int64_t /*entry*/) const { return {}; }
  // [entries] recorded seconds from the last answer of waits_for() to the entry; empty: not
  // recorded.
  [[nodiscard]] virtual std::span<const double> pauses_s() const { return {}; }

  // See RequestSource::is_right().
  [[nodiscard]] virtual std::optional<bool> is_right(int64_t /*entry*/,
                                                     std::string_view /*generated*/) const {
    return std::nullopt;
  }

  // Arrival times in seconds, by entry; empty if entries have no times.
  [[nodiscard]] virtual std::span<const double> times_s() const { return {}; }
  // False if entries must keep their order, as those with times must.
  [[nodiscard]] virtual bool order_is_free() const { return times_s().empty(); }
  // Counts recorded requests that did not become entries.
  [[nodiscard]] virtual RequestSource::Dropped left_out() const { return {}; }
};

}  // namespace reprise::workloads::serving
