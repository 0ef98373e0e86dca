#include "app/embed_lines.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <istream>
#include <string>
#include <vector>

#include "app/input_lines.h"
#include "core/base/byte_order_mark.h"
#include "core/base/error.h"
#include "core/base/json.h"

namespace reprise::app {
namespace {

std::string where(int64_t line) { return fmt::format("input line {}", line); }

// Most bytes of a JSON line. Such a line cannot be cut, because its text is known only at its end.
constexpr size_t kMostJsonBytes = size_t{16} << 20;

// Most bytes of a line to read: `text_bytes`, one byte more that shows that the text is longer, one
// for a \r, and those of a byte order mark.
size_t line_bytes(size_t text_bytes, bool is_json) {
  return is_json ? kMostJsonBytes : text_bytes + 2 + kByteOrderMark.size();
}

std::string text_of(const InputLines& in, bool is_json) {
  const std::string place = in.where();
  std::string line(in.number() == 1 ? without_byte_order_mark(in.text()) : in.text());
  if (is_json && in.was_longer())
    raise("{}: more than {} bytes, the most that a line of JSON may have: shorten its text", place,
          in.most_bytes());
  if (line.ends_with('\r')) line.pop_back();  // files from elsewhere end lines in \r\n
  if (!is_json) return line;
  const Value json = parse_json(line, place);
  if (json.is_text()) return json.text();
  if (const Value& text = field_of(json, "text"); text.is_text()) return text.text();
  raise("{}: expected a JSON string, or an object with one under \"text\", found {}", place,
        json.is_fields() ? "an object without it" : json_type(json));
}

class Lines {
 public:
  Lines(MethodEmbedder& embedder, const std::function<void(std::string_view)>& write,
        const std::function<void()>& flush)
      : embedder_(embedder), write_(write), flush_(flush) {}

  void add(const std::string& text, int64_t line) {
    batch_.push_back(embedder_.tokens_of(text));
    lines_.push_back(line);
    const sentence::TextTokens& tokens = batch_.back();
    waiting_ += std::ssize(tokens.ids);
    count_.texts += 1;
    count_.tokens += std::ssize(tokens.ids);
    if (!tokens.was_cut()) return;
    if (count_.cut++ == 0) count_.first_cut_line = line;
  }
  [[nodiscard]] bool is_full() const { return waiting_ >= sentence::Embedder::kStepTokens; }
  [[nodiscard]] const EmbedCount& count() const { return count_; }

  // Encodes and writes the batch.
  void finish() {
    if (batch_.empty()) return;
    const auto width = static_cast<size_t>(embedder_.width());
    values_.resize(batch_.size() * width);
    embedder_.read(batch_, values_);
    for (size_t i = 0; i < batch_.size(); ++i)
      write_vector(std::span(values_).subspan(i * width, width), lines_[i]);
    batch_.clear();
    lines_.clear();
    waiting_ = 0;
    flush_();
  }

 private:
  void write_vector(std::span<const float> vector, int64_t line) {
    line_.clear();
    for (const float value : vector) {
      if (!std::isfinite(value))
        raise("{}: the model's vector is not finite; its weights or inputs are corrupt",
              where(line));
      line_ += line_.empty() ? '[' : ',';
      fmt::format_to(std::back_inserter(line_), "{}", value);
    }
    line_ += "]\n";
    write_(line_);
  }

  MethodEmbedder& embedder_;
  const std::function<void(std::string_view)>& write_;
  const std::function<void()>& flush_;
  std::vector<sentence::TextTokens> batch_;
  std::vector<int64_t> lines_;  // line numbers of the batch's texts
  int64_t waiting_ = 0;         // tokens in the batch
  std::vector<float> values_;
  std::string line_;
  EmbedCount count_;
};

}  // namespace

EmbedCount embed_lines(MethodEmbedder& embedder, bool is_json, std::istream& in,
                       const std::function<void(std::string_view line)>& write,
                       const std::function<void()>& flush, const std::atomic<bool>& stop) {
  Lines lines(embedder, write, flush);
  InputLines input(in, "input", line_bytes(embedder.most_text_bytes(), is_json));
  const auto next = [&] {
    try {
      return input.next();
    } catch (const Error&) {
      lines.finish();
      throw;
    }
  };
  while (next() && !stop) {
    std::string problem;
    try {
      lines.add(text_of(input, is_json), input.number());
    } catch (const Error& error) {
      problem = error.what();
      if (!problem.starts_with(input.where())) problem = input.where() + ": " + problem;
    }
    if (!problem.empty() || lines.is_full() || in.rdbuf()->in_avail() <= 0) lines.finish();
    if (!problem.empty()) raise("{}", problem);
  }
  lines.finish();
  return lines.count();
}

std::vector<std::vector<int32_t>> token_lines(const sentence::Embedder& embedder, bool is_json,
                                              const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) raise("cannot read {}: {}", file, std::strerror(errno));
  InputLines input(in, file, line_bytes(embedder.most_text_bytes(), is_json));
  std::vector<std::vector<int32_t>> all;
  while (input.next()) {
    const std::string text = text_of(input, is_json);
    try {
      all.push_back(embedder.tokens_of(text).ids);
    } catch (const Error& error) {
      raise("{}: {}", input.where(), error.what());
    }
  }
  return all;
}

}  // namespace reprise::app
