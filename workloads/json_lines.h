// Files with a JSON object on each line.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace reprise::workloads {

// Calls `read` with each line's object, whose errors name the file and the line, and refuses keys
// that it did not ask for. Throws Error for a line that is no JSON object, an empty one that is not
// the last, and for a file without a line.
void for_each_line(const std::filesystem::path& path,
                   const std::function<void(JsonObject& object)>& read);

// A list of texts. Throws Error naming the key.
std::vector<std::string> texts_of(JsonObject& object, const std::string& key);
// The same, not empty.
std::vector<std::string> answers_of(JsonObject& object, const std::string& key);

}  // namespace reprise::workloads
