#include "core/store/store_gc.h"

#include <utility>

#include "core/store/store_directory.h"

namespace reprise::kv {
namespace fs = std::filesystem;
namespace {

class Collection {
 public:
  Collection(const GcOptions& options, int64_t now_ns) : options_(options), now_ns_(now_ns) {}

  void remove_unfinished(const StoreFile& file) { remove(file, "its writer has died"); }

  // Removes or keeps one segment. Called in the order of last use, least recently used first.
  void consider(const StoreFile& file, int64_t excess_bytes) {
    std::optional<SegmentFileHeader> header;
    try {
      const SegmentFile opened(file.path,
                               options_.removes_damaged ? Verify::kAll : Verify::kHeader);
      require_name_of(opened.header().key, file.path);
      header = opened.header();
    } catch (const NewerFormatError& error) {
      report_.damaged.emplace_back(error.what());
    } catch (const Error& error) {
      if (!fs::exists(file.path)) return;  // another process has removed it
      if (options_.removes_damaged) return remove(file, "damaged");
      report_.damaged.emplace_back(error.what());
    }
    const std::string reason = header ? reason_to_go(file, *header, excess_bytes) : "";
    if (!reason.empty()) return remove(file, reason);
    ++report_.kept_segments;
    report_.kept_bytes += file.bytes;
  }

  [[nodiscard]] int64_t removed_bytes() const { return removed_segment_bytes_; }
  [[nodiscard]] GcReport& report() { return report_; }

 private:
  // Returns why the segment is removed, or "" if it stays.
  [[nodiscard]] std::string reason_to_go(const StoreFile& file, const SegmentFileHeader& header,
                                         int64_t excess_bytes) const {
    const StoreIdentity& identity = header.key.identity;
    if (!options_.model.empty() && identity.model != options_.model) return "";
    if (!options_.schema.empty() && identity.schema != options_.schema) return "";
    const int64_t unused_s = (now_ns_ - file.last_use_ns) / 1'000'000'000;
    if (options_.unused_s && unused_s >= *options_.unused_s)
      return fmt::format("unused for {} s", unused_s);
    if (options_.budget_bytes && excess_bytes > 0) return "over the budget";
    const bool has_filter = !options_.model.empty() || !options_.schema.empty();
    const bool is_all = has_filter && !options_.unused_s && !options_.budget_bytes;
    return is_all ? "of that model or schema" : "";
  }

  void remove(const StoreFile& file, const std::string& reason) {
    std::error_code error;
    if (!options_.is_dry_run) fs::remove(file.path, error);
    if (error) raise("cannot remove {}: {}", file.path.string(), error.message());
    if (!AtomicFile::is_unfinished(file.path)) removed_segment_bytes_ += file.bytes;
    report_.removed.push_back({file.path, file.bytes, reason});
  }

  const GcOptions& options_;
  int64_t now_ns_;
  int64_t removed_segment_bytes_ = 0;
  GcReport report_;
};

}  // namespace

GcReport collect_garbage(const fs::path& folder, const GcOptions& options, int64_t now_ns) {
  const std::string fault = check_store_format(folder);
  std::optional<StoreLock> lock;
  if (!options.is_dry_run) lock.emplace(folder);
  const StoreListing listing = list_store(folder);
  Collection collection(options, now_ns);
  if (!fault.empty()) collection.report().damaged.push_back(fault);
  for (const StoreFile& file : listing.unfinished) collection.remove_unfinished(file);
  int64_t bytes = 0;
  for (const StoreFile& file : listing.segments) bytes += file.bytes;
  for (const StoreFile& file : listing.segments)
    collection.consider(file,
                        bytes - collection.removed_bytes() - options.budget_bytes.value_or(0));
  return std::move(collection.report());
}

}  // namespace reprise::kv
