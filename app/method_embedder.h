// Sentence vectors as a method computes them, for `reprise embed`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/sentence/embedder.h"
#include "methods/method.h"

namespace reprise::app {

// Counts of what a method that looks texts up has reused.
struct ReuseCount {
  int64_t texts = 0;
  int64_t hits = 0;           // texts with a layer that was computed with stored maps
  int64_t reused_layers = 0;  // (text, layer) pairs that were
};

class MethodEmbedder {
 public:
  // Prepares the method with texts that it may store, and others that it may learn from.
  struct Texts {
    std::span<const std::vector<int32_t>> stored, training;
  };
  struct Model {
    model::Decoder* decoder;
    std::string name;       // as it was given
    uint64_t weights_seed;  // of weights that are drawn, and of what the method draws
    Context context;
  };

  // `embedder` and `model.decoder` must outlive this object. Throws Error as Method::prepare().
  MethodEmbedder(sentence::Embedder& embedder, std::unique_ptr<methods::Method> method,
                 const Model& model, const Texts& texts);

  [[nodiscard]] const methods::Method& method() const { return *method_; }
  [[nodiscard]] int64_t width() const { return embedder_.width(); }
  [[nodiscard]] sentence::TextTokens tokens_of(std::string_view text) const {
    return embedder_.tokens_of(text);
  }
  // Writes the vectors of `texts` to `out` [texts, width()], f32, in order. A method that looks up
  // texts (Method::looks_up()) is given one text per step of the model, so that each text is a hit
  // or a miss by itself; other methods are given many.
  void read(std::span<const sentence::TextTokens> texts, std::span<float> out);
  [[nodiscard]] const ReuseCount& count() const { return count_; }

 private:
  // The text as the method wants it, e.g. padded.
  [[nodiscard]] sentence::TextTokens formed(const sentence::TextTokens& text) const;
  void read_one(const sentence::TextTokens& text, std::span<float> out);

  sentence::Embedder& embedder_;
  std::unique_ptr<methods::Method> method_;
  std::shared_ptr<model::LayerPolicy> policy_;     // null: every layer computes
  std::shared_ptr<engine::RequestShaper> shaper_;  // null: texts stay as they are
  ReuseCount count_;
};

// What the method did, in lines for people: its hits, if it looks texts up, and what it reports.
std::string summary_of(const MethodEmbedder& embedder, int64_t layers);

}  // namespace reprise::app
