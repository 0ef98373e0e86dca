// Tests where output goes, with full disks, readers that close their end, and terminals.
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "tests/app/command_line.h"
#include "tests/support/json.h"

namespace reprise::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoMatplotlib =
    "there is no matplotlib here (Debian: apt-get install python3-matplotlib)";

bool has_matplotlib() {
  return std::system("/usr/bin/python3 -c 'import matplotlib' 2>/dev/null") == 0;
}

class Output : public CommandLine {
 protected:
  // Runs a command with standard output to `device`; returns its status and standard error.
  [[nodiscard]] Outcome into(const std::string& device, std::vector<std::string> arguments,
                             const std::string& input = "") const {
    arguments.insert(arguments.begin(), REPRISE_PROGRAM);
    Subprocess process(arguments, dir_, input, device);
    const int status = process.wait();
    return {status, "", process.err()};
  }
  // An experiment that takes milliseconds, with a figure.
  [[nodiscard]] std::string experiment(const std::string& title) const {
    const Json file = {{"name", "small"},
                       {"title", title},
                       {"kind", "ttft"},
                       {"models", {{{"model", model()}, {"weights", "random"}}}},
                       {"methods", {"contiguous"}},
                       {"sweep", {{"prompt_tokens", {4, 8}}}},
                       {"repetitions", 1},
                       {"warmup", 0},
                       {"plot", {{"x", "prompt_tokens"}, {"y", "ttft_ms"}}}};
    std::ofstream(dir_ / "small.json") << file.dump();
    return (dir_ / "small.json").string();
  }
  [[nodiscard]] std::vector<std::string> run_command(const std::vector<std::string>& more) const {
    std::vector<std::string> command = {
        "run", experiment("Small"), "--out", (dir_ / "out").string(), "--threads", "1"};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
  // Writes logits in 451 steps, so that there is time for an interrupt.
  [[nodiscard]] std::vector<std::string> slow_logits(const std::string& out) const {
    std::string ids = "1";
    for (int i = 0; i < 450; ++i) ids += ",2";
    std::vector<std::string> command =
        on_model("logits", {"--ids", ids, "--chunk", "1", "--out", out});
    command.insert(command.begin(), REPRISE_PROGRAM);
    return command;
  }
};

TEST_F(Output, FullDiskIsAnErrorOfEveryCommandThatPrints) {
  const Outcome measured = reprise(run_command({"--no-plot"}));
  ASSERT_EQ(measured.status, 0) << measured.err;
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"--help"},
           {"--version"},
           {"list"},
           {"list", "--help"},
           {"probe", "--json", "--threads", "1"},
           {"plot", (dir_ / "out").string()},
           {"export", (dir_ / "out").string()},
           run_command({"--no-plot"}),
           run_command({"--dry-run"}),
           {"generate", "--model", "quickstart", "--prompt", "Once", "--max-new-tokens", "2"},
           {"tokenize", "--tokenizer", REPRISE_SOURCE_DIR "/models/quickstart"},
           on_model("logits", {"--ids", "1", "--out", "/dev/full"})}) {
    const Outcome outcome = into("/dev/full", command, "Once\n");
    EXPECT_EQ(outcome.status, 1) << command[0] << ": " << outcome.err;
    EXPECT_NE(outcome.err.find("No space left on device"), std::string::npos)
        << command[0] << ": " << outcome.err;
  }
}

TEST_F(Output, AFileAboveTheLimitOfItsSizeIsAnError) {
  Subprocess process({"sh", "-c",
                      fmt::format("ulimit -f 1; exec {} run {} --out {} --threads 1 --no-plot",
                                  REPRISE_PROGRAM, experiment("Small"), (dir_ / "out").string())},
                     dir_);
  EXPECT_EQ(process.wait(), 1);
  const std::string text = process.err();
  EXPECT_NE(text.find("File too large. Raise the limit"), std::string::npos) << text;
}

