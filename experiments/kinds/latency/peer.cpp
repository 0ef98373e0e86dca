#include "experiments/kinds/latency/peer.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <utility>

#include "core/base/cache_folder.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/model/config/config.h"
#include "experiments/kinds/shared/places.h"

namespace reprise::experiments {
namespace {

struct Program {
  const char* name;
  const char* help;
  Look look;
};

const std::vector<Program>& programs() {
  static const std::vector<Program> all = {
      {"llama_cpp", "llama.cpp, through its Python binding", {"#8C564B", "P"}},
      {"openvino", "OpenVINO GenAI's continuous batching", {"#7B5CB8", "X"}},
      {"transformers", "Hugging Face transformers on PyTorch", {"#7F7F7F", "<"}}};
  return all;
}

// The Python interpreter that has the peers' libraries.
std::string peers_python() {
  const char* named = std::getenv("REPRISE_PEERS_PYTHON");
  return named == nullptr || *named == '\0' ? "python3" : named;
}

std::vector<std::string> command_of(const std::string& name) {
  return {peers_python(), resolve_path("experiments/peers/" + name + "_peer.py")};
}

std::vector<std::string> command_of(const MethodChoice& method, const Group& group,
                                    const PeerRoom& room, const Context& context) {
  std::vector<std::string> command = command_of(method.name);
  const std::filesystem::path cache = cache_folder();
  for (const auto& [option, value] : std::initializer_list<std::pair<const char*, std::string>>{
           {"--shape", model::config_text(resolve_model(group.model.model))},
           {"--dtype", std::string(name_of(group.dtype))},
           {"--kv-dtype", std::string(name_of(group.kv_dtype))},
           {"--threads", std::to_string(context.threads)},
           {"--batch", std::to_string(room.batch)},
           {"--tokens", std::to_string(room.tokens)},
           {"--seed", std::to_string(group.seeds.weights)}})
    command.insert(command.end(), {option, value});
  if (!cache.empty()) command.insert(command.end(), {"--cache", (cache / "peers").string()});
  return command;
}

// Reads a line that a peer printed.
Fields answer_in(const std::string& line) {
  const Value value = parse_json(line, "its answer");
  if (!value.is_fields()) raise("it answered {}", shown(value));
  return value.fields();
}

}  // namespace

std::vector<Series> peer_series() {
  std::vector<Series> series;
  for (const Program& program : programs())
    series.push_back({.name = program.name, .help = program.help, .look = program.look});
  return series;
}

bool is_peer(const MethodChoice& method) {
  return std::any_of(programs().begin(), programs().end(),
                     [&](const Program& program) { return method.name == program.name; });
}

Group without_peers(const Group& group) {
  Group own = group;
  own.methods.clear();
  for (const MethodChoice& method : group.methods)
    if (!is_peer(method)) own.methods.push_back(method);
  return own;
}

std::string missing_peer(const MethodChoice& method) {
  std::vector<std::string> command = command_of(method.name);
  command.emplace_back("--check");
  const std::atomic<bool> goes_on = false;
  try {
    return text_of(answer_in(run_child(command, goes_on).out), "unable");
  } catch (const Error& error) {
    return fmt::format("{}: {}. Set REPRISE_PEERS_PYTHON to a Python that has its libraries",
                       command[0], error.what());
  }
}

void check_peers(const Group& group, const Context& context) {
  if (std::none_of(group.methods.begin(), group.methods.end(), is_peer)) return;
  if (is_peer(group.methods[0]))
    raise(
        "{} comes first, and the others are compared with it: list a method, and leave out "
        "\"compared_with\"",
        group.methods[0].name);
  if (!group.model.random_weights || group.model.weight_format)
    raise("peers compute random weights of the dtype: give the model \"weights\": \"random\"");
  for (const DType dtype : {group.dtype, group.kv_dtype})
    if (dtype != DType::kF32 && dtype != DType::kBF16)
      raise("peers compute f32 and bf16, and not {}", name_of(dtype));
  if (context.device != Device::kCpu)
    raise("peers compute on the CPU: leave them out, or leave --device out");
}

Peer::Peer(const MethodChoice& method, const Group& group, const PeerRoom& room,
           const Context& context, const std::atomic<bool>& stop)
    : name_(method.name), program_(command_of(method, group, room, context)) {
  about_ = ask("", stop);
  if (const std::string reason = text_of(about_, "unable"); !reason.empty())
    raise("{}: {}", name_, reason);
}

std::vector<engine::TokenEvent> Peer::run(const PeerBatch& batch, const std::atomic<bool>& stop) {
  Values prompts;
  for (const std::vector<int32_t>& prompt : batch.prompts)
    prompts.emplace_back(Values(prompt.begin(), prompt.end()));
  const Fields answer = ask(json_text(Fields{{"prompts", std::move(prompts)},
                                             {"shared_tokens", batch.shared_tokens},
                                             {"new_tokens", batch.new_tokens}}),
                            stop);
  if (const std::string error = text_of(answer, "error"); !error.empty())
    raise("{} cannot compute a batch of {}: {}", name_, batch.prompts.size(), error);
  std::vector<engine::TokenEvent> events;
  JsonObject fields(answer, name_);
  for (const Value& pair : fields.list("tokens")) {
    if (!pair.is_list() || pair.size() != 2 || !pair.list()[0].is_integer() ||
        !pair.list()[1].is_integer())
      raise("{} answered {} for a token", name_, shown(pair));
    events.push_back({.request = pair.list()[0].integer(), .time_ns = pair.list()[1].integer()});
  }
  if (std::ssize(events) != std::ssize(batch.prompts) * batch.new_tokens)
    raise("{} generated {} tokens instead of {} for each of {} prompts", name_, events.size(),
          batch.new_tokens, batch.prompts.size());
  return events;
}

Fields Peer::ask(const std::string& line, const std::atomic<bool>& stop) {
  try {
    return answer_in(line.empty() ? program_.next_line(stop) : program_.ask(line, stop));
  } catch (const Error& error) {
    raise("{}: {}", name_, error.what());
  }
}

}  // namespace reprise::experiments
