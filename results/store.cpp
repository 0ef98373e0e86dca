#include "results/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "results/record.h"

namespace reprise::results {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void raise_errno(const char* call, const fs::path& path) {
  raise("{} {} failed: {}. Choose a folder you may write to with --out.", call, path.string(),
        std::strerror(errno));
}

// False, with errno, when the system refuses.
bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// A rename or a new file survives a power cut once its folder has been flushed.
void flush_folder(const fs::path& dir) {
  const int folder = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

struct Contents {
  std::vector<Json> records;
  size_t sound_bytes = 0;  // up to the end of the last whole group
};

struct GroupPlace {
  std::string id;
  int64_t index = 0, of = 1;
};

GroupPlace group_of(const Json& record, const std::string& where) {
  if (const std::string fault = record_fault(record); !fault.empty())
    raise("{} is not a record of this program: {}. Delete that line, or run with --fresh.", where,
          fault);
  JsonObject whole(record, where);
  JsonObject group = whole.object("group");
  return {group.string("id"), group.integer("index"), group.integer("of")};
}

// Groups stand one after another, each with its records in order.
Contents parse_records(const std::string& text, const fs::path& path) {
  Contents contents;
  size_t whole_records = 0;
  size_t begin = 0;
  GroupPlace last;
  for (int64_t line = 1; begin < text.size(); ++line) {
    const size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;  // torn
    const std::string where = fmt::format("{} line {}", path.string(), line);
    const bool is_last_line = end + 1 == text.size();
    Json record;
    try {
      record = parse_json(std::string_view(text).substr(begin, end - begin), where);
    } catch (const Error& error) {
      if (is_last_line) break;  // a write that a power cut tore
      raise("{}. Delete that line, or run with --fresh to set the old results aside.",
            error.what());
    }
    const GroupPlace place = group_of(record, where);
    const bool continues = whole_records != contents.records.size();
    const int64_t expected = continues ? last.index + 1 : 0;
    if (place.index != expected || (continues && place.id != last.id))
      raise(
          "{} does not follow the line before it: a record of group {} is missing. Run with "
          "--fresh "
          "to set the old results aside.",
          where, continues ? last.id : place.id);
    contents.records.push_back(std::move(record));
    begin = end + 1;
    last = place;
    if (place.index + 1 == place.of) {
      whole_records = contents.records.size();
      contents.sound_bytes = begin;
    }
  }
  contents.records.resize(whole_records);
  return contents;
}

// The settings that two manifests disagree on, as "sweep/prompt_tokens, threads".
std::string differences(const Json& a, const Json& b) {
  constexpr size_t kMost = 4;
  const Json patch = Json::diff(a, b);
  std::string text;
  for (size_t i = 0; i < patch.size() && i < kMost; ++i)
    text += (i == 0 ? "" : ", ") + patch[i]["path"].get<std::string>().substr(1);
  return patch.size() > kMost ? text + ", ..." : text;
}

}  // namespace

void write_file(const fs::path& path, const std::string& text) {
  const fs::path beside = path.string() + ".new";
  const int file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) raise_errno("writing", beside);
  const bool is_written = write_all(file, text) && ::fsync(file) == 0;
  const int error = errno;
  ::close(file);
  errno = error;
  if (!is_written || ::rename(beside.c_str(), path.c_str()) != 0) raise_errno("writing", path);
  flush_folder(path.parent_path().empty() ? fs::path(".") : path.parent_path());
}

std::vector<Json> read_records(const fs::path& dir) {
  const fs::path path = dir / "records.jsonl";
  if (!fs::exists(path))
    raise("{} holds no records.jsonl; give the folder that `reprise run` wrote (its --out)",
          dir.string());
  return parse_records(read_file(path), path).records;
}

