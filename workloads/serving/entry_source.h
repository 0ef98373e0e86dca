// A source of requests that chooses among Entries, cuts their prompts and outputs, and orders them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// If entries have times, the source takes the first `requests` in the time window, in the order of
// their times. Other entries that must keep their order: it takes the first ones. All others: it
// takes a sample drawn by the prompts' seed, in the entries' order or shuffled by the order's seed.
// Entries that are too long are dropped before the choice, or cut. Uses 8 bytes per request besides
// the Entries.
class EntrySource final : public RequestSource {
 public:
  // `name` is the source's name, for messages. Throws Error if no request remains.
  EntrySource(std::string name, std::unique_ptr<Entries> entries, const SourceOptions& options);

  [[nodiscard]] int64_t size() const override { return std::ssize(chosen_); }
  [[nodiscard]] ServingRequest request(int64_t index) const override;
  [[nodiscard]] Lengths lengths(int64_t index) const override;
  [[nodiscard]] std::vector<DeclaredPrefix> prefixes() const override;
  [[nodiscard]] std::vector<std::vector<int32_t>> modules() const override;
  [[nodiscard]] std::vector<std::vector<int64_t>> waits_for() const override;
  [[nodiscard]] std::vector<double> pauses_s() const override;
  [[nodiscard]] std::optional<bool> is_right(int64_t index,
                                             std::string_view generated) const override {
    return entries_->is_right(entry(index), generated);
  }
  [[nodiscard]] std::vector<double> arrivals_s() const override;
  [[nodiscard]] Dropped dropped() const override { return dropped_; }

 private:
  [[nodiscard]] int64_t count_salt_tokens() const;
  void keep_window();
  void keep_fitting();
  void choose();
  void find_shared();
  // Lengths of an entry with its salt, before they are cut.
  [[nodiscard]] Lengths whole_lengths(int64_t entry) const;
  [[nodiscard]] Lengths cut(Lengths whole) const;
  [[nodiscard]] bool shares_prefixes() const {
    return options_.salt.scope <= SaltScope::kRun;  // salts are then the same for all prompts
  }
  [[nodiscard]] PromptPart salt(int64_t entry) const;
  [[nodiscard]] int64_t entry(int64_t index) const;
  // Returns the index of the entry's prefix if the cut prompt still begins with the whole prefix,
  // else -1.
  [[nodiscard]] int32_t prefix_of(int64_t index) const;
  void add_parts(int64_t index, std::vector<PromptPart>& out) const;
  // Index of the request made from an entry of a conversation; -1: the entry was not chosen.
  [[nodiscard]] int64_t index_of(int64_t entry) const;
  // Earlier answers that fit wholly into `prompt_tokens` tokens and whose entries were chosen.
  [[nodiscard]] std::vector<EarlierAnswer> answers_of(int64_t index, int64_t prompt_tokens) const;
  [[noreturn]] void raise_empty() const;

  std::string name_;
  std::unique_ptr<Entries> entries_;
  SourceOptions options_;
  TokenStream stream_;
  int64_t salt_tokens_ = 0;
  std::vector<int64_t> prefix_tokens_;  // length of each prefix
  Dropped dropped_;
  std::vector<uint32_t> chosen_;  // [requests]  entries, in sending order
  std::vector<int32_t> shared_;   // [requests]
};

}  // namespace reprise::workloads::serving
