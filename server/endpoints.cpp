#include "server/endpoints.h"

#include <ctime>
#include <semaphore>
#include <utility>

#include "server/api_error.h"
#include "server/generation_answer.h"

namespace reprise::server {
namespace {

// Number of bodies parsed at once. A parsed JSON object takes tens of times the bytes of its text.
constexpr int kReadersAtOnce = 4;

constexpr const char* kModels = "/v1/models";
constexpr const char* kCompletions = "/v1/completions";
constexpr const char* kChat = "/v1/chat/completions";

constexpr size_t kMostPathBytes = 512;

const char* method_of(const std::string& path) {
  if (path.size() > kMostPathBytes) return nullptr;
  if (path == kCompletions || path == kChat) return "POST";
  if (path == "/health" || path == "/metrics" || path == kModels ||
      path.starts_with(std::string(kModels) + "/"))
    return "GET";
  return nullptr;
}

void check_method(const HttpHead& head) {
  const char* method = method_of(head.path);
  if (method == nullptr)
    throw ApiError(404,
                   fmt::format("there is nothing at {}: POST to {} or {}, GET {}, /health or "
                               "/metrics",
                               head.path.substr(0, 200), kCompletions, kChat, kModels),
                   "", "not_found");
  if (head.method != method && !(head.method == "HEAD" && std::string(method) == "GET"))
    throw ApiError(405, fmt::format("{} takes {}, not {}", head.path, method, head.method), "",
                   "method_not_allowed");
}

}  // namespace

bool equal_in_constant_time(const std::string& a, const std::string& b) {
  volatile unsigned difference = a.size() == b.size() ? 0u : 1u;
  for (size_t i = 0; i < a.size(); ++i)
    difference = difference | static_cast<unsigned char>(a[i] ^ b[b.empty() ? 0 : i % b.size()]);
  return difference == 0;
}

struct Endpoints::State {
  Service& service;
  const ServedModel& model;
  Metrics& metrics;
  const EndpointOptions options;
  const TokenTexts texts;
  const std::time_t started = std::time(nullptr);
  std::counting_semaphore<kReadersAtOnce> readers{kReadersAtOnce};

  Fields model_json() const {
    return {{"id", model.name},
            {"object", "model"},
            {"created", started},
            {"owned_by", "reprise"},
            {"max_model_len", model.max_sequence_tokens}};
  }

  HttpAnswer models(const std::string& path) const {
    if (path == kModels)
      return {.body = json_text(Fields{{"object", "list"}, {"data", Values{model_json()}}})};
    const std::string name = path.substr(std::string(kModels).size() + 1);
    if (name != model.name)
      throw ApiError(404,
                     fmt::format("the model \"{}\" does not exist here; this server has \"{}\"",
                                 name.substr(0, 200), model.name),
                     "model", "model_not_found");
    return {.body = json_text(model_json())};
  }

  HttpAnswer health() const {
    if (service.refuses_new())
      throw ApiError(503, "the server is shutting down", "", "shutting_down");
    return {.body = R"({"status":"ok"})"};
  }

  GenerationRequest read(const HttpCall& call) {
    readers.acquire();
    struct Release {
      std::counting_semaphore<kReadersAtOnce>& readers;
      ~Release() { readers.release(); }
    } release{readers};
    return call.path == kChat ? read_chat(call.body, model) : read_completion(call.body, model);
  }

  HttpAnswer generate(const HttpCall& call) {
    const auto until = Reply::Clock::now() + options.request_timeout;
    GenerationRequest request = read(call);
    const bool is_stream = request.is_stream;
    const auto answer =
        std::make_shared<GenerationAnswer>(service, model, texts, std::move(request), until);
    answer->begin(call.socket);
    if (!is_stream) return {.body = answer->whole(call.socket)};
    return {.content_type = "text/event-stream",
            .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}},
            .stream = [answer, socket = call.socket](const HttpWrite& write) {
              answer->stream(socket, write);
            }};
  }
};

Endpoints::Endpoints(Service& service, const ServedModel& model, Metrics& metrics,
                     EndpointOptions options)
    : state_(new State{service, model, metrics, std::move(options), TokenTexts(model.tokenizer)}) {}
Endpoints::~Endpoints() = default;

void Endpoints::check(const HttpHead& head) const {
  check_method(head);
  const std::string& key = state_->options.api_key;
  const bool is_open = key.empty() || !head.path.starts_with("/v1/");
  if (!is_open && !equal_in_constant_time(head.authorization, "Bearer " + key))
    throw ApiError(401,
                   head.authorization.empty()
                       ? "this server asks for an API key: Authorization: Bearer KEY"
                       : "the API key is not the server's",
                   "", "invalid_api_key");
  // Protects servers on a user's own machine from web pages: browsers let a page send this type to
  // another server only if that server agrees, which this one never does. A body without a type
  // would be sent without asking.
  if (head.method == "POST" && head.content_type != "application/json")
    throw ApiError(415, fmt::format("a body {}: give Content-Type: application/json",
                                    head.content_type.empty()
                                        ? "without a type"
                                        : "of type " + head.content_type.substr(0, 100)));
}

HttpAnswer Endpoints::answer(const HttpCall& call) {
  if (call.path == "/health") return state_->health();
  if (call.path == "/metrics") {
    if (const std::string absence = Metrics::absence(); !absence.empty())
      throw ApiError(501, absence);
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
            .body = state_->metrics.text()};
  }
  if (call.path.starts_with(kModels)) return state_->models(call.path);
  return state_->generate(call);
}

}  // namespace reprise::server
