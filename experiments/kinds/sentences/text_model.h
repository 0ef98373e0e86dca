// Models that read texts, for the kinds "sentences" and "attention_maps". A model is a checkpoint's
// folder, or a sentence-transformers folder that contains a checkpoint's folder.
#pragma once

#include <string>

#include "core/model/config/config.h"
#include "core/sentence/embedder.h"
#include "experiments/framework/kind.h"

namespace reprise::experiments {

inline constexpr const char* kTextAlone = "{text}";

// The words that are put around each text before the model reads it.
struct TextAxes {
  std::string prompt = kTextAlone;

  void visit_prompt(AxisVisitor& visitor) {
    visitor.text({"prompt", "", "words around each text, which goes where {text} stands"}, {},
                 prompt);
  }
};

// Returns the group; if its model is a sentence-transformers folder, that is replaced by the
// checkpoint's folder.
[[nodiscard]] Group with_model_folder(Group group);

// Returns the settings by which texts become vectors: the settings of the model's folder, with the
// words of axes.prompt around each text. Throws Error as sentence::settings_of(), and for a prompt
// without a place for the text.
[[nodiscard]] sentence::EmbedSettings text_settings_of(const Group& group, const TextAxes& axes);

// Returns the config that the loaded model would have. Throws Error if the model's weights,
// tokenizer or settings are missing, or if the context's device cannot compute the model.
model::ModelConfig check_text_model(const Group& group, const TextAxes& axes,
                                    const Context& context);

// Memory of the weights and of one step.
[[nodiscard]] MemoryNeed memory_of_text_model(const Group& group);

}  // namespace reprise::experiments
