// Runs the real program in tests, to its end or until it is killed.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/base/child_process.h"
#include "core/base/error.h"
#include "core/base/json.h"

namespace reprise::app {

class Subprocess {
 public:
  // Starts the program with standard output and error in files of `dir`, and `input` as standard
  // input.
  Subprocess(const std::vector<std::string>& command, const std::filesystem::path& dir,
             const std::string& input = "")
      : Subprocess(command, dir, input, dir / "stdout.txt") {}
  // Starts the program with standard output to `out`, such as a device or a pipe.
  Subprocess(const std::vector<std::string>& command, const std::filesystem::path& dir,
             const std::string& input, const std::filesystem::path& out)
      : out_(out),
        err_(dir / "stderr.txt"),
        process_(command, {.in = File(written(dir / "stdin.txt", input), O_RDONLY).number(),
                           .out = File(out_, kWrite).number(),
                           .err = File(err_, kWrite).number()}) {}

  // Waits for the end. Returns the exit status, or 128 + the signal that ended the program.
  int wait() { return process_.wait().code(); }
  void send(int signal) const { process_.send(signal); }

  [[nodiscard]] std::string out() const { return read_file(out_); }
  [[nodiscard]] std::string err() const { return read_file(err_); }

 private:
  static constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;

  // A file that stays open until the program is started.
  class File {
   public:
    File(const std::filesystem::path& path, int flags)
        : number_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
      REPRISE_CHECK(number_ >= 0, "cannot open {}", path.string());
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() { ::close(number_); }
    [[nodiscard]] int number() const { return number_; }

   private:
    int number_;
  };

  static std::filesystem::path written(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  std::filesystem::path out_, err_;
  ChildProcess process_;
};

}  // namespace reprise::app