RecordStore::RecordStore(fs::path dir, const Json& manifest, bool fresh) : dir_(std::move(dir)) {
  std::error_code error;
  fs::create_directories(dir_, error);
  if (error)
    raise("cannot make the folder {}: {}. Choose another with --out.", dir_.string(),
          error.message());
  try {
    lock();
    if (fresh) set_aside();
    open_manifest(manifest);
    open_records();
  } catch (...) {
    if (file_ >= 0) ::close(file_);
    if (lock_file_ >= 0) ::close(lock_file_);
    throw;
  }
}

RecordStore::~RecordStore() {
  if (file_ >= 0) ::close(file_);
  if (lock_file_ >= 0) ::close(lock_file_);  // releases the lock
}

void RecordStore::lock() {
  const fs::path path = dir_ / "lock";
  lock_file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_file_ < 0) raise_errno("opening", path);
  if (::flock(lock_file_, LOCK_EX | LOCK_NB) != 0)
    raise("another run is writing to {} (process {}). Wait for it, or choose another --out.",
          dir_.string(), read_file(path, 4096));
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(lock_file_, 0) != 0 || !write_all(lock_file_, pid)) raise_errno("writing", path);
}

void RecordStore::set_aside() {
  const std::vector<std::string> names = {"run.json", "machine.json", "records.jsonl", "figures"};
  const fs::path previous = dir_ / ("previous-" + utc_now());
  for (const std::string& name : names) {
    if (!fs::exists(dir_ / name)) continue;
    fs::create_directories(previous);
    fs::rename(dir_ / name, previous / name);
  }
  flush_folder(dir_);
}

void RecordStore::open_manifest(const Json& manifest) {
  const fs::path path = dir_ / "run.json";
  if (fs::exists(path)) {
    const Json found = read_json(path);
    JsonObject reader(found, path.string());
    if (reader.string("config_hash") != manifest.at("config_hash").get<std::string>())
      raise(
          "{} holds results of other settings (they differ in: {}). Choose another --out, or add "
          "--fresh to set the old results aside.",
          dir_.string(), differences(reader.at("settings"), manifest.at("settings")));
  } else if (fs::exists(dir_ / "records.jsonl")) {
    raise(
        "{} has records.jsonl but no run.json, so nobody knows what they measured. Choose another "
        "--out, or add --fresh to set them aside.",
        dir_.string());
  }
  write_file(path, manifest.dump(2) + "\n");
}

void RecordStore::open_records() {
  const fs::path path = dir_ / "records.jsonl";
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) raise_errno("opening", path);
  flush_folder(dir_);
  const std::string text = read_file(path);
  const Contents contents = parse_records(text, path);
  keep(contents.records);
  size_ = static_cast<int64_t>(contents.sound_bytes);
  dropped_bytes_ = static_cast<int64_t>(text.size()) - size_;
  if (dropped_bytes_ > 0 && ::ftruncate(file_, size_) != 0) raise_errno("shortening", path);
}

const Json* RecordStore::find(const std::string& point) const {
  const auto found = index_.find(point);
  return found == index_.end() ? nullptr : &records_[found->second];
}

void RecordStore::keep(std::span<const Json> records) {
  for (const Json& record : records) {
    index_[record["point"].get<std::string>()] = records_.size();
    records_.push_back(record);
  }
}

void RecordStore::append(std::span<const Json> group) {
  std::string lines;
  for (const Json& record : group) {
    const std::string fault = record_fault(record);
    REPRISE_CHECK(fault.empty(), "record refused: {}", fault);
    lines += record.dump() + "\n";
  }
  if (!write_all(file_, lines) || ::fsync(file_) != 0) {
    const int error = errno;
    const bool is_restored = ::ftruncate(file_, size_) == 0;
    raise("writing {} bytes to {} failed: {}. {} Free some space, then run the same command again.",
          lines.size(), (dir_ / "records.jsonl").string(), std::strerror(error),
          is_restored ? "The records before it are safe." : "The next run cuts off what is torn.");
  }
  size_ += static_cast<int64_t>(lines.size());
  keep(group);
}

}  // namespace reprise::results
