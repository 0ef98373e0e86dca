#include "workloads/sentences/published.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "core/base/error.h"

namespace reprise::workloads::sentences {
namespace {

struct Named {
  std::string_view word;
  FileRole role;
};
constexpr Named kRoles[] = {
    {"train", FileRole::kTraining},         {"dev", FileRole::kDevelopment},
    {"trial", FileRole::kDevelopment},      {"valid", FileRole::kDevelopment},
    {"validation", FileRole::kDevelopment}, {"test", FileRole::kTest}};

FileRole role_of_word(std::string_view word) {
  for (const Named& known : kRoles)
    if (known.word == word) return known.role;
  return FileRole::kAny;
}

}  // namespace

FileRole role_of(const std::filesystem::path& file) {
  std::string word;
  for (const char c : file.filename().string() + ".") {
    const char lower = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    if (lower >= 'a' && lower <= 'z') {
      word += lower;
    } else if (const FileRole role = role_of_word(std::exchange(word, ""));
               role != FileRole::kAny) {
      return role;
    }
  }
  return FileRole::kAny;
}

std::vector<bool> asked_files(std::span<const FileRole> files) {
  const auto has = [&](FileRole role) {
    return std::find(files.begin(), files.end(), role) != files.end();
  };
  const FileRole asked = has(FileRole::kTest) ? FileRole::kTest : FileRole::kDevelopment;
  std::vector<bool> are_asked;
  for (const FileRole role : files) are_asked.push_back(role == asked && has(FileRole::kTraining));
  return are_asked;
}

std::vector<Split> split_as_published(size_t items, const TextsOf& texts_of,
                                      const std::vector<bool>& is_asked,
                                      std::span<const SplitShare> shares,
                                      std::optional<uint64_t> seed) {
  REPRISE_CHECK(is_asked.size() == items, "{} marks for {} items", is_asked.size(), items);
  Split queries{.name = "queries"};
  std::unordered_set<std::string> asked;
  for (size_t item = 0; item < items; ++item) {
    if (!is_asked[item]) continue;
    queries.items.push_back(item);
    for (const std::string_view text : texts_of(item)) asked.insert(compared_text(text));
  }
  std::vector<size_t> others;
  for (size_t item = 0; item < items; ++item) {
    const auto texts = texts_of(item);
    const bool is_free = std::none_of(texts.begin(), texts.end(), [&](std::string_view text) {
      return asked.contains(compared_text(text));
    });
    if (is_free && !is_asked[item]) others.push_back(item);
  }
  const TextsOf others_texts = [&](size_t index) { return texts_of(others[index]); };
  std::vector<Split> splits = seed ? split_by_text(others.size(), others_texts, shares, *seed)
                                   : split_in_order(others.size(), others_texts, shares);
  for (Split& split : splits)
    for (size_t& item : split.items) item = others[item];
  queries.description = fmt::format(
      "queries: {} of {} items, as published; {} others have a text of theirs and are in no part",
      queries.items.size(), items, items - queries.items.size() - others.size());
  splits.push_back(std::move(queries));
  return splits;
}

}  // namespace reprise::workloads::sentences