// Notes and progress that cannot be written must not end a run.
TEST_F(Output, FullStandardErrorLosesNotesAndNothingElse) {
  const bool draws = has_matplotlib();
  const auto shell = [&](const std::string& arguments, const std::string& streams) {
    Subprocess process({"sh", "-c", fmt::format("{} {} {}", REPRISE_PROGRAM, arguments, streams)},
                       dir_);
    const int status = process.wait();
    return Outcome{status, process.out(), process.err()};
  };
  const std::string run = fmt::format("run {} --out {} --threads 1{}", experiment("Small"),
                                      (dir_ / "out").string(), draws ? "" : " --no-plot");
  const Outcome measured = shell(run, "2> /dev/full");
  EXPECT_EQ(measured.status, 0);
  EXPECT_NE(measured.out.find("ttft_ms"), std::string::npos) << measured.out;
  for (const char* figure : {"ttft_ms.pdf", "ttft_ms.png"})
    EXPECT_EQ(fs::exists(dir_ / "out" / "figures" / figure), draws) << figure;
  // If standard output is full too, status 1 tells that the table could not be printed. The
  // measured records are kept.
  EXPECT_EQ(shell(run + " --fresh", "> /dev/full 2> /dev/full").status, 1);
  const Outcome again = shell(run, "");
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_NE(again.err.find("2 of 2 points are there already"), std::string::npos) << again.err;
  const Outcome generated = shell(
      fmt::format("generate --model {} --random-weights --ids 1,2 --max-new-tokens 2", model()),
      "2> /dev/full");
  EXPECT_EQ(generated.status, 0);
  EXPECT_NE(generated.out, "");
}

// The Python that should draw is a script that interrupts the program and itself, as Ctrl-C in a
// terminal does.
TEST_F(Output, InterruptWhileFiguresAreDrawnIsNoFailedFigure) {
  if (!has_matplotlib()) GTEST_SKIP() << kNoMatplotlib;
  const fs::path python = dir_ / "python";
  std::ofstream(python) << "#!/bin/sh\n[ \"$1\" = -c ] && exec /usr/bin/python3 \"$@\"\n"
                           "kill -INT $PPID $$\nsleep 5\nexit 1\n";
  fs::permissions(python, fs::perms::owner_all);
  ::setenv("REPRISE_PYTHON", python.c_str(), 1);
  const Outcome run = reprise(run_command({}));
  ::unsetenv("REPRISE_PYTHON");
  EXPECT_EQ(run.status, 130) << run.err;
  EXPECT_NE(run.err.find("interrupted: the measurements are safe in"), std::string::npos)
      << run.err;
}

TEST_F(Output, LogitsThatAreInterruptedLeaveNothingBehind) {
  const fs::path out = dir_ / "logits";
  std::ofstream(out) << "earlier";
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Subprocess process(slow_logits(out.string()), dir_);
    const auto unfinished = [&] {
      return std::any_of(fs::directory_iterator(dir_), fs::directory_iterator(),
                         [](const auto& f) { return f.path().string().ends_with(".unfinished"); });
    };
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!unfinished() && std::chrono::steady_clock::now() < latest)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    process.send(signal);
    const int status = process.wait();
    EXPECT_FALSE(unfinished()) << signal;
    if (status == 0) continue;  // a fast machine may already have finished
    EXPECT_EQ(status, 130) << signal;
    EXPECT_NE(process.err().find("interrupted"), std::string::npos) << process.err();
    EXPECT_EQ(read_file(out), "earlier");
  }
}

