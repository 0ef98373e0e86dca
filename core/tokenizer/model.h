// The model inside a tokenizer.json: it turns one piece of text into token ids.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/tokenizer/json_place.h"
#include "core/tokenizer/vocabulary.h"

namespace reprise::tokenizer {

// Scratch memory of one encode call, reused from piece to piece so that encoding does not allocate.
struct ModelWorkspace {
  struct Symbol {
    // `previous` and `next` are indices in `symbols`, -1 at the ends. An `id` of -1 means that the
    // symbol was merged into another.
    int32_t id, previous, next;
  };
  struct Merge {
    uint64_t order;  // rank, then position: the smallest is merged first
    int32_t id;
  };
  std::vector<Symbol> symbols;
  std::vector<Merge> merges;
  std::string text;
};

class Model {
 public:
  virtual ~Model() = default;
  // Appends the ids of `piece`, which is not empty. Thread-safe if each thread has its own
  // workspace.
  virtual void tokenize(std::string_view piece, ModelWorkspace& workspace,
                        std::vector<int32_t>& ids) const = 0;
  [[nodiscard]] virtual const Vocabulary& vocabulary() const = 0;
};

// Makes the model of a file. Supports BPE and WordPiece. Older files have no "type"; their other
// keys show which model it is.
std::unique_ptr<Model> make_model(const JsonPlace& place);

}  // namespace reprise::tokenizer
