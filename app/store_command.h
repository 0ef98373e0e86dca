// `reprise store list|verify|gc DIR`: what a segment store's folder holds, whether it is sound, and
// what of it may go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace reprise::app {

struct StoreCommand {
  std::string action;  // "list", "verify", "gc"
  std::string folder;
  bool is_json = false;
  std::string model, schema;  // list and gc: those of this identity alone
  // gc
  std::optional<int64_t> budget_bytes, unused_s;
  bool removes_damaged = false, is_dry_run = false;
};

struct StoreAnswer {
  std::string out;    // for standard output, and with `is_json` JSON alone
  std::string notes;  // for standard error
  int status = 0;     // 1 from verify where a file is damaged
};

// Throws Error where the folder is no store, is of a newer format, or refuses; for an action that
// is not known, with the nearest; and for an option that the action does not take.
StoreAnswer run_store(const StoreCommand& command, int64_t now_ns);

// Adds the subcommand; errors are thrown from app.parse().
void add_store_command(CLI::App& app);

}  // namespace reprise::app
