// Finds the models and files that a user names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace reprise::experiments {

// Looks for `path` as it is, then below results::data_dir(), then below the folders of
// data_folders(), and returns the first that exists. If none exists, returns `path` unchanged, but
// throws Error with the command that fetches it if `reprise data get` knows `path`.
std::string resolve_path(const std::string& path);

// Like resolve_path(), but throws Error for any path that does not exist. Returns "" for "".
std::string existing_path(const std::string& path);

// Folders of the models that come with the program, relative to results::data_dir(), sorted.
std::vector<std::filesystem::path> shipped_models();

// ${XDG_CACHE_HOME:-~/.cache}/reprise/models: `./setup.sh --models` puts models there, and so does
// `reprise data get` unless REPRISE_DATA is set. Empty if neither XDG_CACHE_HOME nor HOME is set.
std::filesystem::path fetched_models_dir();

// Turns a name into a path or shape for model::load_config() and load_decoder(): a folder or
// config.json as resolve_path() finds it, the folder name of a shipped or downloaded model
// ("quickstart", "all-MiniLM-L6-v2"), or a shipped shape. Throws Error for any other name. The
// error gives the command that fetches the model, or the known name that is nearest.
std::string resolve_model(const std::string& name);

}  // namespace reprise::experiments
