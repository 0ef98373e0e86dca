#include "app/serve_embeddings.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "app/embed_options.h"
#include "app/kept_calibration.h"
#include "app/server_run.h"
#include "core/base/error.h"
#include "core/sentence/embedder.h"

namespace reprise::app {
namespace {

sentence::EmbedSettings served_settings(const ServeOptions& options, const std::string& folder,
                                        const model::ModelConfig& config) {
  EmbedOptions embed = options.embed;
  embed.max_tokens = options.max_tokens;
  sentence::EmbedSettings settings = settings_of(embed, folder, config);
  int64_t& most = settings.form.most_tokens;
  if (options.max_tokens == 0)
    most = most > 0 ? std::min<int64_t>(most, kMostDefaultTokens) : kMostDefaultTokens;
  return settings;
}

// Returns the last name in the path of a sentence-transformers folder, since the model's own folder
// is below it and may have any name.
std::string name_of_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  return (fs::absolute(folder) / "").lexically_normal().parent_path().filename().string();
}

}  // namespace

bool serves_embeddings(const ServeOptions& options, const std::string& folder) {
  if (options.makes_vectors) return true;
  std::error_code error;
  const bool lies_below = std::filesystem::is_directory(folder, error) &&
                          !std::filesystem::exists(folder + "/config.json", error);
  return !model::load_config(lies_below ? sentence::model_folder_of(folder) : folder).is_causal;
}

void serve_embeddings(const ServeOptions& options, const CommonOptions& common,
                      const std::string& folder) {
  if (!options.for_generation.empty())
    raise("{}: a server of sentence vectors generates nothing; leave it out",
          options.for_generation.front());
  const server::ServerOptions serving = server_options(options);
  Context context = make_context(common);
  ModelOptions place = options.model;
  place.model = sentence::model_folder_of(folder);
  const ChosenModel chosen = choose_model(place, context.device);
  const sentence::EmbedSettings settings = served_settings(options, folder, chosen.config);
  const auto tokenizer = load_tokenizer(chosen.place);
  server::ServedModel model = served_model_of(options, chosen, *tokenizer);
  if (options.served_name.empty() && place.model != folder) model.name = name_of_folder(folder);
  model.max_sequence_tokens = static_cast<int32_t>(settings.form.most_tokens);
  model.chat.reset();
  model.no_chat = fmt::format("the model \"{}\" turns texts into vectors here", model.name);
  context = calibrated(std::move(context), common);
  const auto decoder = load_chosen(chosen, place, context);
  sentence::Embedder embedder(*decoder, *tokenizer, settings);
  const std::string facts = fmt::format(
      "computed in {} ({}), {} in {}\nsentence vectors of {} numbers: {}; texts of at most {} "
      "tokens\n",
      name_of(chosen.dtype), chosen.dtype_reason, weight_memory_text(*decoder),
      name_of(decoder->weight_format()), embedder.width(), settings.pooling.text(),
      settings.form.most_tokens);
  run_server(options, model, facts,
             [&] { return std::make_unique<server::Server>(embedder, model, serving); });
}

}  // namespace reprise::app
