#include "results/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <set>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/fields.h"
#include "core/base/json.h"
#include "core/base/write_all.h"
#include "results/gzip.h"
#include "results/identity.h"
#include "results/record.h"
#include "results/results_file.h"
#include "results/run_entry.h"

namespace reprise::results {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOtherFolder = "Choose a folder you may write to with --out.";

[[noreturn]] void raise_errno(const char* call, const fs::path& path) {
  const int error = errno;
  raise("{} {} failed: {}. {}", call, path.string(), std::strerror(error),
        write_remedy(error, kOtherFolder));
}

[[noreturn]] void raise_not_made(const fs::path& folder, const std::error_code& error) {
  raise("cannot make the folder {}: {}. {}", folder.string(), error.message(),
        write_remedy(error.value(), kOtherFolder));
}

// Flushes a folder to disk. Without this, a renamed or new file in the folder may be lost in a
// power cut.
void flush_folder(const fs::path& dir) {
  const int folder = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

struct Contents {
  std::vector<Record> records;
  // Bytes and lines up to the end of the last whole group.
  size_t sound_bytes = 0;
  int64_t sound_lines = 0;
  std::set<std::string> runs;  // IDs of the run entries in these lines
};

constexpr int64_t kMostGroupRecords = 10000;

// The progress of reading a file of records: the current line, and whether it continues the group
// of the record before it, whose place is `last`.
struct Progress {
  int64_t line = 0;
  bool continues = false;
  GroupPlace last = {};

  [[nodiscard]] int64_t first_line() const { return continues ? line - last.index - 1 : line; }
};

// Says which lines to delete. They are a whole group, because a file with part of a group would be
// refused.
std::string remedy(int64_t first, int64_t last) {
  const std::string lines =
      first == last ? fmt::format("line {}", first) : fmt::format("lines {} to {}", first, last);
  return fmt::format(
      "Delete {} and run again, which measures what they held; or run with --fresh to set the old "
      "results aside.",
      lines);
}

// Returns the place in its group of the record in the line at the beginning of `text`.
std::optional<GroupPlace> place_of_next(std::string_view text) {
  try {
    const Value line = parse_json(text.substr(0, text.find('\n')), "");
    return read_fields<GroupPlace>(field_of(line, "group"));
  } catch (const Error&) {
    return std::nullopt;
  } catch (const FieldFault&) {
    return std::nullopt;
  }
}

// The remedy for a line that is no record. `rest` is the text behind it.
std::string remedy_for_line(const Progress& at, std::string_view rest) {
  if (at.continues) return remedy(at.first_line(), at.first_line() + at.last.of - 1);
  const std::optional<GroupPlace> next = place_of_next(rest);
  const bool is_first_of_group = next && next->index == 1 && next->of <= kMostGroupRecords;
  return remedy(at.line, is_first_of_group ? at.line + next->of - 1 : at.line);
}

// Throws Error if a record of place `found` cannot follow the records before it.
void check_follows(const Progress& at, const GroupPlace& found, const std::string& where) {
  if (found.index == (at.continues ? at.last.index + 1 : 0) &&
      (!at.continues || found.id == at.last.id))
    return;
  const bool is_of_last = found.id == at.last.id;
  if (is_of_last && found.index <= at.last.index)
    raise("{} has a record of group {} once more. {}", where, found.id, remedy(at.line, at.line));
  // Records are missing in the group before this line, in the group of this line, or in both.
  const int64_t last = found.index == 0 ? at.line - 1 : at.line + found.of - found.index - 1;
  raise("{} does not follow the line before it: a record of group {} is missing. {}", where,
        at.continues ? at.last.id : found.id, remedy(at.first_line(), last));
}

Record record_of(const Fields& line, const std::string& where,
                 const std::function<std::string()>& delete_lines) {
  try {
    Record record = read_record(line);
    const GroupPlace& group = record.group;
    if (group.of < 1 || group.of > kMostGroupRecords || group.index < 0 || group.index >= group.of)
      throw FieldFault{fmt::format("group has index {} of {}; a group has 1 to {} records",
                                   group.index, group.of, kMostGroupRecords)};
    return record;
  } catch (const FieldFault& fault) {
    raise("{} is not a record of this program: {}. {}", where, fault.text, delete_lines());
  }
}

// Throws Error if the points do not have the group's id, a hash of its points in order. This finds
// points that were swapped by hand.
void check_points_of_group(std::span<const Record> records, const std::string& where) {
  std::vector<std::string> points;
  for (const Record& record : records) points.push_back(record.point);
  if (const std::string& id = records.front().group.id; group_id(points) != id)
    raise(
        "{} ends group {}, which is of other points than its records name: they were changed or "
        "swapped. Run with --fresh to set the old results aside.",
        where, id);
}

// Reads groups one after another, each with its records in order; run entries are between groups.
// `runs` holds the entries of earlier lines; the entries of the text are added. `first_line` is the
// file's line number of the text's first line.
Contents parse_records(const std::string& text, const fs::path& path, RunEntries& runs,
                       int64_t first_line = 1) {
  Contents contents;
  std::set<std::string> pending_runs;
  size_t whole_records = 0;
  size_t begin = 0;
  Progress at;
  for (int64_t line = first_line; begin < text.size(); ++line) {
    const size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;  // torn: a line without its line feed
    const std::string where = fmt::format("{} line {}", path.string(), line);
    at.line = line;
    at.continues = whole_records != contents.records.size();
    const auto delete_lines = [&] {
      return remedy_for_line(at, std::string_view(text).substr(end + 1));
    };
    const bool is_last_line = end + 1 == text.size();
    Value parsed;
    try {
      parsed = parse_json(std::string_view(text).substr(begin, end - begin), where);
    } catch (const Error& error) {
      if (is_last_line) break;  // a write torn by a power cut
      raise("{}. {}", error.what(), delete_lines());
    }
    if (!parsed.is_fields())
      raise("{} is not a record of this program: it is no JSON object. {}", where, delete_lines());
    if (RunEntries::is_entry(parsed.fields())) {
      pending_runs.insert(runs.add(parsed.fields(), where));
      begin = end + 1;
      continue;
    }
    Record record = record_of(runs.whole(std::move(parsed.fields()), where), where, delete_lines);
    const GroupPlace place = record.group;
    check_follows(at, place, where);
    contents.records.push_back(std::move(record));
    begin = end + 1;
    at.last = place;
    if (place.index + 1 == place.of) {
      check_points_of_group(std::span(contents.records).last(static_cast<size_t>(place.of)), where);
      whole_records = contents.records.size();
      contents.sound_bytes = begin;
      contents.sound_lines = line - first_line + 1;
      contents.runs.merge(pending_runs);
    }
  }
  contents.records.resize(whole_records);
  return contents;
}

// Throws Error if a record of the file is not of the settings with this hash. Older manifests have
// no hash.
void require_planned(std::span<const Record> records, const std::string& config_hash,
                     const fs::path& file) {
  for (const Record& record : records)
    if (!config_hash.empty() && record.config_hash != config_hash)
      raise(
          "{} has records of other settings than the folder's run.json: of experiment {} "
          "(config_hash {}, and that of run.json is {}). Move the file out of the folder; "
          "`reprise plot` also draws a file alone.",
          file.string(), record.experiment.name, record.config_hash, config_hash);
}

// Returns the folder's files "<stem>.<extension>" and "<stem>-<writer>.<extension>", and packed
// ones with ".gz" appended. They are sorted, with a sole writer's file first.
std::vector<fs::path> files_of(const fs::path& dir, const std::string& stem,
                               const std::string& extension) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(dir, error)) {
    const fs::path file = unpacked_name(entry.path());
    const std::string name = file.stem().string();
    if (file.extension() == "." + extension && (name == stem || name.starts_with(stem + "-")))
      files.push_back(entry.path());
  }
  const auto key = [](const fs::path& file) {
    return std::pair(unpacked_name(file).stem().string(), is_packed(file));
  };
  std::sort(files.begin(), files.end(),
            [&](const fs::path& a, const fs::path& b) { return key(a) < key(b); });
  return files;
}

