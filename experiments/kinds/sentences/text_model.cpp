#include "experiments/kinds/sentences/text_model.h"

#include "experiments/kinds/shared/bench.h"
#include "experiments/kinds/shared/costs.h"
#include "experiments/kinds/shared/places.h"

namespace reprise::experiments {

Group with_model_folder(Group group) {
  group.model.model = sentence::model_folder_of(resolve_model(group.model.model));
  return group;
}

sentence::EmbedSettings text_settings_of(const Group& group, const TextAxes& axes) {
  sentence::EmbedSettings settings = sentence::settings_of(resolve_model(group.model.model),
                                                           Bench::config(with_model_folder(group)));
  if (axes.prompt != kTextAlone)
    settings.form.prompt = sentence::Prompt::parse(axes.prompt, "prompt");
  return settings;
}

model::ModelConfig check_text_model(const Group& group, const TextAxes& axes,
                                    const Context& context) {
  const Group with_folder = with_model_folder(group);
  model::ModelConfig config = Bench::check_loadable(with_folder, context);
  (void)text_settings_of(group, axes);
  (void)load_tokenizer(with_folder.model.model);
  return config;
}

MemoryNeed memory_of_text_model(const Group& group) {
  return memory_of_model(Bench::config(with_model_folder(group)), group.weight_type(), group.dtype,
                         sentence::TextReader::kStepTokens);
}

}  // namespace reprise::experiments
