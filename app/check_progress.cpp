#include "app/check_progress.h"

#include "app/check_report.h"
#include "app/output.h"
#include "app/progress.h"
#include "core/base/visible.h"

namespace reprise::app {

void CheckProgress::phase(const std::string& text) {
  now_ = text;
  if (is_terminal_)
    show(text);
  else
    tell(out_, "{}\n", visible(text));
  std::fflush(out_);
}

void CheckProgress::step(const std::string& text, int64_t done, int64_t of) {
  if (done == 0 && !is_terminal_) phase(text);
  now_ = fmt::format("{}: {}/{}", text, done, of);
  show(now_);
}

void CheckProgress::planning(int benchmark, int of) {
  step("trial runs, to learn how long each benchmark takes", benchmark, of);
}

void CheckProgress::left_out(const checks::Skipped& benchmark) {
  end();
  tell(out_, "left out: {}\n", visible(benchmark.what(), /*kept=*/""));
  std::fflush(out_);
}

void CheckProgress::calibrating(int round, int of) {
  step("A/A pairs, to learn how noisy the machine is", round, of);
}

void CheckProgress::measuring(int decided, int of, double rounds_left_s) {
  if (!is_measuring_ && !is_terminal_) phase("baseline and candidate in turn");
  is_measuring_ = true;
  show(fmt::format("{}/{} decided, at most {} to go", decided, of, duration_text(rounds_left_s)));
}

void CheckProgress::decided(const checks::BenchmarkResult& result) {
  if (is_terminal_) end();
  tell(out_, "{}: {} {}, {} rounds\n", visible(result.id, /*kept=*/""),
       checks::name_of(result.verdict), ratio_text(result), result.rounds);
  std::fflush(out_);
}

void CheckProgress::recorded(int64_t samples, int64_t of) {
  step("samples for the baseline", samples, of);
}

void CheckProgress::show(const std::string& line) {
  if (!is_terminal_) return;
  tell(out_, "\r{}\033[K", line);
  std::fflush(out_);
}

void CheckProgress::end() {
  if (is_terminal_) tell(out_, "\r\033[K");
  std::fflush(out_);
}

}  // namespace reprise::app