// Throws Error if a metric is too large for a record, which settings can bring about.
void refuse_too_large(const Metrics& metrics) {
  for (const auto& [name, metric] : metrics) {
    double largest = std::abs(metric.value);
    if (metric.spread)
      largest = std::max({largest, std::abs(metric.spread->min), std::abs(metric.spread->max)});
    if (largest > kLargestNumber)
      raise(
          "its metric {} reaches {:g}, and a record holds numbers of up to {:g}. Choose settings "
          "that keep it smaller.",
          name, largest, kLargestNumber);
  }
}

// Creates a folder of that name, or the first free one of "NAME-2", "NAME-3", ...
fs::path make_folder_beside(const fs::path& name) {
  std::error_code error;
  fs::path folder = name;
  for (int number = 2; !fs::create_directory(folder, error); ++number) {
    if (error) raise_not_made(folder, error);
    folder = fmt::format("{}-{}", name.string(), number);
  }
  return folder;
}

// Returns a file's text from `offset` on.
std::string read_tail(const fs::path& path, size_t offset) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  return {std::istreambuf_iterator<char>(file), {}};
}

int open_file(const fs::path& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) raise_errno("opening", path);
  return file;
}

// Locks or frees a byte of an open file. Returns false if another process holds the byte. The lock
// belongs to the open file, so the system frees it when the process ends.
bool set_byte_lock(int file, size_t byte, short type, const fs::path& path, bool waits = false) {
  struct flock place {};
  place.l_type = type;
  place.l_whence = SEEK_SET;
  place.l_start = static_cast<off_t>(byte);
  place.l_len = 1;
  int done = 0;
  do {
    done = ::fcntl(file, waits ? F_OFD_SETLKW : F_OFD_SETLK, &place);
  } while (done != 0 && errno == EINTR);
  if (done == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  raise(
      "locking {} failed: {}. Processes that share a folder need a file system with locks; or give "
      "each its own --out and --shard, and put their records-*.jsonl, skipped-*.json and one "
      "run.json into one folder afterwards.",
      path.string(), std::strerror(errno));
}

// Locks an open file as a whole. Returns false if another process holds it.
bool lock_file(int file, int operation, const fs::path& path) {
  int done = 0;
  do {
    done = ::flock(file, operation | LOCK_NB);
  } while (done != 0 && errno == EINTR);
  if (done == 0 || errno == EWOULDBLOCK) return done == 0;
  raise("locking {} failed: {}. Choose an --out on a file system that has locks.", path.string(),
        std::strerror(errno));
}

}  // namespace

