#include "workloads/questions/csv.h"

#include <algorithm>

#include "core/base/byte_order_mark.h"
#include "core/base/error.h"
#include "core/base/json.h"

namespace reprise::workloads::questions {
namespace {

class CsvReader {
 public:
  explicit CsvReader(const std::filesystem::path& path)
      : path_(path.string()), text_(read_file(path)) {
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  }

  std::vector<CsvRow> read() {
    std::vector<CsvRow> rows;
    while (at_ < text_.size()) rows.push_back(row());
    if (rows.empty()) raise("{} holds no row", path_);
    return rows;
  }

 private:
  CsvRow row() {
    CsvRow row{.line = line_};
    while (true) {
      row.fields.push_back(next() == '"' ? quoted() : plain());
      if (next() != ',') break;
      ++at_;
    }
    if (at_ < text_.size()) end_line();
    return row;
  }

  [[nodiscard]] char next() const { return at_ < text_.size() ? text_[at_] : '\n'; }

  void end_line() {
    if (text_[at_] == '\r') ++at_;
    ++at_;
    ++line_;
  }

  std::string plain() {
    const size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
    size_t stop = end;
    if (end < text_.size() && text_[end] == '\n' && stop > at_ && text_[stop - 1] == '\r') --stop;
    std::string field = text_.substr(at_, stop - at_);
    at_ = stop;
    return field;
  }

  std::string quoted() {
    const int64_t opened = line_;
    std::string field;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        if (at_ + 1 == text_.size() || text_[at_ + 1] != '"') {
          ++at_;
          require_end();
          return field;
        }
        ++at_;
      }
      line_ += text_[at_] == '\n' ? 1 : 0;
      field.push_back(text_[at_]);
    }
    raise("{}:{}: the quote that opens here is not closed", path_, opened);
  }

  void require_end() const {
    const char c = next();
    const bool ends =
        c == ',' || c == '\n' || (c == '\r' && (at_ + 1 == text_.size() || text_[at_ + 1] == '\n'));
    if (!ends)
      raise("{}:{}: text behind a closing quote; a quote inside a field is written twice", path_,
            line_);
  }

  std::string path_, text_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

}  // namespace

std::vector<CsvRow> read_csv(const std::filesystem::path& path) { return CsvReader(path).read(); }

}  // namespace reprise::workloads::questions
