// Tests how prompt files are read, and how text is cut to length.
#include "workloads/text_prompts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "core/base/error.h"

namespace reprise::workloads {
namespace {

class PromptFile {
 public:
  explicit PromptFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("reprise_prompts_{}.txt", ::getpid())) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~PromptFile() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::vector<int32_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

TEST(ReadPrompts, TakesLinesOrParagraphs) {
  EXPECT_EQ(read_prompts(PromptFile("one\r\ntwo\n").path()),
            (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(read_prompts(PromptFile("one\ntwo\n\n\n three\n").path()),
            (std::vector<std::string>{"one\ntwo", "three"}));
  EXPECT_EQ(read_prompts(PromptFile("\xEF\xBB\xBFone\n").path()), std::vector<std::string>{"one"});
}

TEST(ReadPrompts, EmptyOrMissingFileIsAnError) {
  EXPECT_THROW((void)read_prompts(PromptFile(" \n\n").path()), Error);
  EXPECT_THROW((void)read_prompts("/nowhere/prompts.txt"), Error);
}

TEST(TextPrompts, HaveExactlyTheWantedLength) {
  const TextPrompts prompts({"abc", "", "defgh"}, bytes_of, /*seed=*/1);
  EXPECT_EQ(prompts.size(), 2u);
  for (const int64_t tokens : {0, 1, 3, 8, 100})
    EXPECT_EQ(prompts.prompt(2, tokens).size(), static_cast<size_t>(tokens));
  EXPECT_EQ(prompts.prompt(2, 50), prompts.prompt(2, 50));
}

TEST(TextPrompts, GoOnWithTheNextTextAndWrapAround) {
  const TextPrompts prompts({"ab", "cd"}, bytes_of, /*seed=*/0);
  const auto ids = prompts.prompt(0, 6);
  const std::string text(ids.begin(), ids.end());
  EXPECT_TRUE(text == "abcdab" || text == "cdabcd") << text;
}

TEST(TextPrompts, WithoutAnyTokenAreAnError) {
  EXPECT_THROW(TextPrompts(
                   {"abc"}, [](const std::string&) { return std::vector<int32_t>{}; }, 1),
               Error);
}

}  // namespace
}  // namespace reprise::workloads
