#include "core/store/store_gc.h"

#include <utility>
#include <vector>

#include "core/store/store_directory.h"

namespace reprise::kv {
namespace fs = std::filesystem;
namespace {

// A segment's file, and its header, unless the file is damaged or of a newer format.
struct Segment {
  StoreFile file;
  std::optional<SegmentFileHeader> header;
};

class Collection {
 public:
  Collection(const GcOptions& options, int64_t now_ns) : options_(options), now_ns_(now_ns) {}

  void remove_unfinished(const StoreFile& file) { remove(file, "its writer has died"); }

  // Reads the segments, and removes damaged ones if that is wanted. They go before any other, so
  // that the budget counts what is left without them.
  void examine(const std::vector<StoreFile>& files) {
    for (const StoreFile& file : files) examine(file);
  }

  // Removes or keeps each segment that was examined, in that order. The files must be in the order
  // of last use, least recently used first.
  void collect() {
    int64_t excess_bytes = -options_.budget_bytes.value_or(0);
    for (const Segment& segment : segments_) excess_bytes += segment.file.bytes;
    for (const auto& [file, header] : segments_) {
      const std::string reason = header ? reason_to_go(file, *header, excess_bytes) : "";
      if (reason.empty()) {
        ++report_.kept_segments;
        report_.kept_bytes += file.bytes;
        continue;
      }
      remove(file, reason);
      excess_bytes -= file.bytes;
    }
  }

  [[nodiscard]] GcReport& report() { return report_; }

 private:
  void examine(const StoreFile& file) {
    try {
      const SegmentFile opened(file.path,
                               options_.removes_damaged ? Verify::kAll : Verify::kHeader);
      require_name_of(opened.header().key, file.path);
      segments_.push_back({file, opened.header()});
    } catch (const NewerFormatError& error) {
      report_.damaged.emplace_back(error.what());
      segments_.push_back({file, std::nullopt});
    } catch (const Error& error) {
      if (!fs::exists(file.path)) return;  // another process has removed it
      if (options_.removes_damaged) return remove(file, "damaged");
      report_.damaged.emplace_back(error.what());
      segments_.push_back({file, std::nullopt});
    }
  }

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
    report_.removed.push_back({file.path, file.bytes, reason});
  }

  const GcOptions& options_;
  int64_t now_ns_;
  std::vector<Segment> segments_;
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
  collection.examine(listing.segments);
  collection.collect();
  return std::move(collection.report());
}

}  // namespace reprise::kv
