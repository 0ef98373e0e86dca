#include "workloads/questions/mmlu_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"

namespace reprise::workloads::questions {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSplits[] = {"dev", "val", "test"};

bool is_split(std::string_view name) {
  return std::find(std::begin(kSplits), std::end(kSplits), name) != std::end(kSplits);
}

std::string ending_of(std::string_view split) { return fmt::format("_{}.csv", split); }

bool is_of_split(const fs::path& file, std::string_view split) {
  const std::string name = file.filename().string(), ending = ending_of(split);
  return name.size() > ending.size() && name.ends_with(ending);
}

// Returns the path without a slash at its end.
fs::path plain(const fs::path& folder) {
  return folder.has_filename() ? folder : folder.parent_path();
}

// The folders that may hold a split's files.
std::vector<fs::path> places_of(const fs::path& folder, std::string_view split) {
  std::vector<fs::path> places = {folder / split, folder};
  if (is_split(folder.filename().string())) places.push_back(folder.parent_path() / split);
  return places;
}

// Returns the split's files, sorted by subject; none if there is no such folder.
std::vector<MmluFile> files_in(const fs::path& folder, std::string_view split) {
  std::vector<MmluFile> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (is_of_split(entry.path(), split))
      files.push_back({mmlu_subject_of(entry.path(), split), entry.path()});
  std::sort(files.begin(), files.end(),
            [](const MmluFile& a, const MmluFile& b) { return a.subject < b.subject; });
  return files;
}

std::vector<MmluFile> files_of(const fs::path& folder, std::string_view split) {
  for (const fs::path& place : places_of(folder, split))
    if (std::vector<MmluFile> files = files_in(place, split); !files.empty()) return files;
  return {};
}

[[noreturn]] void raise_no_split(const fs::path& folder, std::string_view split) {
  std::vector<std::string_view> found;
  for (const std::string_view other : kSplits)
    if (!files_of(folder, other).empty()) found.push_back(other);
  raise(
      "{} has no split {}: no SUBJECT_{}.csv lies in it or in its subfolder \"{}\". It has {}. Set "
      "split to one that it has, or add the files (hendrycks/test's archive holds all three "
      "splits)",
      folder.string(), split, split, split,
      found.empty() ? "no split" : fmt::format("{}", fmt::join(found, ", ")));
}

}  // namespace

std::vector<std::string> mmlu_splits() { return {std::begin(kSplits), std::end(kSplits)}; }

std::vector<MmluFile> find_mmlu_files(const fs::path& place, std::string_view split) {
  if (!is_split(split)) raise("{}", unknown_name("split of MMLU", split, mmlu_splits()));
  std::error_code error;
  if (fs::is_regular_file(place, error)) return {{mmlu_subject_of(place, split), place}};
  if (!fs::is_directory(place, error))
    raise("cannot read {}: it is neither a folder of MMLU's files nor a SUBJECT_{}.csv",
          place.string(), split);
  std::vector<MmluFile> files = files_of(plain(place), split);
  if (files.empty()) raise_no_split(plain(place), split);
  return files;
}

std::string mmlu_subject_of(const fs::path& file, std::string_view split) {
  if (is_of_split(file, split)) {
    const std::string name = file.filename().string();
    return name.substr(0, name.size() - ending_of(split).size());
  }
  for (const std::string_view other : kSplits)
    if (is_of_split(file, other))
      raise("{} is of split {}, and split is {}: set split to {}, or name the folder",
            file.string(), other, split, other);
  raise("{}: a file of questions is named SUBJECT_{}.csv, after its subject", file.string(), split);
}

fs::path mmlu_examples_of(const fs::path& file, std::string_view subject) {
  const std::string name = fmt::format("{}_dev.csv", subject);
  const fs::path folder = file.parent_path();
  if (is_split(folder.filename().string())) return folder.parent_path() / "dev" / name;
  return folder / name;
}

}  // namespace reprise::workloads::questions
