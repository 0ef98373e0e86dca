// Reads files with one JSON object per line.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace reprise::workloads {

// Calls `read` with the object of each line. Throws what `read` throws. Throws Error naming file
// and line for an empty line, a line that is no JSON object, or a key that `read` did not ask for,
// and Error naming the file if it is empty.
void for_each_line(const std::filesystem::path& path,
                   const std::function<void(JsonObject& object)>& read);

// Reads a list of texts. Throws Error naming the key.
std::vector<std::string> texts_of(JsonObject& object, const std::string& key);
// Like texts_of(), but the list must not be empty.
std::vector<std::string> answers_of(JsonObject& object, const std::string& key);

}  // namespace reprise::workloads
