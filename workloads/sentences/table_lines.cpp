#include "workloads/sentences/table_lines.h"

#include <algorithm>
#include <charconv>

#include "core/base/byte_order_mark.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/tokenizer/utf8.h"

namespace reprise::workloads::sentences {
namespace {

std::vector<std::string> columns_of(std::string_view line) {
  std::vector<std::string> columns;
  while (true) {
    const size_t end = line.find('\t');
    columns.emplace_back(line.substr(0, end));
    if (end == std::string_view::npos) return columns;
    line.remove_prefix(end + 1);
  }
}

}  // namespace

std::vector<TableLine> read_table_lines(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  std::string_view rest = without_byte_order_mark(text);
  std::vector<TableLine> lines;
  for (int64_t number = 1; !rest.empty(); ++number) {
    const size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    tokenizer::require_utf8(line, fmt::format("{}:{}", path.string(), number));
    lines.push_back({number, columns_of(line)});
  }
  while (!lines.empty() && trimmed(lines.back().columns.front()).empty() &&
         lines.back().columns.size() == 1)
    lines.pop_back();
  if (lines.empty()) raise("{} holds no line", path.string());
  return lines;
}

std::vector<std::filesystem::path> files_of(
    const std::filesystem::path& folder,
    const std::function<bool(const std::filesystem::path& file)>& is_one) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (is_one(entry.path())) files.push_back(entry.path());
  if (error) raise("cannot read the folder {}: {}", folder.string(), error.message());
  std::sort(files.begin(), files.end());
  return files;
}

std::string short_name(const std::filesystem::path& file) {
  return (std::filesystem::absolute(file).parent_path().filename() / file.filename()).string();
}

bool has_column(const TableLine& line, std::string_view name) {
  return std::find(line.columns.begin(), line.columns.end(), name) != line.columns.end();
}

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

double number_of(std::string_view text, double low, double high, const std::string& where) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= low && value <= high))
    raise("{}: \"{}\" is no number from {} to {}", where, text.substr(0, 100), low, high);
  return value;
}

}  // namespace reprise::workloads::sentences
