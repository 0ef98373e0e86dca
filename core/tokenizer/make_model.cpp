// Chooses the model that a tokenizer.json describes.
#include "core/tokenizer/bpe.h"
#include "core/tokenizer/model.h"
#include "core/tokenizer/word_piece.h"

namespace reprise::tokenizer {

std::unique_ptr<Model> make_model(const JsonPlace& place) {
  if (!place.value.is_fields()) place.fail("must be an object");
  if (!place.value.contains("type")) {
    if (place.value.contains("merges")) return std::make_unique<Bpe>(place);
    if (place.value.contains("max_input_chars_per_word")) return std::make_unique<WordPiece>(place);
  }
  if (field_of(place.value, "type") == Value("Unigram"))
    raise(
        "{} is \"Unigram\", which is not supported; for a DeBERTa, put the spm.model of the "
        "original checkpoint into the folder",
        place.child("type").where());
  if (place.type({"BPE", "WordPiece"}) == "BPE") return std::make_unique<Bpe>(place);
  return std::make_unique<WordPiece>(place);
}

}  // namespace reprise::tokenizer
