#include "results/results_file.h"

#include "core/base/error.h"
#include "core/base/json.h"
#include "results/gzip.h"

namespace reprise::results {

std::string read_results_file(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    raise("{} is no regular file: results are read from files alone", path.string());
  std::string bytes = read_file(path, kMostResultsBytes);
  return is_packed(path) ? unpacked(bytes, path, kMostResultsBytes) : bytes;
}

Value read_results_json(const std::filesystem::path& path) {
  return parse_json(read_results_file(path), path.string());
}

}  // namespace reprise::results
