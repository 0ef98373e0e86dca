// Running the real program in tests: to its end, or until it is killed.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"

extern char** environ;

namespace reprise::app {

class Subprocess {
 public:
  // Starts it with standard output and error in files of `dir`, and no standard input.
  Subprocess(const std::vector<std::string>& command, const std::filesystem::path& dir)
      : out_(dir / "stdout.txt"), err_(dir / "stderr.txt") {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&actions, 1, out_.c_str(), kWrite, 0644);
    posix_spawn_file_actions_addopen(&actions, 2, err_.c_str(), kWrite, 0644);
    const int error =
        posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    REPRISE_CHECK(error == 0, "cannot start {}", command[0]);
  }

  // Exit status; 128 + signal if one ended it.
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void send(int signal) const { ::kill(pid_, signal); }

  [[nodiscard]] std::string out() const { return read_file(out_); }
  [[nodiscard]] std::string err() const { return read_file(err_); }

 private:
  std::filesystem::path out_, err_;
  pid_t pid_ = 0;
};

}  // namespace reprise::app
