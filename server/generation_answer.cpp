#include "server/generation_answer.h"

#include <fmt/format.h>

#include <random>
#include <utility>

#include "server/api_error.h"
#include "server/request_fields.h"

namespace reprise::server {
namespace {

uint64_t fresh_bits() {
  thread_local std::mt19937_64 bits{(uint64_t{std::random_device{}()} << 32) ^
                                    std::random_device{}()};
  return bits();
}

AnswerHead head_of(const GenerationRequest& request, const ServedModel& model) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {.id = fmt::format("{}-{:016x}", request.is_chat ? "chatcmpl" : "cmpl", fresh_bits()),
          .model = model.name,
          .created_s = std::chrono::duration_cast<std::chrono::seconds>(now).count(),
          .is_chat = request.is_chat};
}

// Makes one request per choice. The n-th choice draws from the n-th stream of the seed, so that a
// given seed always gives the same answer.
std::vector<engine::Request> requests_of(GenerationRequest& asked, const ServedModel& model) {
  if (!asked.has_seed) asked.sampling.seed = fresh_bits();
  const std::vector<int32_t>& ends = asked.is_chat ? model.chat_eos_ids : model.eos_ids;
  std::vector<int32_t> all_ends = asked.stop_ids;
  all_ends.insert(all_ends.end(), ends.begin(), ends.end());
  asked.rules.withheld = all_ends;  // with ignore_eos too, as in vLLM
  field("allowed_token_ids", [&] { asked.rules.validate(model.vocab); });
  if (!asked.rules.empty())
    asked.sampling.rules = std::make_shared<const engine::TokenRules>(asked.rules);
  std::vector<engine::Request> requests;
  for (size_t prompt = 0; prompt < asked.prompts.size(); ++prompt)
    for (int32_t i = 0; i < asked.n; ++i) {
      engine::Request request;
      if (const auto marked = asked.marked.find(prompt); marked != asked.marked.end())
        request = marked->second;
      else
        request.prompt = asked.prompts[prompt];
      request.max_new_tokens = asked.max_tokens;
      request.sampling = asked.sampling;
      request.sampling.stream = std::ssize(requests);
      request.stop_ids = asked.ignore_eos ? asked.stop_ids : all_ends;
      if (asked.echoes && asked.alternatives >= 0) request.logits = engine::LogitsMode::kAll;
      requests.push_back(std::move(request));
    }
  return requests;
}

// A prompt given as text is echoed unchanged, even if its tokens decode to another text.
std::vector<Echo> echoes_of(const GenerationRequest& request, const Tokenizer& tokenizer,
                            const TokenTexts& texts) {
  std::vector<Echo> echoes;
  if (!request.echoes) return echoes;
  for (size_t i = 0; i < request.prompts.size(); ++i) {
    const auto given = request.texts.find(i);
    echoes.push_back(echo_of(tokenizer, texts, request.prompts[i],
                             given == request.texts.end() ? "" : given->second));
  }
  return echoes;
}

Values ids_json(const std::vector<int32_t>& ids) { return Values(ids.begin(), ids.end()); }

}  // namespace

GenerationAnswer::GenerationAnswer(Service& service, const ServedModel& model,
                                   const TokenTexts& texts, GenerationRequest request,
                                   Reply::Clock::time_point until)
    : request_(std::move(request)),
      head_(head_of(request_, model)),
      until_(until),
      echoes_(echoes_of(request_, model.tokenizer, texts)),
      ticket_(service.submit(requests_of(request_, model), request_.alternatives)) {
  for (const std::vector<int32_t>& prompt : request_.prompts) {
    prompt_tokens_ += std::ssize(prompt);
    for (int32_t i = 0; i < request_.n; ++i)
      parts_.push_back({Choice(model.tokenizer, prompt, request_.stops, request_.rules.min_tokens),
                        LogprobList(texts, request_.is_chat), ""});
  }
  left_ = parts_.size();
}

std::vector<Piece> GenerationAnswer::next(int socket) {
  if (!first_.empty()) return std::exchange(first_, {});
  switch (ticket_.reply().wait(socket, until_)) {
    case Reply::Wake::kPeerGone:
      throw PeerGone();
    case Reply::Wake::kTimeout:
      throw ApiError(408,
                     "the request took longer than it may; ask for fewer tokens, or start the "
                     "server with a larger --request-timeout");
    case Reply::Wake::kPieces:
      break;
  }
  return ticket_.reply().take();
}

