// A source of requests: of its entries those that are wanted, cut and put in order.
#pragma once

#include <memory>
#include <string>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// Entries with times: those of the window, in the order of their times, the first `requests`.
// Others: a sample of `requests`, drawn by the prompts' seed and put in order by that of the order;
// where the order is not free, the first. What is too long is dropped before, or cut. Beside the
// entries it keeps 8 bytes a request.
class EntrySource final : public RequestSource {
 public:
  // `name` is the source's, for messages. Throws Error where no request is left.
  EntrySource(std::string name, std::unique_ptr<Entries> entries, const SourceOptions& options);

  [[nodiscard]] int64_t size() const override { return std::ssize(chosen_); }
  [[nodiscard]] ServingRequest request(int64_t index) const override;
  [[nodiscard]] Lengths lengths(int64_t index) const override;
  [[nodiscard]] std::vector<DeclaredPrefix> prefixes() const override;
  [[nodiscard]] std::vector<double> arrivals_s() const override;
  [[nodiscard]] Dropped dropped() const override { return dropped_; }

 private:
  void keep_window();
  void keep_fitting();
  void choose();
  void find_shared();
  [[nodiscard]] Lengths cut(Lengths whole) const;
  [[nodiscard]] int64_t entry(int64_t index) const;
  // Of the entry, where its prompt still begins with it.
  [[nodiscard]] int32_t prefix_of(int64_t index) const;
  void add_parts(int64_t index, std::vector<PromptPart>& out) const;
  [[noreturn]] void raise_empty() const;

  std::string name_;
  std::unique_ptr<Entries> entries_;
  SourceOptions options_;
  TokenStream stream_;
  std::vector<int64_t> prefix_tokens_;  // of each prefix
  Dropped dropped_;
  std::vector<uint32_t> chosen_;  // [requests]  entries, in the order in which they are sent
  std::vector<int32_t> shared_;   // [requests]
};

}  // namespace reprise::workloads::serving
