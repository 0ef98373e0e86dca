#include "workloads/serving/subjects.h"

#include <algorithm>

#include "core/base/error.h"

namespace reprise::workloads::serving {

std::vector<std::string> chosen_subjects(const char* source, const SourceOptions& options,
                                         std::span<const std::string> names) {
  const std::string& given = options.subjects;
  if (given.empty()) return {names.begin(), names.end()};
  std::vector<std::string> chosen;
  for (size_t begin = 0; begin <= given.size();) {
    const size_t end = std::min(given.find(',', begin), given.size());
    chosen.push_back(given.substr(begin, end - begin));
    if (std::find(names.begin(), names.end(), chosen.back()) == names.end())
      raise("source \"{}\": {}", source, unknown_name("subject", chosen.back(), names));
    if (std::count(chosen.begin(), chosen.end(), chosen.back()) > 1)
      raise("source \"{}\": subject \"{}\" is asked for twice", source, chosen.back());
    begin = end + 1;
  }
  return chosen;
}

}  // namespace reprise::workloads::serving
