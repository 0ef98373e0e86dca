#include "workloads/serving/servegen_client.h"

#include <algorithm>
#include <charconv>

#include "core/base/error.h"
#include "core/base/json.h"
#include "workloads/serving/table_file.h"

namespace reprise::workloads::serving {
namespace {

constexpr double kLastWindow_s = 600;  // length of a file's only window, whose end is not given
constexpr double kMostShape = 1e6;     // at this gamma or Weibull shape, gaps are almost equal

double number_of(const std::string& key, const std::string& file) {
  double value = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), value);
  if (error != std::errc() || end != key.data() + key.size() || !(value >= 0 && value < 1e12))
    raise("{}: key \"{}\" must be the start of a window in seconds", file, key);
  return value;
}

}  // namespace

std::filesystem::path dataset_beside(const std::filesystem::path& trace) {
  constexpr std::string_view kEnd = "-trace.csv";
  std::string name = trace.filename().string();
  if (!name.ends_with(kEnd)) return {};
  name.replace(name.size() - kEnd.size(), kEnd.size(), "-dataset.json");
  return trace.parent_path() / name;
}

ServeGenClient::ServeGenClient(const std::filesystem::path& trace)
    : trace_(trace), dataset_(dataset_beside(trace)) {
  if (dataset_.empty())
    raise("{}: a client's file is named NAME-trace.csv, and NAME-dataset.json stands beside it",
          trace.string());
  read_windows();
  read_lengths();
  const double first_s = windows_.front().start_s;
  for (Window& window : windows_) {
    window.start_s -= first_s;
    window.end_s -= first_s;
  }
  for (LengthWindow& window : lengths_) window.start_s -= first_s;
}

void ServeGenClient::read_windows() {
  for_each_table_line(trace_, [this](const TableLine& line) {
    Window window{.start_s = line.real(0, "the window's start"),
                  .rate_rps = line.real(1, "the rate")};
    if (!windows_.empty() && window.start_s <= windows_.back().start_s)
      raise("{}: the window starts at {} s, not after the one above", line.where(), window.start_s);
    if (window.rate_rps > 0) {
      const std::string family(line.text(3, "the family"));
      const std::vector<std::string> known = {"Gamma", "Weibull"};
      if (std::find(known.begin(), known.end(), family) == known.end())
        raise("{}: {}", line.where(), unknown_name("family of gaps", family, known));
      window.family = family == "Gamma" ? Family::kGamma : Family::kWeibull;
      window.shape = line.real(4, "the shape");
      if (window.shape < kLeastShape || window.shape > kMostShape)
        raise("{}: the shape is {}, it must be from {} to {}", line.where(), window.shape,
              kLeastShape, kMostShape);
    }
    if (!windows_.empty()) windows_.back().end_s = window.start_s;
    windows_.push_back(window);
  });
  const size_t count = windows_.size();
  windows_.back().end_s =
      windows_.back().start_s +
      (count == 1 ? kLastWindow_s : windows_[count - 2].end_s - windows_[count - 2].start_s);
}

void ServeGenClient::read_lengths() {
  const std::string file = dataset_.string();
  const Value json = read_json(dataset_);
  if (!json.is_fields()) raise("{}: an object of windows is expected", file);
  for (const auto& [key, value] : json.fields()) {
    JsonObject window(value, file, key);
    const auto histogram = [&](const char* name) {
      return LengthHistogram(window.string(name), window.where(name));
    };
    lengths_.push_back(
        {.start_s = number_of(key, file),
         .lengths = {.input = histogram("input_tokens"), .output = histogram("output_tokens")}});
  }
  std::sort(lengths_.begin(), lengths_.end(),
            [](const LengthWindow& a, const LengthWindow& b) { return a.start_s < b.start_s; });
}

double ServeGenClient::length_s() const { return windows_.back().end_s; }

const ServeGenClient::Lengths& ServeGenClient::lengths_at(double time_s) const {
  auto after = std::upper_bound(
      lengths_.begin(), lengths_.end(), time_s,
      [](double time, const LengthWindow& window) { return time < window.start_s; });
  if (after == lengths_.begin())
    raise("{}: no window tells the lengths at {} s, where {} has requests", dataset_.string(),
          time_s, trace_.string());
  const LengthWindow& window = *(after - 1);
  if (window.lengths.input.empty() || window.lengths.output.empty())
    raise("{}: the window at {} s has no lengths, and {} has requests at {} s", dataset_.string(),
          window.start_s, trace_.string(), time_s);
  return window.lengths;
}

ServeGenClient::Arrivals::Arrivals(const ServeGenClient& client, double start_s)
    : client_(client), at_s_(start_s) {
  while (window_ < client_.windows_.size() && client_.windows_[window_].end_s <= start_s) ++window_;
}

// Draws a gap with mean 1 and the shape of the window in which the gap begins. The gap is in units
// of expected requests: in a window with rate r, t seconds use up r t of it.
double ServeGenClient::Arrivals::next_s(GapDraws draws) {
  const std::vector<Window>& windows = client_.windows_;
  const auto leave = [&] { at_s_ = windows[window_++].end_s; };
  while (window_ < windows.size() && windows[window_].rate_rps == 0) leave();
  if (window_ == windows.size()) return client_.length_s();
  const Window& first = windows[window_];
  double gap = first.family == Family::kGamma ? gamma_gap(first.shape, draws)
                                              : weibull_gap(first.shape, draws);
  for (; window_ < windows.size(); leave()) {
    const Window& window = windows[window_];
    const double expected = (window.end_s - at_s_) * window.rate_rps;
    if (gap < expected) return at_s_ += gap / window.rate_rps;
    gap -= expected;
  }
  return client_.length_s();
}

}  // namespace reprise::workloads::serving
