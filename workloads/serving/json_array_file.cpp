#include "workloads/serving/json_array_file.h"

#include "core/base/byte_order_mark.h"
#include "core/base/error.h"

namespace reprise::workloads::serving {
namespace {

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace

// Finds the entries of the list. Looks only at brackets, quotes and commas; entry() parses the
// rest.
class JsonArrayFile::Scanner {
 public:
  Scanner(const std::string& path, std::string_view text)
      : path_(path), text_(text), at_(text.size() - without_byte_order_mark(text).size()) {}

  std::vector<Extent> scan() {
    std::vector<Extent> entries;
    skip_space();
    if (next() != '[') raise("{}:{}: a list, [...], is expected here", path_, line_);
    step();
    skip_space();
    if (next() == ']') {
      step();
    } else {
      do entries.push_back(entry());
      while (closes_with(',', ']'));
    }
    skip_space();
    if (at_ < text_.size()) raise("{}:{}: there is more behind the list", path_, line_);
    return entries;
  }

 private:
  // Returns '\0' at the end of the file.
  [[nodiscard]] char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void step() {
    if (at_ == text_.size())
      raise("{}:{}: the file ends within the list; it was cut off", path_, line_);
    line_ += text_[at_++] == '\n' ? 1 : 0;
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(next()) != std::string_view::npos)
      step();
  }

  // Steps over `more` or `end`, one of which must follow an entry. Returns true for `more`.
  bool closes_with(char more, char end) {
    const char found = next();
    step();
    if (found != more && found != end)
      raise("{}:{}: \"{}\" or \"{}\" is expected here", path_, line_, more, end);
    return found == more;
  }

  Extent entry() {
    skip_space();
    Extent extent{.begin = at_, .end = at_, .line = line_};
    for (int64_t depth = 0; depth > 0 || (next() != ',' && next() != ']');) {
      const char c = next();
      if (c == '"') {
        skip_string();
        continue;
      }
      depth += c == '[' || c == '{' ? 1 : 0;
      depth -= c == ']' || c == '}' ? 1 : 0;
      step();
    }
    extent.end = at_;
    if (extent.begin == extent.end) raise("{}:{}: an entry is missing here", path_, line_);
    return extent;
  }

  void skip_string() {
    step();
    while (next() != '"' || at_ == text_.size()) {
      if (next() == '\\') step();
      step();
    }
    step();
  }

  const std::string& path_;
  std::string_view text_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

JsonArrayFile::JsonArrayFile(const std::filesystem::path& path)
    : path_(path.string()), file_(path), entries_(Scanner(path_, text_of(file_)).scan()) {}

std::string JsonArrayFile::where(int64_t index) const {
  return fmt::format("{}:{}", path_, entries_[static_cast<size_t>(index)].line);
}

Value JsonArrayFile::entry(int64_t index) const {
  const Extent& extent = entries_[static_cast<size_t>(index)];
  return parse_json(text_of(file_).substr(extent.begin, extent.end - extent.begin), where(index));
}

}  // namespace reprise::workloads::serving
