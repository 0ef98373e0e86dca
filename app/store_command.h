// `reprise store list|verify|gc DIR`: lists, checks and shrinks the folder of a segment store.
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
  std::string model, schema;  // list and gc: take only segments of this model and schema; "": any
  // Options of gc.
  std::optional<int64_t> budget_bytes, unused_s;
  bool removes_damaged = false, is_dry_run = false;
};

struct StoreAnswer {
  std::string out;    // for standard output; JSON with is_json
  std::string notes;  // for standard error
  int status = 0;     // 1 from verify if a file is damaged
};

// Throws Error if the folder is not a store, has a newer format or cannot be used. Throws Error for
// an unknown action, giving the nearest action, and for an option that the action does not take.
StoreAnswer run_store(const StoreCommand& command, int64_t now_ns);

// Adds the subcommand. Its errors are thrown from app.parse().
void add_store_command(CLI::App& app);

}  // namespace reprise::app
