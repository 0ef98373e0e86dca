// reprise: the command line. Errors are caught here once and printed as one readable paragraph.
#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <new>
#include <sstream>

#include "app/commands.h"
#include "app/exit_status.h"
#include "app/longbench_command.h"
#include "app/output.h"
#include "app/store_command.h"
#include "app/tokenize_command.h"
#include "app/unknown_option.h"
#include "core/base/error.h"
#include "core/base/fields.h"
#include "core/base/time_slice.h"
#include "results/provenance.h"

namespace {

using namespace reprise;

// Opens /dev/null for each standard stream that the caller closed. Otherwise the next opened file
// would take the stream's number and results would be printed into it. The replacement of standard
// input cannot be read, and that of standard output cannot be written.
void occupy_closed_streams() {
  for (int stream = 0; stream <= 2; ++stream)
    if (fcntl(stream, F_GETFD) == -1) (void)open("/dev/null", stream == 1 ? O_RDONLY : O_WRONLY);
}

// Throws Error with the nearest command if the first word is not a command; CLI11 does not suggest
// one.
void check_command_name(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  for (const std::string& name : names)
    if (name == argv[1]) return;
  raise("{}", unknown_name("command", argv[1], names));
}

// Refuses "--out=" without a value; CLI11 would take the next word as its value.
void refuse_missing_values(int argc, char** argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i)
    if (const std::string_view word = argv[i];
        word.starts_with("--") && word.find('=') == word.size() - 1)
      raise("{} is empty: put a value behind the \"=\", or leave the option out",
            word.substr(0, word.size() - 1));
}

// Refuses "--out --fresh": CLI11 would take the option's name as the value.
void refuse_options_as_values(const CLI::App& app, int argc, char** argv) {
  const CLI::App* command = &app;
  for (int i = 1; i + 1 < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string word = argv[i], next = argv[i + 1];
    for (const CLI::App* inner : command->get_subcommands({}))
      if (inner->get_name() == word) command = inner;
    const CLI::Option* option =
        word.starts_with("--") ? command->get_option_no_throw(word) : nullptr;
    if (option != nullptr && option->get_expected_min() > 0 &&
        command->get_option_no_throw(next) != nullptr && next.starts_with("--"))
      raise("{} needs a value, and {} is an option. A value that looks like one is written {}={}",
            word, next, word, next);
  }
}

void report(const std::string& message) {
  std::fflush(stdout);
  app::note("reprise: {}\n", message);
}

// Prints --help, --version, or what is wrong with the command line.
int answer(const CLI::App& app, const CLI::ParseError& error, int error_status) {
  if (const std::string text = app::unknown_option_text(app);
      error.get_exit_code() != 0 && !text.empty()) {
    report(text);
    return error_status;
  }
  std::ostringstream out, err;
  const bool is_wrong = app.exit(error, out, err) != 0;
  app::write_output(out.str());
  app::note("{}", err.str());
  return is_wrong ? error_status : 0;
}

int run(int argc, char** argv) {
  CLI::App app("Benchmarks and evaluates attention-state reuse in LLM inference.", "reprise");
  app.set_version_flag("--version", results::version_text());
  app.require_subcommand(1);
  app::add_run_command(app);
  app::add_load_command(app);
  app::add_plot_command(app);
  app::add_export_command(app);
  app::add_report_command(app);
  app::add_list_command(app);
  app::add_data_command(app);
  app::add_generate_command(app);
  app::add_serve_command(app);
  app::add_logits_command(app);
  app::add_embed_command(app);
  app::add_tokenize_command(app);
  app::add_pml_command(app);
  app::add_bench_command(app);
  app::add_probe_command(app);
  app::add_check_command(app);
  app::add_longbench_command(app);
  app::add_store_command(app);
  check_command_name(app, argc, argv);
  refuse_missing_values(argc, argv);
  refuse_options_as_values(app, argc, argv);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    return answer(app, error, app::error_status_of(argc > 1 ? argv[1] : ""));
  }
}

int status_of(int argc, char** argv) {
  try {
    int status = 0;
    try {
      status = run(argc, argv);
    } catch (const app::ExitStatus& exit) {
      status = exit.status;
    }
    app::flush_output();  // all output must have arrived, even after an error
    return status;
  } catch (const app::OutputError& error) {
    if (error.is_closed_pipe()) return 128 + SIGPIPE;
    report(error.what());
  } catch (const Error& error) {
    report(error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    report(fmt::format("{}: {}", error.path1().string(), error.code().message()));
  } catch (const std::bad_alloc&) {
    report("the system has no memory left. Take a smaller model, batch or prompt.");
  } catch (const FieldFault& fault) {
    report("unexpected failure: " + fault.text);
  } catch (const std::exception& error) {
    report(std::string("unexpected failure: ") + error.what());
  }
  return app::error_status_of(argc > 1 ? argv[1] : "");
}

}  // namespace

int main(int argc, char** argv) {
  occupy_closed_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // beyond ulimit -f, a write fails with an error
  std::signal(SIGPIPE, SIG_IGN);  // writes to a closed pipe fail; lost notes are no error
  ask_for_short_slices();
  return status_of(argc, argv);
}
