#include "app/progress.h"

#include <algorithm>
#include <cmath>

#include "app/output.h"
#include "app/terminal.h"
#include "core/base/utf8_byte.h"
#include "core/base/visible.h"
#include "results/table.h"

namespace reprise::app {
namespace {

// The main metrics of a point, for example " ttft_ms=5.1 tpot_ms=0.4"; "" if it has none.
std::string metric_values(const results::Metrics& metrics) {
  std::string text;
  for (const char* metric : {"ttft_ms", "tpot_ms", "step_ms", "latency_us", "diverged",
                             "unexplained", "score", "mean_kl", "mib_per_token"})
    if (const results::Metric* found = results::find_metric(metrics, metric); found != nullptr)
      text += fmt::format(" {}={}", metric, results::short_number(found->value));
  return text;
}

}  // namespace

std::string duration_text(double seconds) {
  const int64_t whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

void Progress::planned(int64_t points, int64_t present, int64_t torn_bytes) {
  points_ = points;
  present_ = done_ = present;
  if (torn_bytes > 0)
    tell(out_, "dropped {} bytes of a point that was cut off while it was written\n", torn_bytes);
  if (present > 0)
    tell(out_, "{} of {} points are there already{}\n", present, points,
         present == points ? "; --fresh measures them again" : ", going on with the rest");
  start_ = std::chrono::steady_clock::now();
}

void Progress::machine_wanted() {
  if (is_terminal_)
    tell(out_, "\rmeasuring the machine's limits\033[K");
  else
    tell(out_, "measuring the machine's limits\n");
  std::fflush(out_);
}

void Progress::started(const experiments::Group& group) {
  label_ = group.label;
  told_ = std::chrono::steady_clock::now();
  if (is_terminal_) show(label_, current());
}

void Progress::doing(const std::string& what) {
  const auto now = std::chrono::steady_clock::now();
  if (now - told_ < (is_terminal_ ? std::chrono::seconds(1) : std::chrono::seconds(60))) return;
  told_ = now;
  if (is_terminal_) return show(label_ + ": " + what, current());
  tell(out_, "[{}/{}] {}: {}\n", current(), points_, visible(label_, /*kept=*/""),
       visible(what, /*kept=*/""));
  std::fflush(out_);
}

void Progress::finished(const experiments::Group& group,
                        const std::vector<results::Record>& records) {
  int64_t number = done_;
  done_ += static_cast<int64_t>(records.size());
  if (is_terminal_) return show(group.label, done_);
  for (const results::Record& record : records) {
    const std::string name = experiments::label_of(experiments::method_of(record));
    const std::string values = metric_values(record.metrics);
    tell(out_, "[{}/{}] {} {}{}{}\n", ++number, points_, visible(group.label, /*kept=*/""),
         visible(name, /*kept=*/""), values.empty() ? "" : ":", values);
  }
  std::fflush(out_);
}

// Prints nothing on a terminal, because the progress line would overwrite it. The notes below the
// table list the skipped points.
void Progress::skipped(const experiments::Group& group, const experiments::MemoryLack& lack) {
  done_ += std::ssize(group.point_ids);
  if (!is_terminal_)
    tell(out_, "[{}/{}] {}: skipped, {}\n", done_, points_, visible(group.label, /*kept=*/""),
         visible(lack.text(), /*kept=*/""));
}

void Progress::show(const std::string& label, int64_t number) {
  constexpr int64_t kBarWidth = 20;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  const int64_t measured = done_ - present_;
  const int64_t filled = points_ > 0 ? done_ * kBarWidth / points_ : 0;
  // The estimate assumes that remaining points take the mean time of finished points. It is too
  // small at first, since points usually grow along a sweep.
  const std::string eta = measured > 0
                              ? duration_text(elapsed.count() / static_cast<double>(measured) *
                                              static_cast<double>(points_ - done_))
                              : "?";
  std::string line =
      fmt::format("[{}{}] {}/{}  {}  ETA {}  {}", std::string(static_cast<size_t>(filled), '#'),
                  std::string(static_cast<size_t>(kBarWidth - filled), '.'), number, points_,
                  duration_text(elapsed.count()), eta, visible(label, /*kept=*/""));
  size_t end = std::min(line.size(), output_columns(out_) - 1);
  while (end < line.size() && continues_character(line[end])) --end;  // keep characters whole
  line.resize(end);
  tell(out_, "\r{}\033[K", line);
  std::fflush(out_);
}

void Progress::end() {
  if (is_terminal_) tell(out_, "\r\033[K");
  std::fflush(out_);
}

}  // namespace reprise::app
