#include "core/base/child_process.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include "core/base/error.h"

namespace reprise {
namespace {

const std::atomic<bool> kGoOn = false;

std::string refusal(const std::vector<std::string>& command) {
  try {
    (void)run_child(command, kGoOn);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(RunChild, KeepsBothStreamsHoweverLong) {
  const ChildResult result =
      run_child({"sh", "-c", "for i in $(seq 20000); do echo out; echo error >&2; done"}, kGoOn);
  EXPECT_EQ(result.out.size(), 80000u);
  EXPECT_EQ(result.err.size(), 120000u);
  EXPECT_GT(result.wall_s, 0);
}

TEST(RunChild, FailuresNameCommandReasonAndLastWords) {
  EXPECT_NE(refusal({"/nowhere/read_bench"}).find("cannot start /nowhere/read_bench"),
            std::string::npos);
  const std::string status = refusal({"sh", "-c", "echo no such file >&2; exit 3"});
  EXPECT_NE(status.find("status 3"), std::string::npos) << status;
  EXPECT_NE(status.find("no such file"), std::string::npos) << status;
  const std::string crash = refusal({"sh", "-c", "kill -SEGV $$"});
  EXPECT_NE(crash.find("crashed: signal 11"), std::string::npos) << crash;
  EXPECT_NE(crash.find("printed no error"), std::string::npos) << crash;
}

TEST(ChildProcess, EndsAreTold) {
  const auto end_of = [](const std::string& line) {
    return ChildProcess({"sh", "-c", line}, {}).wait();
  };
  EXPECT_TRUE(end_of("exit 0").is_success());
  EXPECT_EQ(end_of("exit 3").code(), 3);
  EXPECT_FALSE(end_of("exit 3").is_success());
  const ChildEnd killed = end_of("kill -TERM $$");
  EXPECT_EQ(killed.signal, SIGTERM);
  EXPECT_EQ(killed.code(), 128 + SIGTERM);
  EXPECT_THROW(ChildProcess({"/nowhere/program"}, {}), Error);
}

// A child without input reads nothing, and a child's streams are the files that it is given.
TEST(ChildProcess, StreamsAreThoseGiven) {
  EXPECT_TRUE(ChildProcess({"sh", "-c", "! read line"}, {}).wait().is_success());
  std::FILE* in = std::tmpfile();
  std::FILE* out = std::tmpfile();
  std::fputs("42\n", in);
  std::rewind(in);
  EXPECT_TRUE(ChildProcess({"sh", "-c", "read n; echo $((n + 1)); echo 7 >&2"},
                           {.in = fileno(in), .out = fileno(out), .err = fileno(out)})
                  .wait()
                  .is_success());
  char text[16] = {};
  std::rewind(out);
  EXPECT_EQ(std::fread(text, 1, sizeof text, out), 5u);
  EXPECT_STREQ(text, "43\n7\n");
  std::fclose(in);
  std::fclose(out);
}

TEST(ChildProcess, DoesNotOutliveItsObject) {
  const auto start = std::chrono::steady_clock::now();
  { const ChildProcess sleeping({"sleep", "60"}, {}); }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(RunChild, StopsWithItsChildWhenAsked) {
  std::atomic<bool> stop = false;
  std::thread asker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop = true;
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW((void)run_child({"sleep", "60"}, stop), Interrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  asker.join();
  EXPECT_THROW((void)run_child({"true"}, stop), Interrupted);
}

TEST(ChildDialogue, AnswersLineByLineHoweverLong) {
  ChildDialogue dialogue({"sh", "-c", "echo ready; while read -r line; do echo \"$line!\"; done"});
  EXPECT_EQ(dialogue.next_line(kGoOn), "ready");
  for (const size_t bytes : {0u, 1u, 1u << 20})
    EXPECT_EQ(dialogue.ask(std::string(bytes, 'x'), kGoOn), std::string(bytes, 'x') + "!");
}

TEST(ChildDialogue, AnEndIsToldWithItsLastWords) {
  ChildDialogue dialogue({"sh", "-c", "echo one; yes much | head -n 100000 >&2; echo last >&2"});
  EXPECT_EQ(dialogue.next_line(kGoOn), "one");
  try {
    (void)dialogue.ask(std::string(1 << 20, 'x'), kGoOn);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("ended without an answer"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("last"), std::string::npos) << error.what();
  }
  EXPECT_THROW(ChildDialogue({"/nowhere/peer"}), Error);
}

TEST(ChildDialogue, StopsWithItsChildWhenAsked) {
  std::atomic<bool> stop = false;
  ChildDialogue dialogue({"sleep", "60"});
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop = true;
  });
  EXPECT_THROW((void)dialogue.next_line(stop), Interrupted);
  stopper.join();
}

}  // namespace
}  // namespace reprise