std::string GenerationAnswer::take(const Piece& piece) {
  const auto index = static_cast<size_t>(piece.choice);
  Part& part = parts_[index];
  if (piece.finish != engine::FinishReason::kNone) {
    --left_;
    // Only a prompt's first choice is counted, since later choices find the prompt that the first
    // choice left in the cache.
    if (piece.choice % request_.n == 0) cached_tokens_ += piece.cached_tokens;
  }
  if (part.choice.has_ended()) return "";  // the piece came after a stop text
  if (piece.error_status != 0) throw ApiError(piece.error_status, piece.error);
  if (request_.returns_token_ids && piece.token >= 0) part.token_ids.push_back(piece.token);
  const int64_t characters = part.choice.characters();
  std::string text = part.choice.push(piece);
  if (request_.echoes && request_.alternatives >= 0 &&
      !std::exchange(part.took_prompt_logprobs, true)) {
    const size_t prompt = prompt_of(index);
    part.logprobs.add_prompt(request_.prompts[prompt], echoes_[prompt], piece.prompt_logprobs);
  }
  part.logprobs.add(piece, characters, part.choice.last_text());
  if (part.choice.was_cut()) ticket_.stop(index);  // the last piece still has cached_tokens
  return text;
}

ChoiceContent GenerationAnswer::content(size_t index, std::string text) {
  Part& part = parts_[index];
  ChoiceContent content = {.text = std::move(text),
                           .finish_reason = part.choice.finish_reason(),
                           .logprobs = part.logprobs.take()};
  const bool tells_prompt = !std::exchange(part.told_prompt, true);
  if (tells_prompt && request_.echoes) content.text.insert(0, echoes_[prompt_of(index)].text);
  if (!request_.returns_token_ids) return content;
  content.token_ids["token_ids"] = ids_json(std::exchange(part.token_ids, {}));
  if (tells_prompt && !head_.is_chat) update(content.token_ids, prompt_ids(prompt_of(index)));
  return content;
}

Fields GenerationAnswer::prompt_ids(size_t prompt) const {
  if (!request_.returns_token_ids) return {};
  return {{"prompt_token_ids", ids_json(request_.prompts[prompt])}};
}

void GenerationAnswer::begin(int socket) {
  first_ = next(socket);
  for (const Piece& piece : first_)
    if (piece.error_status != 0) throw ApiError(piece.error_status, piece.error);
}

std::string GenerationAnswer::whole(int socket) {
  while (!has_ended())
    for (const Piece& piece : next(socket))
      parts_[static_cast<size_t>(piece.choice)].text += take(piece);
  Values choices;
  for (size_t i = 0; i < parts_.size(); ++i)
    choices.emplace_back(whole_choice(head_, static_cast<int32_t>(i), content(i, parts_[i].text)));
  Fields answer = whole_answer(head_, std::move(choices), usage());
  if (head_.is_chat) update(answer, prompt_ids(0));
  return json_text(answer);
}

bool GenerationAnswer::write_piece(const Piece& piece, const HttpWrite& write) {
  Part& part = parts_[static_cast<size_t>(piece.choice)];
  const bool had_ended = part.choice.has_ended();
  const std::string text = take(piece);
  if (had_ended) return true;
  return write(text_event(head_, piece.choice, content(static_cast<size_t>(piece.choice), text),
                          request_.includes_usage));
}

bool GenerationAnswer::stream_all(int socket, const HttpWrite& write) {
  if (head_.is_chat)
    for (size_t i = 0; i < parts_.size(); ++i)
      if (!write(
              role_event(head_, static_cast<int32_t>(i), request_.includes_usage, prompt_ids(0))))
        return false;
  while (!has_ended())
    for (const Piece& piece : next(socket))
      if (!write_piece(piece, write)) return false;
  if (request_.includes_usage && !write(usage_event(head_, usage()))) return false;
  return write(kDoneEvent);
}

void GenerationAnswer::stream(int socket, const HttpWrite& write) {
  try {
    (void)stream_all(socket, write);
  } catch (const PeerGone&) {
    // The client has gone; the ticket cancels the rest.
  } catch (const ApiError& error) {
    (void)write(error_event(error.json()));
  } catch (const std::exception& error) {
    (void)write(error_event(ApiError(500, error.what()).json()));
  }
}

Usage GenerationAnswer::usage() const {
  Usage usage{.prompt_tokens = prompt_tokens_, .cached_tokens = cached_tokens_};
  for (const Part& part : parts_) usage.completion_tokens += part.choice.tokens();
  return usage;
}

}  // namespace reprise::server
