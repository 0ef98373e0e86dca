#include "server/endpoints.h"

#include <ctime>
#include <semaphore>
#include <string_view>
#include <utility>

#include "core/base/lower_case.h"
#include "core/base/visible.h"
#include "server/api_error.h"
#include "server/embedding_answer.h"
#include "server/embedding_request.h"
#include "server/generation_answer.h"
#include "server/tokenize_answer.h"

namespace reprise::server {
namespace {

// Number of bodies parsed at once. A parsed JSON object takes tens of times the bytes of its text.
constexpr int kReadersAtOnce = 4;

constexpr const char* kModels = "/v1/models";
constexpr const char* kCompletions = "/v1/completions";
constexpr const char* kChat = "/v1/chat/completions";
constexpr const char* kEmbeddings = "/v1/embeddings";
constexpr const char* kTokenize = "/tokenize";
constexpr const char* kDetokenize = "/detokenize";

constexpr size_t kMostPathBytes = 512;
constexpr size_t kMostShownBytes = 200;

// A part of the request's head, for an error. A NUL would end the error's text.
std::string visible_part(const std::string& part) {
  return visible(part.substr(0, kMostShownBytes), "");
}

const char* method_of(const std::string& path) {
  if (path.size() > kMostPathBytes) return nullptr;
  if (path == kCompletions || path == kChat || path == kEmbeddings || path == kTokenize ||
      path == kDetokenize)
    return "POST";
  if (path == "/health" || path == "/metrics" || path == kModels ||
      path.starts_with(std::string(kModels) + "/"))
    return "GET";
  return nullptr;
}

void check_method(const HttpHead& head) {
  const char* method = method_of(head.path);
  if (method == nullptr)
    throw ApiError(
        404,
        fmt::format("there is nothing at {}: POST to {}, {}, {}, {} or {}, GET {}, /health "
                    "or /metrics",
                    visible_part(head.path), kCompletions, kChat, kEmbeddings, kTokenize,
                    kDetokenize, kModels),
        "", "not_found");
  const bool is_get = std::string(method) == "GET";
  if (head.method != method && !(head.method == "HEAD" && is_get))
    throw ApiError(405,
                   fmt::format("{} takes {}, not {}", visible_part(head.path), method, head.method),
                   "", "method_not_allowed", is_get ? "GET, HEAD" : method);
}

// Throws ApiError for the path of embeddings if the model generates text, and for the paths of
// generation if the model makes sentence vectors.
void check_kind(const std::string& path, const Services& services, const std::string& model) {
  if (path == kEmbeddings && !services.embedding)
    throw ApiError(404,
                   fmt::format("the model \"{}\" generates text here: start another server with "
                               "an encoder, or with reprise serve --embeddings",
                               model),
                   "", "not_found");
  if ((path == kCompletions || path == kChat) && !services.generation)
    throw ApiError(404,
                   fmt::format("the model \"{}\" turns texts into vectors here and generates "
                               "none: POST to {}",
                               model, kEmbeddings),
                   "", "not_found");
}

// True if the header is "Bearer KEY" with this key. The scheme's name may be in any case.
bool has_key(const std::string& authorization, const std::string& key) {
  constexpr std::string_view kScheme = "bearer ";
  return lower_case(authorization.substr(0, kScheme.size())) == kScheme &&
         equal_in_constant_time(authorization.substr(kScheme.size()), key);
}

}  // namespace

bool equal_in_constant_time(const std::string& a, const std::string& b) {
  volatile unsigned difference = a.size() == b.size() ? 0u : 1u;
  for (size_t i = 0; i < a.size(); ++i)
    difference = difference | static_cast<unsigned char>(a[i] ^ b[b.empty() ? 0 : i % b.size()]);
  return difference == 0;
}

struct Endpoints::State {
  const Services& services;
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
                                 visible_part(name), model.name),
                     "model", "model_not_found");
    return {.body = json_text(model_json())};
  }

  HttpAnswer health() const {
    if (services.worker().refuses_new())
      throw ApiError(503, "the server is shutting down", "", "shutting_down");
    return {.body = R"({"status":"ok"})"};
  }

  // Calls `read` with the call's body, at most kReadersAtOnce at a time.
  template <typename Read>
  auto reading(const HttpCall& call, Read&& read) {
    readers.acquire();
    struct Release {
      std::counting_semaphore<kReadersAtOnce>& readers;
      ~Release() { readers.release(); }
    } release{readers};
    return read(call.body, model);
  }

  HttpAnswer generate(const HttpCall& call) {
    const auto until = Reply::Clock::now() + options.request_timeout;
    GenerationRequest request = reading(call, call.path == kChat ? read_chat : read_completion);
    const bool is_stream = request.is_stream;
    const auto answer = std::make_shared<GenerationAnswer>(*services.generation, model, texts,
                                                           std::move(request), until);
    answer->begin(call.socket);
    if (!is_stream) return {.body = answer->whole(call.socket)};
    return {.content_type = "text/event-stream",
            .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}},
            .stream = [answer, socket = call.socket](const HttpWrite& write) {
              answer->stream(socket, write);
            }};
  }

  HttpAnswer embed(const HttpCall& call) {
    const auto until = Reply::Clock::now() + options.request_timeout;
    EmbeddingService& service = *services.embedding;
    EmbeddingRequest request =
        reading(call, [&](const std::string& body, const ServedModel& served) {
          return read_embedding(body, served, service.embedder());
        });
    const int64_t tokens = request.tokens();
    const std::vector<float> vectors =
        service.vectors_of(std::move(request.texts), call.socket, until);
    return {.body = embedding_answer(vectors, service.embedder().width(), request.is_base64,
                                     model.name, tokens)};
  }
};

Endpoints::Endpoints(const Services& services, const ServedModel& model, Metrics& metrics,
                     EndpointOptions options)
    : state_(new State{services, model, metrics, std::move(options), TokenTexts(model.tokenizer)}) {
}
Endpoints::~Endpoints() = default;

void Endpoints::check(const HttpHead& head) const {
  check_method(head);
  check_kind(head.path, state_->services, state_->model.name);
  const std::string& key = state_->options.api_key;
  const bool is_open = key.empty() || !(head.path.starts_with("/v1/") || head.method == "POST");
  if (!is_open && !has_key(head.authorization, key))
    throw ApiError(401,
                   head.authorization.empty()
                       ? "this server asks for an API key: Authorization: Bearer KEY"
                       : "the API key is not the server's",
                   "", "invalid_api_key");
  // Protects servers on a user's own machine from web pages. A browser lets a page send a body of
  // type application/json to another server only if that server agrees, and this server never
  // agrees. A body without a type would be sent without asking.
  if (head.method == "POST" && head.content_type != "application/json")
    throw ApiError(
        415, fmt::format("a body {}: give Content-Type: application/json",
                         head.content_type.empty() ? "without a type"
                                                   : "of type " + visible_part(head.content_type)));
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
  if (call.path == kTokenize) return {.body = state_->reading(call, tokenize_answer)};
  if (call.path == kDetokenize) return {.body = state_->reading(call, detokenize_answer)};
  if (call.path == kEmbeddings) return state_->embed(call);
  return state_->generate(call);
}

}  // namespace reprise::server