// Standard output is a file in these tests, as after a shell's `> file`. The test has a link of its
// own, so that a failure does not replace the machine's /dev/stdout.
TEST_F(Output, LogitsGoToStandardOutputThatIsAFile) {
  const fs::path link = dir_ / "link";
  fs::create_symlink("/proc/self/fd/1", link);
  const Outcome outcome = reprise(on_model("logits", {"--ids", "3,4", "--out", link.string()}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out.size(), 2 * 256 * sizeof(float));
  EXPECT_TRUE(fs::is_symlink(link));
}

TEST_F(Output, InterruptedLogitsOnStandardOutputAreNotCalledUnchanged) {
  Subprocess process(slow_logits("/dev/fd/1"), dir_);
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (fs::file_size(dir_ / "stdout.txt") == 0 && std::chrono::steady_clock::now() < latest)
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  process.send(SIGINT);
  const int status = process.wait();
  if (status == 0) GTEST_SKIP() << "all logits were written before the interrupt";
  EXPECT_EQ(status, 130);
  EXPECT_NE(process.err().find("interrupted\n"), std::string::npos) << process.err();
}

TEST_F(Output, ResultsThatAreNoFilesAreRefused) {
  const Outcome measured = reprise(run_command({"--no-plot"}));
  ASSERT_EQ(measured.status, 0) << measured.err;
  const fs::path folder = dir_ / "out";
  for (const char* name : {"run.json", "records.jsonl", "skipped.json"}) {
    const fs::path kept = dir_ / "kept";
    const bool was_there = fs::exists(folder / name);
    if (was_there) fs::rename(folder / name, kept);
    ASSERT_EQ(::mkfifo((folder / name).c_str(), 0600), 0);
    expect_refused({"plot", folder.string()}, {name, "is no regular file"});
    expect_refused({"report", folder.string()}, {name, "is no regular file"});
    fs::remove(folder / name);
    if (was_there) fs::rename(kept, folder / name);
  }
  const fs::path elsewhere = dir_ / "elsewhere";
  fs::create_directory(elsewhere);
  fs::create_directory_symlink(elsewhere, folder / "figures");
  expect_refused({"plot", folder.string()}, {"figures is a link", "--out"});
  EXPECT_TRUE(fs::is_empty(elsewhere));
  std::ofstream(elsewhere / "mine") << "mine";
  fs::create_symlink(elsewhere / "mine", folder / "report.html");
  EXPECT_EQ(reprise({"report", folder.string()}).status, 0);
  EXPECT_EQ(read_file(elsewhere / "mine"), "mine");
  EXPECT_FALSE(fs::is_symlink(folder / "report.html"));
}

// If a reader such as `head -1` closes the pipe, the program prints nothing and ends with the
// status of SIGPIPE (141), even where that signal is ignored.
TEST_F(Output, ReaderThatLeftEndsTheProgramQuietly) {
  const fs::path pipe = dir_ / "pipe";
  for (const char* ignoring : {"", "trap '' PIPE; "}) {
    // The reader opens the pipe and closes it at once.
    const std::string line = fmt::format(
        "{0}rm -f {1}; mkfifo {1}; (true < {1}) & exec 3> {1}; wait; {2} list >&3; echo $? > {3}",
        ignoring, pipe.string(), REPRISE_PROGRAM, (dir_ / "status").string());
    Subprocess shell({"sh", "-c", line}, dir_);
    EXPECT_EQ(shell.wait(), 0) << shell.err();
    EXPECT_EQ(read_file(dir_ / "status"), "141\n");
    EXPECT_EQ(shell.err(), "");
  }
}

// If the reader of the notes has closed the pipe, the notes are lost and nothing else, as on a full
// disk. This holds for the program's notes and for those of the Python that draws.
TEST_F(Output, ReaderOfNotesThatLeftCostsNothingElse) {
  const bool draws = has_matplotlib();
  const fs::path pipe = dir_ / "pipe";
  const std::string line = fmt::format(
      "mkfifo {0}; (true < {0}) & exec 3> {0}; wait; exec {1} run {2} --out {3} --threads 1{4} "
      "2>&3",
      pipe.string(), REPRISE_PROGRAM, experiment("Small"), (dir_ / "out").string(),
      draws ? "" : " --no-plot");
  Subprocess shell({"sh", "-c", line}, dir_);
  EXPECT_EQ(shell.wait(), 0);
  EXPECT_NE(shell.out().find("ttft_ms"), std::string::npos) << shell.out();
  for (const char* figure : {"ttft_ms.pdf", "ttft_ms.png"})
    EXPECT_EQ(fs::exists(dir_ / "out" / "figures" / figure), draws) << figure;
}

// By the time the figures' names are printed, the reader of both streams has closed its end.
TEST_F(Output, ReaderThatLeftWhileFiguresAreDrawnIsNoFailure) {
  if (!has_matplotlib()) GTEST_SKIP() << kNoMatplotlib;
  const Outcome measured = reprise(run_command({"--no-plot"}));
  ASSERT_EQ(measured.status, 0) << measured.err;
  for (const std::string& command :
       {fmt::format("{} plot {}", REPRISE_PROGRAM, (dir_ / "out").string()),
        fmt::format("{} run {} --out {} --threads 1", REPRISE_PROGRAM, experiment("Small"),
                    (dir_ / "out").string())}) {
    Subprocess shell(
        {"sh", "-c",
         fmt::format("({} 2>&1; echo $? > {}) | head -1", command, (dir_ / "status").string())},
        dir_);
    EXPECT_EQ(shell.wait(), 0);
    EXPECT_EQ(read_file(dir_ / "status"), "141\n") << command;
    EXPECT_EQ(shell.err(), "") << command;
  }
}

// The names of figures are notes, so standard output holds only results, which another program may
// read.
TEST_F(Output, ReaderOfTheResultsAloneMayLeaveOnceItHasThem) {
  if (!has_matplotlib()) GTEST_SKIP() << kNoMatplotlib;
  ASSERT_EQ(reprise(run_command({"--no-plot"})).status, 0);
  const Outcome plotted = reprise({"plot", (dir_ / "out").string(), "--format", "csv"});
  EXPECT_EQ(plotted.status, 0) << plotted.err;
  EXPECT_EQ(plotted.out.find("figure:"), std::string::npos) << plotted.out;
  EXPECT_NE(plotted.err.find("figure: "), std::string::npos) << plotted.err;
}

TEST_F(Output, ExportedRowsStandAloneAndNothingIsDrawn) {
  ASSERT_EQ(reprise(run_command({"--no-plot"})).status, 0);
  const std::string folder = (dir_ / "out").string();
  const Outcome rows = reprise({"export", folder});
  ASSERT_EQ(rows.status, 0) << rows.err;
  EXPECT_FALSE(fs::exists(dir_ / "out" / "figures"));
  std::istringstream lines(rows.out);
  std::string header, first, second, rest;
  ASSERT_TRUE(std::getline(lines, header) && std::getline(lines, first) &&
              std::getline(lines, second));
  EXPECT_FALSE(std::getline(lines, rest)) << rest;
  for (const char* column : {"experiment,", ",revision,", ",model,", ",dtype,", ",threads,",
                             ",seeds.prompts,", ",prompt_tokens,", ",ttft_ms,ttft_ms_q1,"})
    EXPECT_NE(header.find(column), std::string::npos) << column << " in " << header;
  for (const std::string& row : {first, second})
    EXPECT_NE(row.find(model()), std::string::npos) << row;
  EXPECT_EQ(std::count(header.begin(), header.end(), ','),
            std::count(first.begin(), first.end(), ','));

  const Outcome alone = reprise({"export", folder + "/records.jsonl"});
  EXPECT_EQ(alone.status, 0) << alone.err;
  EXPECT_EQ(alone.err.find("drawing"), std::string::npos) << alone.err;

  const Json json = Json::parse(reprise({"export", folder, "--format", "json"}).out);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[1]["experiment"], "small");
  EXPECT_EQ(json[1]["settings"]["threads"], 1);
  const Outcome one = reprise({"export", folder, "--metrics", "ttft_ms"});
  EXPECT_NE(one.out.find(",workload.name,ttft_ms,ttft_ms_q1,ttft_ms_q3,noisy\r"), std::string::npos)
      << one.out;
  expect_refused({"export", folder, "--format", "table"}, {"unknown format", "parquet"});
  expect_refused({"export", folder, "--metrics", "ttfd_ms"}, {"did you mean \"ttft_ms\""});
}

