// Every record of this repository is valid, and stays the same when it is written again.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "results/data_dir.h"
#include "results/results_file.h"
#include "results/run_entry.h"
#include "results/store.h"
#include "tests/results/packed_file.h"
#include "tests/results/sample_record.h"
#include "tests/support/json.h"

namespace reprise::results {
namespace {

namespace fs = std::filesystem;

// A build with sanitizers takes ten times as long, and reads one file in eight.
#ifdef __SANITIZE_ADDRESS__
constexpr size_t kEach = 8;
#else
constexpr size_t kEach = 1;
#endif

std::vector<fs::path> files_of_records() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(data_dir() / "results" / "measurements")) {
    if (entry.path().string().find(".jsonl") == std::string::npos) continue;
    const std::string text = read_results_file(entry.path());
    // Some files hold lines of another form, such as the resources of CUDA kernels.
    if (Json::parse(text.substr(0, text.find('\n'))).contains("schema"))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(OwnRecords, AreReadAndWrittenAgainWithoutAChange) {
  const fs::path copy = fs::path(::testing::TempDir()) / "reprise_own_records.jsonl";
  size_t count = 0;
  const std::vector<fs::path> files = files_of_records();
  for (size_t i = 0; i < files.size(); i += kEach) {
    const fs::path& file = files[i];
    const WholeRecords read = read_record_files({file});
    EXPECT_EQ(read.torn_bytes, 0) << file;
    std::set<std::string> written;
    write_bytes(copy, run_lines(read.records, written));
    EXPECT_EQ(lines_of(read_record_files({copy}).records), lines_of(read.records)) << file;
    count += read.records.size();
  }
  EXPECT_GT(count, 1000u / kEach) << "the files of records were not found";
  fs::remove(copy);
}

}  // namespace
}  // namespace reprise::results