void write_file(const fs::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

std::vector<fs::path> record_files(const fs::path& dir) {
  std::vector<fs::path> files = files_of(dir, "records", "jsonl");
  if (files.empty())
    raise("{} holds no records.jsonl; give the folder that `reprise run` wrote (its --out)",
          dir.string());
  return files;
}

WholeRecords read_record_files(const std::vector<fs::path>& files, const std::string& config_hash) {
  WholeRecords whole;
  std::set<std::string> points;
  for (const fs::path& file : files) {
    const std::string text = read_results_file(file);
    RunEntries runs;
    Contents contents = parse_records(text, file, runs);
    require_planned(contents.records, config_hash, file);
    whole.torn_bytes += static_cast<int64_t>(text.size() - contents.sound_bytes);
    for (Record& record : contents.records)
      if (points.insert(record.point).second)
        whole.records.push_back(std::move(record));
      else
        ++whole.repeated;
  }
  return whole;
}

std::vector<Record> read_records(const fs::path& dir) {
  return read_record_files(record_files(dir)).records;
}

std::vector<SkippedPoint> read_skipped(const fs::path& dir) {
  const std::vector<fs::path> files = files_of(dir, "skipped", "json");
  if (files.empty()) return {};
  std::set<std::string> points;
  if (!files_of(dir, "records", "jsonl").empty())
    for (const Record& record : read_records(dir)) points.insert(record.point);
  std::vector<SkippedPoint> skipped;
  for (const fs::path& file : files) {
    std::vector<SkippedPoint> listed;
    try {
      FieldReader::read(read_results_json(file), "skipped", listed);
    } catch (const FieldFault& fault) {
      raise("{}: {}. Delete it, and the next run writes it anew.", file.string(), fault.text);
    }
    for (SkippedPoint& point : listed)
      if (points.insert(point.point).second) skipped.push_back(std::move(point));
  }
  return skipped;
}

RecordStore::RecordStore(fs::path dir, const Manifest& manifest, bool fresh, std::string writer,
                         bool mix)
    : dir_(std::move(dir)), writer_(std::move(writer)) {
  if (fresh && is_shared())
    raise(
        "--fresh would set aside what the other processes write to {}. Choose another --out, or "
        "move the folder away first.",
        dir_.string());
  std::error_code error;
  fs::create_directories(dir_, error);
  if (error) raise_not_made(dir_, error);
  try {
    lock();
    if (fresh) set_aside();
    // If several writers start at once, the first of them writes the manifest, and the others
    // compare theirs with it.
    if (is_shared()) {
      claims_ = open_file(dir_ / "claims", O_RDWR);
      lock_manifest(F_WRLCK);
    }
    config_hash_ = manifest.config_hash;
    open_manifest(manifest, mix);
    open_records();
    if (is_shared()) lock_manifest(F_UNLCK);
    refresh();
  } catch (...) {
    close_files();
    throw;
  }
}

RecordStore::~RecordStore() { close_files(); }

void RecordStore::close_files() {
  for (const int file : {file_, claims_})
    if (file >= 0) ::close(file);
  for (const int file : locks_) ::close(file);  // closing releases the lock
}

fs::path RecordStore::own_file(const std::string& stem, const std::string& extension) const {
  return dir_ / (stem + (is_shared() ? "-" + writer_ : "") + "." + extension);
}

// A sole writer locks the folder exclusively. Named writers share the folder's lock, and each of
// them also locks a file of its own.
void RecordStore::lock() {
  const fs::path path = dir_ / "lock";
  locks_.push_back(open_file(path, O_RDWR));
  if (!lock_file(locks_.back(), is_shared() ? LOCK_SH : LOCK_EX, path))
    raise("another run is writing to {} ({}). Wait for it, or choose another --out.", dir_.string(),
          is_shared() ? "process " + read_file(path, 4096) : "alone or as one of several");
  fs::path own = path;
  if (is_shared()) {
    own = dir_ / ("lock-" + writer_);
    locks_.push_back(open_file(own, O_RDWR));
    if (!lock_file(locks_.back(), LOCK_EX, own))
      raise(
          "another run is writing to {} as {} (process {}). Give each process a shard of its own, "
          "or choose another --out.",
          dir_.string(), writer_, read_file(own, 4096));
  }
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(locks_.back(), 0) != 0 || !write_all(locks_.back(), pid))
    raise_errno("writing", own);
}

