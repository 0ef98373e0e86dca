// The traces of Azure's LLM inference service (2023 and 2024): arrival times and lengths.
//
// Files are CSV with the heading TIMESTAMP,ContextTokens,GeneratedTokens; times look like
// 2023-11-16 18:15:46.6805900, with or without an offset. Prompts are made up and share nothing,
// except a declared prefix: `shared_tokens` tokens that are added before each prompt.
#include "workloads/serving/sources.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>

#include "core/base/error.h"
#include "core/base/visible.h"
#include "workloads/serving/recorded_lengths.h"

namespace reprise::workloads::serving {
namespace {

// Reads a time from the front of a text. After the first mismatch all further reads fail too.
class TimeReader {
 public:
  explicit TimeReader(std::string_view text) : rest_(text) {}

  int number(size_t digits) {
    int value = 0;
    for (size_t i = 0; i < digits; ++i) value = value * 10 + digit();
    return value;
  }
  void expect(std::string_view any_of) {
    if (rest_.empty() || any_of.find(rest_[0]) == std::string_view::npos) fails_ = true;
    if (!rest_.empty()) rest_.remove_prefix(1);
  }
  [[nodiscard]] bool starts_with(std::string_view any_of) const {
    return !rest_.empty() && any_of.find(rest_[0]) != std::string_view::npos;
  }
  [[nodiscard]] bool succeeds() const { return !fails_ && rest_.empty(); }
  [[nodiscard]] char front() const { return rest_.empty() ? '\0' : rest_[0]; }

 private:
  int digit() {
    const char c = front();
    expect("0123456789");
    return fails_ ? 0 : c - '0';
  }

  std::string_view rest_;
  bool fails_ = false;
};

int64_t read_fraction_ns(TimeReader& reader) {
  int64_t ns = 0;
  if (!reader.starts_with(".")) return 0;
  reader.expect(".");
  for (int64_t unit = 100'000'000; reader.starts_with("0123456789"); unit /= 10)
    ns += unit * reader.number(1);  // digits below a nanosecond count 0
  return ns;
}

// Reads minutes east of Greenwich: nothing, "Z" or "+01:00".
int64_t read_offset_minutes(TimeReader& reader) {
  if (reader.starts_with("Zz")) reader.expect("Zz");
  if (!reader.starts_with("+-")) return 0;
  const int64_t sign = reader.starts_with("-") ? -1 : 1;
  reader.expect("+-");
  const int64_t hours = reader.number(2);
  reader.expect(":");
  return sign * (hours * 60 + reader.number(2));
}

// Returns nanoseconds since 1970. Seconds as a double would lose the trace's resolution of 100 ns.
std::optional<int64_t> parse_time_ns(std::string_view text) {
  namespace ch = std::chrono;
  TimeReader reader(text);
  const int year = reader.number(4);
  reader.expect("-");
  const int month = reader.number(2);
  reader.expect("-");
  const int day = reader.number(2);
  reader.expect(" T");
  const int hour = reader.number(2);
  reader.expect(":");
  const int minute = reader.number(2);
  reader.expect(":");
  const int second = reader.number(2);
  const int64_t fraction_ns = read_fraction_ns(reader);
  const int64_t offset = read_offset_minutes(reader);
  const ch::year_month_day date{ch::year(year), ch::month(static_cast<unsigned>(month)),
                                ch::day(static_cast<unsigned>(day))};
  // Nanoseconds of these years fit into 64 bits.
  if (!reader.succeeds() || !date.ok() || hour > 23 || minute > 59 || second > 59 || year < 1970 ||
      year > 2200)
    return {};
  const int64_t days = ch::sys_days(date).time_since_epoch().count();
  const int64_t seconds = ((days * 24 + hour) * 60 + minute - offset) * 60 + second;
  return seconds * 1'000'000'000 + fraction_ns;
}

int64_t read_time_ns(const TableLine& line) {
  const std::string_view text = line.text(0, "TIMESTAMP");
  const std::optional<int64_t> ns = parse_time_ns(text);
  if (!ns)
    raise("{}: TIMESTAMP is \"{}\", it must be as 2023-11-16 18:15:46.6805900", line.where(),
          visible(text.substr(0, 80), ""));
  return *ns;
}

void require_heading(const TableLine& line) {
  constexpr std::string_view kNames[] = {"TIMESTAMP", "ContextTokens", "GeneratedTokens"};
  bool is_heading = line.size() == std::size(kNames);
  for (size_t i = 0; is_heading && i < line.size(); ++i)
    is_heading = line.text(i, kNames[i]) == kNames[i];
  if (!is_heading)
    raise("{}: the heading is missing; expected TIMESTAMP,ContextTokens,GeneratedTokens",
          line.where());
}

}  // namespace

SourceInfo azure_info() {
  return {.name = "azure",
          .summary = "Azure's traces of 2023 and 2024: times and lengths",
          .file = FileUse::kNeeded,
          .fields = {"requests", "shared_tokens", "window_start_s", "window_s", "unsorted_times",
                     "length_divisor", "most_prompt_tokens", "most_output_tokens", "too_long"},
          .is_timed = true};
}

std::unique_ptr<Entries> make_azure(const SourceOptions& options) {
  auto entries = std::make_unique<RecordedLengths>(options);
  RecordedTimes times(options);
  std::optional<int64_t> first_ns;
  for_each_table_line(options.file, [&](const TableLine& line) {
    if (line.number() == 1) {
      require_heading(line);
      return;
    }
    line.require_at_most(3);
    const int64_t time_ns = read_time_ns(line);
    if (!first_ns) first_ns = time_ns;
    const double time_s = static_cast<double>(time_ns - *first_ns) * 1e-9;
    times.next(time_s, line);
    entries->add(line.integer(1, "ContextTokens", kMostTokens),
                 line.integer(2, "GeneratedTokens", kMostTokens), time_s);
  });
  entries->begin_at(times.start_s());
  return entries;
}

}  // namespace reprise::workloads::serving
