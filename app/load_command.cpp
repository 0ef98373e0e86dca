// `reprise load`: sends an experiment's requests to running servers, and measures with the same
// clock and rules as on this project's own engine.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "app/commands.h"
#include "app/common_options.h"
#include "app/exit_status.h"
#include "app/experiment_run.h"
#include "app/number_option.h"
#include "app/output.h"
#include "core/base/error.h"
#include "core/device/cpu.h"
#include "experiments/framework/sweep.h"
#include "experiments/kinds/registry.h"
#include "experiments/kinds/serving/load_kind.h"
#include "experiments/kinds/sources.h"
#include "experiments/serving/plan.h"
#include "results/run_validity.h"

namespace reprise::app {
namespace {

struct LoadCommand {
  ExperimentOptions chosen;
  server::NamedServer first = {.label = "server", .url = ""};
  std::vector<std::string> beside;  // NAME=URL
  server::LoadOptions server;
  bool primes = false;
  server::LoadReuse reuse;
};

// Facts of the client's machine. Its computing limits are left out, because they do not describe
// the server.
Machine client_machine() {
  const CpuFacts& cpu = cpu_facts();
  return {.cpu = cpu.model, .logical_cores = cpu.logical_cores};
}

// Throws ExitStatus if no point is VALID, so that scripts notice.
void require_a_valid_point(const std::vector<results::Record>& records) {
  const auto is_valid = [](const results::Record& record) {
    return results::run_validity(record).is_valid;
  };
  if (records.empty() || std::any_of(records.begin(), records.end(), is_valid)) return;
  note("none of the {} points is VALID: their numbers say nothing about the server\n",
       records.size());
  throw ExitStatus{kInvalidStatus};
}

experiments::serving::PlansServing& plans_of(experiments::Kind& kind,
                                             const experiments::Experiment& experiment,
                                             const std::string& file) {
  auto* plans = dynamic_cast<experiments::serving::PlansServing*>(&kind);
  if (plans == nullptr)
    raise("{}: kind \"{}\" has no requests for a server. Take an experiment of kind \"serving\".",
          file, experiment.kind.name);
  return *plans;
}

// All servers that the command names.
std::vector<server::NamedServer> servers_of(const LoadCommand& command) {
  std::vector<server::NamedServer> servers = {command.first};
  for (const std::string& text : command.beside) {
    const size_t sign = text.find('=');
    if (sign == std::string::npos)
      raise("--beside {}: give another server as NAME=URL, as in vllm=http://127.0.0.1:8001", text);
    servers.push_back({.label = text.substr(0, sign), .url = text.substr(sign + 1)});
  }
  return servers;
}

std::string folder_of(const experiments::Experiment& experiment) {
  std::string folder = "out/" + experiment.name + "/" + experiment.scale + "/";
  for (const experiments::MethodChoice& server : experiment.methods)
    folder += (&server == &experiment.methods.front() ? "" : "+") + server.label;
  return folder;
}

void load(const LoadCommand& command) {
  if (command.reuse.nonce && command.reuse.allowed == "all")
    raise("--nonce: with --reuse all every run has the same prompts; leave one of the two out");
  const ExperimentOptions& chosen = command.chosen;
  const Context context = make_context({});  // nothing is computed here
  const experiments::Experiment experiment =
      server::for_servers(load_chosen_experiment(chosen), servers_of(command), command.reuse,
                          command.server, command.primes);
  const auto kind = experiments::make_kind(experiment.kind.name, context);
  server::LoadKind load_kind(plans_of(*kind, experiment, chosen.file), command.server,
                             command.primes, command.reuse);
  experiments::RunOptions options;
  options.out = chosen.out.empty() ? folder_of(experiment) : chosen.out;
  options.fresh = chosen.fresh;
  options.mix = chosen.mix;
  options.settings.context = context;
  options.measure_machine = client_machine;
  options.measures_limits = false;
  options.sources = experiments::sources_of(experiment);
  const experiments::Plan plan = checked_plan(experiment, options, chosen);
  const ShownRun shown = measure_and_show(experiment, plan, options, load_kind, chosen);
  require_a_valid_point(shown.outcome.records);
  if (shown.status != 0) throw ExitStatus{shown.status};
}

void add_server_options(CLI::App& command, LoadCommand& options) {
  constexpr double kLongest_s = 86400;
  server::ServerPlace& place = options.server.place;
  command.add_option("url", options.first.url, "the server: http://HOST:PORT")
      ->required()
      ->check(not_empty());
  command
      .add_option("--name", options.first.label,
                  "what tables and figures call the server (default: server)")
      ->check(not_empty());
  command
      .add_option("--model", options.server.model,
                  "model to ask all servers for (default: the first that each lists)")
      ->check(not_empty());
  command
      .add_option(
          "--beside", options.beside,
          "NAME=URL of another server that gets the same requests, the servers in turn; may "
          "be given several times")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->check(not_empty());
  command.add_option("--api-key", place.api_key, "sent as a bearer token, to all servers")
      ->check(not_empty());
  const auto send_as = [&command, &options](const char* flag, server::PromptForm form,
                                            const char* help) {
    return command.add_flag_callback(
        flag, [&options, form] { options.server.form = form; }, help);
  };
  send_as("--text", server::PromptForm::kText,
          "send prompts as text, to servers that take no token ids")
      ->excludes(send_as("--chat", server::PromptForm::kChat,
                         "send prompts as the user's message of a chat, to /v1/chat/completions"));
  command.add_flag("--prime", options.primes,
                   "have the workload's prefixes computed before the first request");
  command
      .add_option(
          "--reuse", options.reuse.allowed,
          "what the server may find in its cache: none, session (turns of a conversation), "
          "prefix_within_run (requests of this run) or all (of earlier runs and points too); "
          "salts in the prompts see to it (default: prefix_within_run)")
      ->check(one_of("reuse", server::reuse_names()));
  command
      .add_option("--nonce", options.reuse.nonce,
                  "send the prompts of the run that was recorded with this nonce again (default: "
                  "drawn anew for each run)")
      ->check(seed_number());
  command.add_flag("--audit", options.reuse.audits,
                   "after a point's first run, send one prompt again and again between new ones: a "
                   "server that keeps answers, or finds what it may not, makes the run INVALID");
  command
      .add_option("--connections", options.server.most_connections,
                  "most requests under way at once (default: 512)")
      ->check(integer_within(1, 4096));
  command.add_option("--connect-timeout", place.connect_timeout_s, "seconds (default: 10)")
      ->check(number_within(0.001, kLongest_s));
  command
      .add_option("--silence-timeout", place.silence_timeout_s,
                  "seconds without a byte after which a request has failed (default: 120)")
      ->check(number_within(0.001, kLongest_s));
  command
      .add_option("--request-timeout", place.request_timeout_s,
                  "seconds after which a request has failed (default: 600)")
      ->check(number_within(0.001, kLongest_s));
}

}  // namespace

void add_load_command(CLI::App& app) {
  auto options = std::make_shared<LoadCommand>();
  CLI::App* command = app.add_subcommand(
      "load", "Send an experiment's requests to an OpenAI-compatible server, and measure it");
  add_server_options(*command, *options);
  add_experiment_options(*command, "out/EXPERIMENT/SCALE/NAME", options->chosen);
  command->callback([options] { load(*options); });
}

}  // namespace reprise::app
