// Computes sentence vectors with a method, for `reprise embed`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/sentence/embedder.h"
#include "methods/method.h"

namespace reprise::app {

// Counts of the texts that a method computed, and, if it looks up stored attention maps for each
// text, of its hits.
struct ReuseCount {
  int64_t texts = 0;
  int64_t cut = 0;            // texts that the method shortened (its option padded_tokens)
  int64_t hits = 0;           // texts with at least one layer computed with stored maps
  int64_t reused_layers = 0;  // (text, layer) pairs computed with stored maps
};

class MethodEmbedder {
 public:
  // Token ids of the texts that the method may store, and of the texts that it learns from.
  struct Texts {
    std::span<const std::vector<int32_t>> stored, training;
  };
  struct Model {
    model::Decoder* decoder;
    std::string name;       // as the user wrote it
    uint64_t weights_seed;  // seed of random weights and of the method's random choices
    Context context;
    // Called between the pieces of the method's preparation; may throw, which ends it.
    std::function<void()> between = {};
  };

  // `embedder` and `model.decoder` must outlive this object. Throws Error as Method::prepare().
  MethodEmbedder(sentence::Embedder& embedder, std::unique_ptr<methods::Method> method,
                 const Model& model, const Texts& texts);

  [[nodiscard]] const methods::Method& method() const { return *method_; }
  [[nodiscard]] int64_t width() const { return embedder_.width(); }
  [[nodiscard]] sentence::TextTokens tokens_of(std::string_view text) const {
    return embedder_.tokens_of(text);
  }
  [[nodiscard]] size_t most_text_bytes() const { return embedder_.most_text_bytes(); }
  // Writes the vectors of `texts` to `out` [texts, width()], f32, in order. For a method that looks
  // up texts (Method::looks_up()), a step of the model computes one text, so that each text is a
  // hit or a miss by itself; for other methods, a step computes many.
  void read(std::span<const sentence::TextTokens> texts, std::span<float> out);
  [[nodiscard]] const ReuseCount& count() const { return count_; }

 private:
  // Returns the text in the form that the method needs, e.g. padded.
  [[nodiscard]] sentence::TextTokens formed(const sentence::TextTokens& text) const;
  void read_one(const sentence::TextTokens& text, std::span<float> out);

  sentence::Embedder& embedder_;
  std::unique_ptr<methods::Method> method_;
  std::shared_ptr<model::LayerPolicy> policy_;     // null: every layer computes
  std::shared_ptr<engine::RequestShaper> shaper_;  // null: texts stay as they are
  ReuseCount count_;
};

// Returns lines for people: the method's report, the number of texts that the method cut, if there
// are any, and, if the method looks texts up, the number of hits.
std::string summary_of(const MethodEmbedder& embedder, int64_t layers);

}  // namespace reprise::app
