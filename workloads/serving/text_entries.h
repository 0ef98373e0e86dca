// Requests with real texts, stored as tokens: a prefix that several requests may have, and the
// request's own text.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "workloads/serving/entries.h"

namespace reprise::workloads::serving {

class TextEntries : public Entries {
 public:
  // Adds a prefix of made-up tokens (item -1).
  void add_made_up_prefix(std::string name, int64_t tokens);
  void add_prefix(std::string name, std::vector<int32_t> tokens);
  // `place` is the entry's position in the file. `prefix` is the index of a prefix added before, -1
  // for none.
  struct Entry {
    int64_t place = 0;
    int32_t prefix = -1;
    int64_t output_tokens = 1;
  };
  void add(const Entry& entry, const std::vector<int32_t>& own_tokens);
  void leave_out() { ++left_out_.by_rule; }
  void leave_out_too_long() { ++left_out_.too_long; }
  // Sorts the entries by their places.
  void finish();

  [[nodiscard]] int64_t size() const override { return std::ssize(entries_); }
  [[nodiscard]] RequestSource::Lengths lengths(int64_t entry) const override;
  void add_parts(int64_t entry, std::vector<PromptPart>& out) const override;
  [[nodiscard]] std::vector<Prefix> prefixes() const override;
  [[nodiscard]] int32_t prefix(int64_t entry) const override { return kept(entry).entry.prefix; }
  [[nodiscard]] RequestSource::Dropped left_out() const override { return left_out_; }

 protected:
  // The entry's position in the file.
  [[nodiscard]] int64_t place(int64_t entry) const { return kept(entry).entry.place; }

 private:
  struct Kept {
    Entry entry;
    size_t first_token = 0;  // index in tokens_
    int64_t own_tokens = 0;
  };
  struct KeptPrefix {
    std::string name;
    std::vector<int32_t> text;  // empty: made up
    int64_t tokens = 0;

    [[nodiscard]] PromptPart part() const {
      return {.item = -1, .tokens = tokens, .text = text.empty() ? nullptr : text.data()};
    }
  };
  [[nodiscard]] const Kept& kept(int64_t entry) const {
    return entries_[static_cast<size_t>(entry)];
  }

  std::vector<Kept> entries_;
  std::vector<KeptPrefix> prefixes_;
  std::vector<int32_t> tokens_;
  RequestSource::Dropped left_out_;
};

}  // namespace reprise::workloads::serving
