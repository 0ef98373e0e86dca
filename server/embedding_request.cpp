#include "server/embedding_request.h"

#include <utility>

#include "server/request_fields.h"

namespace reprise::server {
namespace {

constexpr size_t kMostInputs = 2048;                // as OpenAI's
constexpr int64_t kMostNumbers = int64_t{1} << 21;  // 8 MiB as f32, some 25 MB as JSON

// Fields of other servers that change the vectors. Each has the value at which it does not change
// the vectors.
const NeutralFields& fields_of_other_embedders() {
  static const NeutralFields kFields = {{"truncate_prompt_tokens", nullptr},
                                        {"add_special_tokens", true},
                                        {"normalize", nullptr},
                                        {"use_activation", nullptr},
                                        {"input_type", nullptr},
                                        {"prompt_name", nullptr},
                                        {"messages", nullptr},
                                        {"embed_dtype", "float32"},
                                        {"endianness", "native"}};
  return kFields;
}

// Reads one request's inputs.
class Inputs {
 public:
  Inputs(const ServedModel& model, const sentence::Embedder& embedder)
      : model_(model), embedder_(embedder) {}

  // Reads a text, a list of texts, a list of token ids, or a list of lists of token ids.
  std::vector<sentence::TextTokens> read(const Value& input) const {
    if (input.is_text()) return {of_text(input)};
    if (!input.is_list() || input.size() == 0) refuse_form();
    const Values& list = input.list();
    const Value& first = list.front();
    if (first.is_number()) return {of_ids(input)};
    check_count(list.size());
    std::vector<sentence::TextTokens> texts;
    for (const Value& item : list) {
      if (item.is_text() != first.is_text() || !(item.is_text() || item.is_list())) refuse_form();
      texts.push_back(item.is_text() ? of_text(item) : of_ids(item));
    }
    return texts;
  }

 private:
  [[noreturn]] static void refuse_form() {
    refuse(400, "input",
           "input must be a text, a list of texts, a list of token ids, or a list of such lists");
  }
  void check_count(size_t inputs) const {
    if (inputs > kMostInputs)
      refuse(400, "input", "{} inputs, at most {} are taken at once", inputs, kMostInputs);
    const int64_t numbers = static_cast<int64_t>(inputs) * embedder_.width();
    if (numbers > kMostNumbers)
      refuse(400, "input",
             "{} vectors of {} numbers are {} numbers, at most {} are put together: send fewer "
             "inputs at once",
             inputs, embedder_.width(), numbers, kMostNumbers);
  }
  [[noreturn]] static void refuse_long(const std::string& found, int64_t most) {
    throw ApiError(
        400, fmt::format("{}, this server takes {} tokens (--max-tokens): shorten it", found, most),
        "input", "context_length_exceeded");
  }

  [[nodiscard]] sentence::TextTokens of_text(const Value& given) const {
    const std::string& text = given.text();
    const int64_t most = embedder_.settings().form.most_tokens;
    if (text.size() > embedder_.most_text_bytes())
      refuse_long(fmt::format("a text has {} bytes, of which at most {} are read", text.size(),
                              embedder_.most_text_bytes()),
                  most);
    sentence::TextTokens tokens = field("input", [&] { return embedder_.tokens_of(text); });
    if (tokens.was_cut()) refuse_long(fmt::format("a text has {} tokens", tokens.given), most);
    return tokens;
  }
  [[nodiscard]] sentence::TextTokens of_ids(const Value& given) const {
    const int64_t most = embedder_.settings().form.most_tokens;
    if (given.size() == 0) refuse(400, "input", "an input of no tokens: give one at least");
    const auto count = static_cast<int64_t>(given.size());
    if (count > most) refuse_long(fmt::format("an input has {} tokens", count), most);
    return {.ids = read_ids(given, "input", given.size(), model_), .given = count};
  }

  const ServedModel& model_;
  const sentence::Embedder& embedder_;
};

bool read_is_base64(JsonObject& object) {
  const std::string form =
      field("encoding_format", [&] { return object.string("encoding_format", "float"); });
  if (form != "float" && form != "base64")
    refuse(400, "encoding_format", "encoding_format is {}: give \"float\" or \"base64\"",
           shown(Value(form)));
  return form == "base64";
}

void check_dimensions(JsonObject& object, int64_t width) {
  const int64_t given = field("dimensions", [&] { return object.integer("dimensions", width); });
  if (given != width)
    refuse(400, "dimensions",
           "dimensions is {}, and the model's vectors have {} numbers, which are not shortened: "
           "leave it out",
           given, width);
}

}  // namespace

int64_t EmbeddingRequest::tokens() const {
  int64_t all = 0;
  for (const sentence::TextTokens& text : texts) all += std::ssize(text.ids);
  return all;
}

EmbeddingRequest read_embedding(const std::string& body, const ServedModel& model,
                                const sentence::Embedder& embedder) {
  const Value json = read_body(body);
  JsonObject object(json, "the request");
  read_model(object, model);
  EmbeddingRequest request{.is_base64 = read_is_base64(object)};
  check_dimensions(object, embedder.width());
  refuse_unless_neutral(object, fields_of_other_embedders());
  object.allow({"user"});
  const Value& input = field("input", [&]() -> const Value& { return object.at("input"); });
  request.texts = Inputs(model, embedder).read(input);
  tell_unknown(object, model);
  return request;
}

}  // namespace reprise::server
