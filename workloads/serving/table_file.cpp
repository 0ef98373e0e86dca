#include "workloads/serving/table_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/byte_order_mark.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/visible.h"

namespace reprise::workloads::serving {
namespace {

constexpr size_t kLongestShown = 80;

// Parses the whole text as a number.
template <typename T>
bool parse(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && at == end && !text.empty();
}

}  // namespace

TableLine::TableLine(const std::string& file, int64_t number, std::string_view line)
    : file_(file), number_(number) {
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find(',', begin), line.size());
    fields_.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
}

std::string TableLine::where() const { return fmt::format("{}:{}", file_, number_); }

size_t TableLine::column(const std::string& name) const {
  const std::vector<std::string> names(fields_.begin(), fields_.end());
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) raise("{}: {}", where(), unknown_name("column", name, names));
  if (std::find(found + 1, names.end(), name) != names.end())
    raise("{}: two columns have the name {}: rename one", where(), shown(Value(name)));
  return static_cast<size_t>(found - names.begin());
}

void TableLine::require_at_most(size_t fields) const {
  if (size() > fields)
    raise("{}: the line has {} fields, the first line {}", where(), size(), fields);
}

std::string_view TableLine::text(size_t field, std::string_view name) const {
  if (field >= fields_.size())
    raise("{}: the line ends before {}, which is field {}; it has {}", where(), name, field + 1,
          fields_.size());
  return fields_[field];
}

int64_t TableLine::integer(size_t field, std::string_view name, int64_t most) const {
  const std::string_view found = text(field, name);
  int64_t value = 0;
  if (!parse(found, value) || value < 0 || value > most)
    raise("{}: {} is \"{}\", it must be a whole number from 0 to {}", where(), name,
          visible(found.substr(0, kLongestShown), ""), most);
  return value;
}

double TableLine::real(size_t field, std::string_view name) const {
  const std::string_view found = text(field, name);
  double value = 0;
  if (!parse(found, value) || !std::isfinite(value) || value < 0)
    raise("{}: {} is \"{}\", it must be a number, 0 or above", where(), name,
          visible(found.substr(0, kLongestShown), ""));
  return value;
}

void for_each_table_line(const std::filesystem::path& path,
                         const std::function<void(const TableLine& line)>& read) {
  const std::string file = path.string(), text = read_file(path);
  if (text.empty()) raise("{} is empty; a line for each request is expected", file);
  int64_t number = 0;
  for (size_t begin = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
       begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number;
    if (line.empty()) raise("{}:{}: the line is empty; remove it", file, number);
    if (line.find('\r') != std::string_view::npos)
      raise("{}:{}: the line holds a carriage return; end lines with a line feed", file, number);
    read(TableLine(file, number, line));
    begin = end + 1;
  }
}

}  // namespace reprise::workloads::serving
