#include "app/store_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>

#include "app/exit_status.h"
#include "app/number_option.h"
#include "app/output.h"
#include "app/unit_option.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/store/store_directory.h"
#include "core/store/store_gc.h"
#include "results/table.h"

namespace reprise::app {
namespace {

namespace fs = std::filesystem;

const std::array<std::string, 3> kActions = {"list", "verify", "gc"};
constexpr int64_t kSecond_ns = 1'000'000'000;

struct Listed {
  kv::StoreFile file;
  kv::SegmentFileHeader header;
};

struct Contents {
  std::vector<Listed> segments;
  std::vector<std::string> damaged;  // one sentence for each damaged file
  kv::StoreListing listing;
};

void refuse_wrong_use(const StoreCommand& command) {
  if (command.action != kActions[0] && command.action != kActions[1] &&
      command.action != kActions[2])
    raise("store: {}", unknown_name("action", command.action, kActions));
  const bool is_gc = command.action == "gc", is_verify = command.action == "verify";
  const auto refuse = [&](bool is_given, const char* option, const char* owner) {
    if (is_given) raise("store {} takes no {}: that is for {}", command.action, option, owner);
  };
  refuse(!is_gc && command.budget_bytes, "--budget", "gc");
  refuse(!is_gc && command.unused_s, "--older-than", "gc");
  refuse(!is_gc && command.removes_damaged, "--damaged", "gc");
  refuse(!is_gc && command.is_dry_run, "--dry-run", "gc");
  refuse(is_verify && !command.model.empty(), "--model", "list and gc");
  refuse(is_verify && !command.schema.empty(), "--schema", "list and gc");
}

kv::StoreListing list_folder(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    raise("{} is no folder: give that of a segment store", folder.string());
  kv::StoreListing listing = kv::list_store(folder);
  if (listing.segments.empty() && listing.unfinished.empty() && !kv::is_store(folder))
    raise("{} holds no segment store: neither store.json nor .segment files", folder.string());
  return listing;
}

bool is_wanted(const StoreCommand& command, const kv::SegmentFileHeader& header) {
  const kv::StoreIdentity& identity = header.key.identity;
  return (command.model.empty() || identity.model == command.model) &&
         (command.schema.empty() || identity.schema == command.schema);
}

Contents read_folder(const StoreCommand& command, kv::Verify verify) {
  Contents contents;
  contents.listing = list_folder(command.folder);
  if (std::string fault = kv::check_store_format(command.folder); !fault.empty())
    contents.damaged.push_back(std::move(fault));
  for (const kv::StoreFile& file : contents.listing.segments) {
    try {
      const kv::SegmentFile opened(file.path, verify);
      kv::require_name_of(opened.header().key, file.path);
      if (is_wanted(command, opened.header())) contents.segments.push_back({file, opened.header()});
    } catch (const Error& error) {
      // Another process may have removed the file meanwhile.
      if (fs::exists(file.path)) contents.damaged.emplace_back(error.what());
    }
  }
  return contents;
}

int64_t total_bytes(const std::vector<Listed>& segments) {
  int64_t bytes = 0;
  for (const Listed& segment : segments) bytes += segment.file.bytes;
  return bytes;
}

std::string counted(int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

int64_t seconds_since(int64_t then_ns, int64_t now_ns) {
  return std::max<int64_t>(0, (now_ns - then_ns) / kSecond_ns);
}

std::string lines_of(const Fields& fields) { return json_text(fields, 1) + "\n"; }

Values paths_json(const std::vector<kv::StoreFile>& files) {
  Values paths;
  for (const kv::StoreFile& file : files) paths.emplace_back(file.path.string());
  return paths;
}

Fields segment_json(const Listed& segment, int64_t now_ns) {
  const kv::SegmentFileHeader& header = segment.header;
  const kv::StoreIdentity& identity = header.key.identity;
  return {
      {"file", segment.file.path.filename().string()},
      {"module", header.key.module},
      {"model", identity.model},
      {"tokenizer", identity.tokenizer},
      {"schema", identity.schema},
      {"compute_dtype", identity.dtype},
      {"layers", header.shape.layers},
      {"kv_heads", header.shape.kv_heads},
      {"tokens", header.shape.tokens},
      {"head_dim", header.shape.head_dim},
      {"dtype", std::string(name_of(header.shape.dtype))},
      {"form", std::string(kv::name_of(header.form))},
      {"format", header.format},
      {"bytes", segment.file.bytes},
      {"cost_s", header.cost_s},
      {"age_s", header.created_s > 0 ? Value(seconds_since(header.created_s * kSecond_ns, now_ns))
                                     : Value()},
      {"unused_s", seconds_since(segment.file.last_use_ns, now_ns)}};
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string table_text(const std::vector<Listed>& segments, int64_t now_ns) {
  using Align = results::Table::Align;
  results::Table table;
  for (const char* heading : {"module", "model", "schema"}) table.column(heading);
  table.column("tokens", Align::kRight);
  for (const char* heading : {"dtype", "form"}) table.column(heading);
  for (const char* heading : {"size", "age", "unused"}) table.column(heading, Align::kRight);
  for (const Listed& segment : segments) {
    const kv::SegmentFileHeader& header = segment.header;
    table.row({or_dash(header.key.module), or_dash(header.key.identity.model),
               or_dash(header.key.identity.schema), std::to_string(header.shape.tokens),
               std::string(name_of(header.shape.dtype)), std::string(kv::name_of(header.form)),
               bytes_text(segment.file.bytes),
               header.created_s > 0
                   ? span_text(seconds_since(header.created_s * kSecond_ns, now_ns))
                   : "-",
               span_text(seconds_since(segment.file.last_use_ns, now_ns))});
  }
  return table.text();
}

StoreAnswer list(const StoreCommand& command, int64_t now_ns) {
  const Contents contents = read_folder(command, kv::Verify::kHeader);
  const std::vector<kv::StoreFile>& unfinished = contents.listing.unfinished;
  StoreAnswer answer;
  for (const std::string& fault : contents.damaged) answer.notes += fault + "\n";
  if (command.is_json) {
    Values segments;
    for (const Listed& segment : contents.segments)
      segments.emplace_back(segment_json(segment, now_ns));
    answer.out = lines_of({{"segments", segments},
                           {"bytes", total_bytes(contents.segments)},
                           {"damaged", contents.damaged},
                           {"unfinished", paths_json(unfinished)}});
    return answer;
  }
  answer.out =
      table_text(contents.segments, now_ns) +
      fmt::format("{}{}, {}{}\n", contents.segments.empty() ? "" : "\n",
                  counted(std::ssize(contents.segments), "segment"),
                  bytes_text(total_bytes(contents.segments)),
                  unfinished.empty() ? ""
                                     : "; " + counted(std::ssize(unfinished), "unfinished file") +
                                           ", which gc removes where the writer has died");
  return answer;
}

StoreAnswer verify(const StoreCommand& command) {
  const Contents contents = read_folder(command, kv::Verify::kAll);
  StoreAnswer answer{.status = contents.damaged.empty() ? 0 : kDamagedStatus};
  if (command.is_json) {
    answer.out = lines_of({{"sound", contents.segments.size()},
                           {"bytes", total_bytes(contents.segments)},
                           {"damaged", contents.damaged},
                           {"unfinished", paths_json(contents.listing.unfinished)}});
    return answer;
  }
  for (const std::string& fault : contents.damaged) answer.out += fault + "\n";
  answer.out +=
      fmt::format("sound: {}, {}; damaged: {}\n", counted(std::ssize(contents.segments), "segment"),
                  bytes_text(total_bytes(contents.segments)), contents.damaged.size());
  return answer;
}

StoreAnswer gc(const StoreCommand& command, int64_t now_ns) {
  (void)list_folder(command.folder);  // throws Error if the folder is not a store
  const kv::GcReport report = kv::collect_garbage(command.folder,
                                                  {.budget_bytes = command.budget_bytes,
                                                   .unused_s = command.unused_s,
                                                   .model = command.model,
                                                   .schema = command.schema,
                                                   .removes_damaged = command.removes_damaged,
                                                   .is_dry_run = command.is_dry_run},
                                                  now_ns);
  StoreAnswer answer;
  for (const std::string& fault : report.damaged) answer.notes += fault + "\n";
  int64_t bytes = 0;
  Values removed;
  for (const auto& file : report.removed) {
    bytes += file.bytes;
    removed.push_back(
        Fields{{"file", file.path.string()}, {"bytes", file.bytes}, {"reason", file.reason}});
    if (!command.is_json)
      answer.out += fmt::format("{} {}: {}\n", command.is_dry_run ? "would remove" : "removed",
                                file.path.string(), file.reason);
  }
  if (command.is_json)
    answer.out = lines_of({{"removed", removed},
                           {"removed_bytes", bytes},
                           {"kept_segments", report.kept_segments},
                           {"kept_bytes", report.kept_bytes},
                           {"dry_run", command.is_dry_run}});
  else
    answer.out += fmt::format(
        "{}: {}, {}; kept: {}, {}\n", command.is_dry_run ? "would be removed" : "removed",
        counted(std::ssize(report.removed), "file"), bytes_text(bytes),
        counted(report.kept_segments, "segment"), bytes_text(report.kept_bytes));
  return answer;
}

}  // namespace

StoreAnswer run_store(const StoreCommand& command, int64_t now_ns) {
  refuse_wrong_use(command);
  if (command.action == "list") return list(command, now_ns);
  if (command.action == "verify") return verify(command);
  return gc(command, now_ns);
}

void add_store_command(CLI::App& app) {
  auto options = std::make_shared<StoreCommand>();
  CLI::App* command = app.add_subcommand(
      "store", "Show, check or tidy the folder of a segment store: list, verify or gc");
  command->add_option("action", options->action, "list, verify or gc")->required();
  command->add_option("folder", options->folder, "the store's folder")
      ->required()
      ->check(not_empty());
  command->add_flag("--json", options->is_json, "print JSON");
  command->add_option("--model", options->model, "list, gc: segments of this model alone")
      ->check(not_empty());
  command->add_option("--schema", options->schema, "list, gc: segments of this schema alone")
      ->check(not_empty());
  command->add_option_function<std::string>(
      "--budget",
      [options](const std::string& text) { options->budget_bytes = parse_bytes(text, "--budget"); },
      "gc: remove what is unused longest until all segments take at most this, such as 10GiB");
  command->add_option_function<std::string>(
      "--older-than",
      [options](const std::string& text) {
        options->unused_s = parse_seconds(text, "--older-than");
      },
      "gc: remove what was not used for this long, such as 30d");
  command->add_flag("--damaged", options->removes_damaged,
                    "gc: read all files and remove the damaged ones");
  command->add_flag("--dry-run", options->is_dry_run, "gc: say what would go, and remove nothing");
  command->callback([options] {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const StoreAnswer answer =
        run_store(*options, std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
    note("{}", answer.notes);
    if (options->is_json)
      write_output(answer.out);
    else
      print("{}", answer.out);
    if (answer.status != 0) throw ExitStatus{answer.status};
  });
}

}  // namespace reprise::app
