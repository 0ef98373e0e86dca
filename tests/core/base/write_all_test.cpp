#include "core/base/write_all.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>

namespace reprise {
namespace {

// A pipe holds 64 KiB, so the system takes the rest in parts while the other end reads.
TEST(WriteAll, GoesOnUntilEverythingIsWritten) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  std::string sent(1 << 20, '\0');
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i % 251);
  std::string received;
  std::thread reader([&] {
    std::array<char, 5000> part;
    for (ssize_t count; (count = ::read(ends[0], part.data(), part.size())) > 0;)
      received.append(part.data(), static_cast<size_t>(count));
  });
  EXPECT_TRUE(write_all(ends[1], sent));
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
  EXPECT_EQ(received, sent);
}

TEST(WriteAll, TellsWhyTheSystemRefuses) {
  EXPECT_TRUE(write_all(-1, "")) << "nothing is nothing to refuse";
  errno = 0;
  EXPECT_FALSE(write_all(-1, "a"));
  EXPECT_EQ(errno, EBADF);
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  EXPECT_FALSE(write_all(full, "a"));
  EXPECT_EQ(errno, ENOSPC);
  ::close(full);
}

TEST(WriteAll, TheRemedyFitsTheError) {
  EXPECT_NE(write_remedy(ENOSPC).find("Free some space"), std::string::npos);
  EXPECT_NE(write_remedy(EFBIG).find("ulimit -f"), std::string::npos);
  EXPECT_NE(write_remedy(EISDIR, "otherwise").find("Remove the folder"), std::string::npos);
  EXPECT_EQ(write_remedy(EACCES, "otherwise"), "otherwise");
}

}  // namespace
}  // namespace reprise
