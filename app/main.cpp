// reprise: the command line. Errors are caught here, once, and become one readable paragraph.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>

#include "app/commands.h"
#include "app/exit_status.h"
#include "app/tokenize_command.h"
#include "core/base/error.h"
#include "results/provenance.h"

namespace {

using namespace reprise;

// A first word that is no command gets the nearest one, which CLI11 does not offer.
void check_command_name(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  for (const std::string& name : names)
    if (name == argv[1]) return;
  raise("{}", unknown_name("command", argv[1], names));
}

void report(const std::string& message) {
  std::fflush(stdout);
  std::fprintf(stderr, "reprise: %s\n", message.c_str());
}

int run(int argc, char** argv) {
  CLI::App app("Benchmarks and evaluates attention-state reuse in LLM inference.", "reprise");
  app.set_version_flag("--version", results::version_text());
  app.require_subcommand(1);
  app::add_run_command(app);
  app::add_plot_command(app);
  app::add_list_command(app);
  app::add_generate_command(app);
  app::add_logits_command(app);
  app::add_tokenize_command(app);
  app::add_probe_command(app);
  app::add_check_command(app);
  check_command_name(app, argc, argv);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    app.exit(error);                                         // prints the message and where help is
    return app::error_status_of(argc > 1 ? argv[1] : "");
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const reprise::app::ExitStatus& exit) {
    return exit.status;
  } catch (const reprise::Error& error) {
    report(error.what());
  } catch (const std::bad_alloc&) {
    report("the system has no memory left. Take a smaller model, batch or prompt.");
  } catch (const std::exception& error) {
    report(std::string("unexpected failure: ") + error.what());
  }
  return reprise::app::error_status_of(argc > 1 ? argv[1] : "");
}
