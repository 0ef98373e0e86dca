// The commands of the program. Each function adds one command to the command line; a command throws
// its errors.
#pragma once

namespace CLI {
class App;
}

namespace reprise::app {

void add_data_command(CLI::App& app);
void add_list_command(CLI::App& app);
void add_generate_command(CLI::App& app);
void add_run_command(CLI::App& app);
void add_load_command(CLI::App& app);
void add_serve_command(CLI::App& app);
void add_plot_command(CLI::App& app);
void add_export_command(CLI::App& app);
void add_report_command(CLI::App& app);
void add_probe_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_check_command(CLI::App& app);
void add_logits_command(CLI::App& app);
void add_pml_command(CLI::App& app);
void add_embed_command(CLI::App& app);

}  // namespace reprise::app
