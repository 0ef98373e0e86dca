// Requests about several documents of a common pool. A request combines them anew or repeats an
// earlier combination.
//
// A prompt is a combination of `picks` different documents out of `documents`, in drawn order, then
// the user's tokens. The first request draws a combination. A later request draws a combination
// with probability `novelty`; otherwise it repeats the combination of an earlier request, and each
// earlier request is equally likely. Novelty 0: all requests have one combination, as in a burst of
// questions. Novelty 1: requests share only what chance gives. The documents are the source's
// modules.
#include "workloads/serving/sources.h"

#include <algorithm>

#include "core/base/error.h"
#include "workloads/serving/draws.h"

namespace reprise::workloads::serving {
namespace {

class Recombined final : public Entries {
 public:
  explicit Recombined(const SourceOptions& options)
      : seed_(options.prompts_seed),
        documents_(options.documents),
        document_tokens_(options.document_tokens),
        picks_(options.picks),
        choice_(options.documents, options.zipf_exponent),
        user_(length_range("recombined", "user_tokens", options.user_tokens,
                           options.user_tokens_most)),
        output_(length_range("recombined", "output_tokens", options.output_tokens,
                             options.output_tokens_most)) {
    require_given("recombined", "requests", options.requests);
    require_given("recombined", "document_tokens", document_tokens_);
    if (picks_ > documents_)
      raise("source \"recombined\": picks is {}, more than documents, which is {}", picks_,
            documents_);
    for (int64_t entry = 0; entry < options.requests; ++entry)
      combinations_.push_back(combination(entry, options.novelty));
  }

  [[nodiscard]] int64_t size() const override { return std::ssize(combinations_); }
  [[nodiscard]] RequestSource::Lengths lengths(int64_t entry) const override {
    return {.prompt = picks_ * document_tokens_ + user_.draw(seed_, Draw::kUserTokens, entry),
            .output = output_.draw(seed_, Draw::kOutputTokens, entry)};
  }
  void add_parts(int64_t entry, std::vector<PromptPart>& out) const override {
    for (const int64_t document : documents_of(combinations_[static_cast<size_t>(entry)]))
      out.push_back(part(document));
    out.push_back({.item = entry, .tokens = user_.draw(seed_, Draw::kUserTokens, entry)});
  }
  [[nodiscard]] std::vector<std::vector<PromptPart>> modules() const override {
    std::vector<std::vector<PromptPart>> all;
    for (int64_t document = 0; document < documents_; ++document) all.push_back({part(document)});
    return all;
  }
  [[nodiscard]] int64_t module_tokens(int64_t /*entry*/) const override {
    return picks_ * document_tokens_;
  }
  // A request may repeat an earlier one's combination, so the order must stay.
  [[nodiscard]] bool order_is_free() const override { return false; }

 private:
  [[nodiscard]] PromptPart part(int64_t document) const {
    return {.item = -1 - document, .tokens = document_tokens_};
  }
  // Returns the number of the request that first drew the entry's combination.
  [[nodiscard]] uint32_t combination(int64_t entry, double novelty) const {
    if (entry == 0 || draw_unit(seed_, Draw::kNovelty, entry) < novelty)
      return static_cast<uint32_t>(entry);
    const double earlier =
        draw_unit(seed_, Draw::kRepeated, entry) * static_cast<double>(combinations_.size());
    return combinations_[static_cast<size_t>(earlier)];
  }
  // If a document is drawn twice, the next document that is not chosen yet takes its place.
  [[nodiscard]] std::vector<int64_t> documents_of(int64_t combination) const {
    std::vector<int64_t> chosen;
    for (int64_t pick = 0; pick < picks_; ++pick) {
      int64_t document =
          choice_.choose(draw_unit(seed_, Draw::kDocument, combination * picks_ + pick));
      while (std::find(chosen.begin(), chosen.end(), document) != chosen.end())
        document = (document + 1) % documents_;
      chosen.push_back(document);
    }
    return chosen;
  }

  uint64_t seed_;
  int64_t documents_, document_tokens_, picks_;
  ZipfChoice choice_;
  LengthRange user_, output_;
  std::vector<uint32_t> combinations_;  // [requests]  see combination()
};

}  // namespace

SourceInfo recombined_info() {
  return {
      .name = "recombined",
      .summary = "several documents of a pool in each prompt, combined anew or as before",
      .fields = {"requests", "documents", "document_tokens", "picks", "novelty", "zipf_exponent",
                 "user_tokens", "user_tokens_most", "output_tokens", "output_tokens_most"}};
}

std::unique_ptr<Entries> make_recombined(const SourceOptions& options) {
  return std::make_unique<Recombined>(options);
}

}  // namespace reprise::workloads::serving
