// `reprise serve` with a model that turns texts into sentence vectors.
#pragma once

#include <string>

#include "app/common_options.h"
#include "app/serve_options.h"

namespace reprise::app {

// True if the model is an encoder or --embeddings was given. `folder` is a model's folder, a
// sentence-transformers folder, or the name of a shape. Throws Error if it has no readable
// config.json.
bool serves_embeddings(const ServeOptions& options, const std::string& folder);

// Serves sentence vectors until the program is interrupted. The options for vectors have the same
// names as in `reprise embed`. Throws Error for options that only generation has.
void serve_embeddings(const ServeOptions& options, const CommonOptions& common,
                      const std::string& folder);

}  // namespace reprise::app
