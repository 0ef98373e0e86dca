// Tests what is read from the files of control groups, with files of the test's own.
#include "core/device/control_group.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace reprise {
namespace {

namespace fs = std::filesystem;

class ControlGroup : public ::testing::Test {
 protected:
  ~ControlGroup() override { fs::remove_all(dir_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((dir_ / name).parent_path());
    std::ofstream(dir_ / name) << text;
  }
  [[nodiscard]] int64_t left_bytes() const {
    const auto memory = memory_of_control_group(files());
    return memory ? memory->left_bytes : -1;
  }
  [[nodiscard]] double processors() const {
    return processors_of_control_group(files()).value_or(-1);
  }

 private:
  [[nodiscard]] ControlGroupFiles files() const {
    return {.groups = dir_ / "cgroup", .membership = dir_ / "membership"};
  }
  fs::path dir_ = fs::temp_directory_path() / ("reprise_control_group_" + std::to_string(getpid()));
};

TEST_F(ControlGroup, CachedFilesCountAsLeft) {
  write("membership", "0::/\n");
  write("cgroup/memory.max", "1000000\n");
  write("cgroup/memory.current", "900000\n");
  EXPECT_EQ(left_bytes(), 100000);
  write("cgroup/memory.stat", "anon 300000\ninactive_file 500000\nactive_file 100000\nfile 9\n");
  EXPECT_EQ(left_bytes(), 700000);
  write("cgroup/memory.current", "1000000\n");
  write("cgroup/memory.stat", "anon 1000000\n");
  EXPECT_EQ(left_bytes(), 0);
  write("cgroup/memory.max", "max\n");
  EXPECT_EQ(left_bytes(), -1);
}

TEST_F(ControlGroup, TheStrictestOfAllGroupsAroundTheProcessHolds) {
  write("membership", "0::/a/b\n");
  write("cgroup/a/memory.max", "500\n");
  write("cgroup/a/memory.current", "100\n");
  write("cgroup/a/b/memory.max", "450\n");
  write("cgroup/a/b/memory.current", "20\n");
  EXPECT_EQ(left_bytes(), 400);
  write("cgroup/a/b/memory.current", "440\n");
  EXPECT_EQ(left_bytes(), 10);
  write("cgroup/memory.max", "5\n");
  write("cgroup/memory.current", "0\n");
  EXPECT_EQ(left_bytes(), 5);
  write("cgroup/a/cpu.max", "max 100000\n");
  EXPECT_EQ(processors(), -1);
  write("cgroup/a/b/cpu.max", "200000 100000\n");
  EXPECT_EQ(processors(), 2);
  write("cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(processors(), 0.5);
}

// A container sees the host's path, but its own group is the outermost folder.
TEST_F(ControlGroup, AGroupWhoseFolderIsHiddenIsTheOutermostOne) {
  write("cgroup/memory.max", "50\n");
  write("cgroup/memory.current", "0\n");
  for (const char* path : {"/system.slice/docker-1.scope", "/../b"}) {
    write("membership", std::string("0::") + path + "\n");
    EXPECT_EQ(left_bytes(), 50) << path;
  }
  write("membership", "no group\n1:\n");
  EXPECT_EQ(left_bytes(), -1);
}

TEST_F(ControlGroup, VersionOneHasAFolderForEachController) {
  write("membership", "4:memory:/job\n3:cpuset:/\n2:cpu,cpuacct:/job\n0::/\n");
  write("cgroup/memory/job/memory.limit_in_bytes", "1000\n");
  write("cgroup/memory/job/memory.usage_in_bytes", "800\n");
  write("cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 300\n");
  write("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("cgroup/memory/memory.usage_in_bytes", "1\n");
  EXPECT_EQ(left_bytes(), 500);
  write("cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
  write("cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processors(), -1);
  write("cgroup/cpu/job/cpu.cfs_quota_us", "150000\n");
  EXPECT_EQ(processors(), 1.5);
}

}  // namespace
}  // namespace reprise