void RecordStore::set_aside() {
  std::vector<fs::path> old = {dir_ / "run.json", dir_ / "figures"};
  for (const auto& [stem, extension] :
       {std::pair{"machine", "json"}, std::pair{"records", "jsonl"}, std::pair{"skipped", "json"}})
    for (const fs::path& file : files_of(dir_, stem, extension)) old.push_back(file);
  std::error_code error;
  std::erase_if(old, [&](const fs::path& file) { return !fs::exists(file, error); });
  if (old.empty()) return;
  const fs::path previous = make_folder_beside(dir_ / ("previous-" + utc_now()));
  for (const fs::path& file : old) {
    fs::rename(file, previous / file.filename(), error);
    if (error)
      raise("cannot move {} into {}: {}. Move the folder away yourself, or choose another --out.",
            file.string(), previous.string(), error.message());
  }
  flush_folder(dir_);
}

Manifest RecordStore::continued(const Manifest& found, const Manifest& planned, bool mix) {
  if (found.config_hash != planned.config_hash && has_records())
    raise(
        "{} holds results of other settings: {}. Choose another --out, or add --fresh to set the "
        "old results aside.",
        dir_.string(),
        difference_text(written_fields(planned.settings), written_fields(found.settings)));
  difference_ = !found.identity.empty() || planned.identity.empty()
                    ? difference_text(planned.identity, found.identity)
                    : "it does not say of which code, machine and weights its records are";
  Manifest next = planned;
  next.is_mixed = found.is_mixed;
  if (difference_.empty() || !has_records()) {
    difference_.clear();
    return next;
  }
  if (!mix)
    raise(
        "{} holds results of another origin: {}. Add --fresh to set them aside, --mix to measure "
        "the rest all the same and mark it, or choose another --out.",
        dir_.string(), difference_);
  next.identity =
      found.identity;  // the first identity stays, so each run with another one needs --mix
  next.is_mixed = true;
  return next;
}

// In a shared folder an empty file of records counts too, since its writer may be about to write
// its first record.
bool RecordStore::has_records() const {
  std::error_code error;
  for (const fs::path& file : files_of(dir_, "records", "jsonl"))
    if (is_shared() || fs::file_size(file, error) > 0) return true;
  return false;
}

