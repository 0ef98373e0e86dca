// Models that read texts, for the kinds "sentences" and "attention_maps": a checkpoint's folder, or
// a sentence-transformers folder around one.
#pragma once

#include <string>

#include "core/sentence/embedder.h"
#include "experiments/framework/kind.h"

namespace reprise::experiments {

inline constexpr const char* kTextAlone = "{text}";

// The prompt in which each text is given to the model.
struct TextAxes {
  std::string prompt = kTextAlone;

  void visit_prompt(AxisVisitor& visitor) {
    visitor.text({"prompt", "", "words around each text, which goes where {text} stands"}, {},
                 prompt);
  }
};

// The group with the checkpoint's folder in place of a sentence-transformers folder.
[[nodiscard]] Group with_model_folder(Group group);

// Returns how texts become vectors: as the model's folder says, with the words of axes.prompt
// around each text. Throws Error as sentence::settings_of(), and for a prompt without a place for
// the text.
[[nodiscard]] sentence::EmbedSettings text_settings_of(const Group& group, const TextAxes& axes);

// Throws Error if weights, tokenizer or settings are missing, or the device cannot compute the
// model.
void check_text_model(const Group& group, const TextAxes& axes, const Context& context);

// Memory of the weights and of one step.
[[nodiscard]] MemoryNeed memory_of_text_model(const Group& group);

}  // namespace reprise::experiments