TEST_F(Output, ClosedStandardOutputDoesNotMixWithFiles) {
  const std::string logits = (dir_ / "logits").string();
  const std::string line =
      fmt::format("{} logits --model {} --random-weights --ids 1 --out {} >&-; {} list >&-",
                  REPRISE_PROGRAM, model(), logits, REPRISE_PROGRAM);
  Subprocess shell({"sh", "-c", line}, dir_);
  EXPECT_EQ(shell.wait(), 1) << shell.err();
  EXPECT_EQ(fs::file_size(logits), 256 * sizeof(float));
  EXPECT_NE(shell.err().find("Bad file descriptor"), std::string::npos) << shell.err();
}

TEST_F(Output, ClosedStandardInputIsNotAnEmptyOne) {
  const std::string line = fmt::format("{} tokenize --tokenizer {}/models/quickstart <&-",
                                       REPRISE_PROGRAM, REPRISE_SOURCE_DIR);
  Subprocess shell({"sh", "-c", line}, dir_);
  EXPECT_EQ(shell.wait(), 1) << shell.err();
  EXPECT_NE(shell.err().find("Bad file descriptor"), std::string::npos) << shell.err();
}

TEST_F(Output, FigureThatWasNotDrawnIsAStatusOfItsOwn) {
  ::setenv("REPRISE_PLOTS_DIR", "/nowhere", 1);
  const Outcome run = reprise(run_command({}));
  EXPECT_EQ(run.status, 4) << run.err;
  EXPECT_NE(run.err.find("REPRISE_PLOTS_DIR"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("measurements are safe in"), std::string::npos) << run.err;
  EXPECT_EQ(reprise({"plot", (dir_ / "out").string()}).status, 1);
  EXPECT_EQ(reprise(run_command({"--no-plot"})).status, 0);
  ::unsetenv("REPRISE_PLOTS_DIR");
}

TEST_F(Output, PythonThatIsNoneIsToldBeforeAnythingIsMeasured) {
  const fs::path silent = dir_ / "silent";
  std::ofstream(silent) << "not executable";
  for (const std::string& python :
       {std::string("/nowhere/python"), silent.string(), std::string("false"), std::string("true"),
        std::string("cat"), dir_.string()}) {
    ::setenv("REPRISE_PYTHON", python.c_str(), 1);
    for (const char* more : {"--fresh", "--dry-run"})
      expect_refused(run_command({more}), {fmt::format("REPRISE_PYTHON is \"{}\"", python),
                                           "/usr/bin/python3, or unset it"});
    EXPECT_FALSE(fs::exists(dir_ / "out")) << "measured with " << python;
  }
  const Outcome no_figures = reprise(run_command({"--no-plot"}));
  EXPECT_EQ(no_figures.status, 0) << no_figures.err;
  expect_refused({"plot", (dir_ / "out").string()}, {"REPRISE_PYTHON"});
  ::unsetenv("REPRISE_PYTHON");
}

// Text from a file must not move the cursor, ring the bell or rename the window.
TEST_F(Output, ControlCharactersOfFilesAreWrittenOut) {
  const std::string title = "Small\x1b[2J\a\r\xc2\x9b";
  const Outcome run = reprise(
      {"run", experiment(title), "--out", (dir_ / "out").string(), "--no-plot", "--threads", "1"});
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_NE(run.err.find("without control characters, found \"Small"), std::string::npos)
      << run.err;
  for (const char* raw : {"\x1b", "\a", "\r", "\xc2\x9b"})
    EXPECT_EQ(run.err.find(raw), std::string::npos) << run.err;

  fs::rename(dir_ / "model", dir_ / "mo\x1b[31mdel");
  const Outcome missing =
      reprise({"generate", "--model", (dir_ / "mo\x1b[31mdell").string(), "--ids", "1"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_NE(missing.err.find("mo\\x1b[31mdell"), std::string::npos) << missing.err;
  std::ofstream(dir_ / "mo\x1b[31mdel" / "config.json") << R"({"model_type": "\u001b]0;x\u0007"})";
  const Outcome unknown =
      reprise({"generate", "--model", (dir_ / "mo\x1b[31mdel").string(), "--ids", "1"});
  EXPECT_EQ(unknown.status, 1);
  for (const std::string& text : {run.out, run.err, missing.err, unknown.err})
    EXPECT_EQ(text.find_first_of("\x1b\a\r"), std::string::npos) << text;
  fs::rename(dir_ / "mo\x1b[31mdel", dir_ / "model");
}

}  // namespace
}  // namespace reprise::app