void RecordStore::open_manifest(const Manifest& planned, bool mix) {
  const fs::path path = dir_ / "run.json";
  const auto write = [&](const Manifest& manifest) {
    write_file(path, json_text(written_fields(manifest), /*indent=*/2) + "\n");
  };
  if (fs::exists(path)) {
    write(continued(read_manifest(read_results_json(path), path.string()), planned, mix));
  } else if (const auto found = files_of(dir_, "records", "jsonl"); !found.empty()) {
    // Writers of one run make their files of records after its manifest.
    raise(
        "{} has {} but no run.json, so nobody knows what they measured. Choose another --out, or "
        "{}.",
        dir_.string(), found.front().filename().string(),
        is_shared() ? "move them out of the folder" : "add --fresh to set them aside");
  } else {
    write(planned);
  }
}

void RecordStore::open_records() {
  const fs::path path = own_file("records", "jsonl");
  file_ = open_file(path, O_RDWR | O_APPEND);
  flush_folder(dir_);
  const std::string text = read_results_file(path);
  RunEntries runs;
  const Contents contents = parse_records(text, path, runs);
  require_planned(contents.records, config_hash_, path);
  keep(contents.records);
  written_runs_ = contents.runs;
  size_ = static_cast<int64_t>(contents.sound_bytes);
  dropped_bytes_ = static_cast<int64_t>(text.size()) - size_;
  if (dropped_bytes_ > 0 && ::ftruncate(file_, size_) != 0) raise_errno("shortening", path);
}

const Record* RecordStore::find(const std::string& point) const {
  const auto found = index_.find(point);
  return found == index_.end() ? nullptr : &records_[found->second];
}

// Keeps only the first record of each point, since two writers may have measured the same group.
void RecordStore::keep(std::span<const Record> records) {
  for (const Record& record : records)
    if (index_.emplace(record.point, records_.size()).second) records_.push_back(record);
}

bool RecordStore::claim(size_t number) {
  if (!is_shared()) return true;
  if (!set_byte_lock(claims_, number, F_WRLCK, dir_ / "claims")) return false;
  refresh();
  return true;
}

// Locks a byte beyond those of all groups.
void RecordStore::lock_manifest(short type) {
  constexpr size_t kManifestByte = size_t{1} << 40;
  set_byte_lock(claims_, kManifestByte, type, dir_ / "claims", /*waits=*/true);
}

void RecordStore::release(size_t number) {
  if (is_shared()) set_byte_lock(claims_, number, F_UNLCK, dir_ / "claims");
}

void RecordStore::refresh() {
  for (const fs::path& file : files_of(dir_, "records", "jsonl")) {
    if (file == own_file("records", "jsonl")) continue;
    if (is_packed(file) && others_.contains(file)) continue;  // no writer appends to a packed file
    Progress& read = others_[file];
    const std::string text =
        is_packed(file) ? read_results_file(file) : read_tail(file, read.bytes);
    const Contents added = parse_records(text, file, read.runs, read.lines + 1);
    require_planned(added.records, config_hash_, file);
    keep(added.records);
    read.bytes += added.sound_bytes;
    read.lines += added.sound_lines;
  }
}

void RecordStore::append(std::span<const Record> group) {
  for (const Record& record : group) {
    refuse_too_large(record.metrics);
    const std::string fault = record_fault(record);
    REPRISE_CHECK(fault.empty(), "record refused: {}", fault);
  }
  std::set<std::string> runs = written_runs_;
  const std::string lines = run_lines(group, runs);
  if (!write_all(file_, lines) || ::fsync(file_) != 0) {
    const int error = errno;
    const bool is_restored = ::ftruncate(file_, size_) == 0;
    raise("writing {} bytes to {} failed: {}. {} {}", lines.size(),
          own_file("records", "jsonl").string(), std::strerror(error),
          is_restored ? "The records before it are safe." : "The next run cuts off what is torn.",
          write_remedy(error, "Run the same command again."));
  }
  size_ += static_cast<int64_t>(lines.size());
  written_runs_ = std::move(runs);
  keep(group);
}

void RecordStore::write_skipped(const std::vector<SkippedPoint>& skipped) const {
  const fs::path path = own_file("skipped", "json");
  if (skipped.empty() && !fs::exists(path)) return;
  write_file(path, json_text(FieldWriter::written(skipped), /*indent=*/2) + "\n");
}

}  // namespace reprise::results
