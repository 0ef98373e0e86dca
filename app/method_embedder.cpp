#include "app/method_embedder.h"

#include <fmt/format.h>

#include <utility>

#include "core/base/json.h"
#include "methods/prompt_setup.h"

namespace reprise::app {
namespace {

std::vector<float> vector_of(sentence::Embedder& embedder, std::span<const int32_t> ids,
                             model::LayerPolicy* policy) {
  const sentence::TextTokens text = {.ids = {ids.begin(), ids.end()}, .given = std::ssize(ids)};
  std::vector<float> out(static_cast<size_t>(embedder.width()));
  embedder.read({&text, 1}, out, policy);
  return out;
}

// Lines "NAME: VALUE UNIT" of metrics, "NAME: JSON" of settings.
class LineSink final : public methods::ReportSink {
 public:
  void metric(const MetricInfo& metric, double value) override {
    lines_ += fmt::format("{}: {:.6g} {}\n", metric.name, value, metric.unit);
  }
  void setting(const std::string& name, const Value& value) override {
    lines_ += fmt::format("{}: {}\n", name, json_text(value));
  }
  [[nodiscard]] const std::string& lines() const { return lines_; }

 private:
  std::string lines_;
};

}  // namespace

MethodEmbedder::MethodEmbedder(sentence::Embedder& embedder,
                               std::unique_ptr<methods::Method> method, const Model& model,
                               const Texts& texts)
    : embedder_(embedder), method_(std::move(method)) {
  methods::Setup setup =
      methods::prompt_setup(*model.decoder, model.context, model.name, model.weights_seed);
  setup.between = model.between;
  setup.run = [&embedder, between = model.between](std::span<const int32_t> ids,
                                                   model::LayerPolicy* policy) {
    if (between) between();
    return vector_of(embedder, ids, policy);
  };
  setup.special_before = embedder.special_before();
  setup.special_after = embedder.special_after();
  setup.common_tokens = embedder.prompt_tokens();
  setup.database = texts.stored;
  setup.training = texts.training;
  method_->prepare(setup);
  methods::Parts parts = method_->parts();
  policy_ = std::move(parts.policy);
  shaper_ = std::move(parts.shaper);
  method_->begin_turn();
}

sentence::TextTokens MethodEmbedder::formed(const sentence::TextTokens& text) const {
  return {.ids = methods::shaped_prompt(shaper_.get(), text.ids), .given = text.given};
}

void MethodEmbedder::read_one(const sentence::TextTokens& text, std::span<float> out) {
  const int64_t before = method_->counts().reused_layers;
  embedder_.read({&text, 1}, out, policy_.get());
  const int64_t reused = method_->counts().reused_layers - before;
  count_.hits += reused > 0 ? 1 : 0;
  count_.reused_layers += reused;
}

void MethodEmbedder::read(std::span<const sentence::TextTokens> texts, std::span<float> out) {
  count_.texts += std::ssize(texts);
  std::vector<sentence::TextTokens> shaped;
  if (shaper_ != nullptr) {
    for (const sentence::TextTokens& text : texts) {
      shaped.push_back(formed(text));
      count_.cut += shaped.back().ids.size() < text.ids.size() ? 1 : 0;
    }
    texts = shaped;
  }
  if (!method_->looks_up()) return embedder_.read(texts, out, policy_.get());
  const auto numbers = static_cast<size_t>(width());
  for (size_t i = 0; i < texts.size(); ++i) read_one(texts[i], out.subspan(i * numbers, numbers));
}

std::string summary_of(const MethodEmbedder& embedder, int64_t layers) {
  const methods::Method& method = embedder.method();
  const ReuseCount& count = embedder.count();
  std::string lines;
  if (count.cut > 0)
    lines = fmt::format("note: {} of {} texts are longer than method \"{}\" takes and were cut\n",
                        count.cut, count.texts, method.info().name);
  if (method.looks_up())
    lines += fmt::format("{}: {} of {} texts hit, {} of {} layers computed with stored maps\n",
                         method.info().name, count.hits, count.texts, count.reused_layers,
                         count.texts * layers);
  LineSink sink;
  method.report(sink);
  return lines + sink.lines();
}

}  // namespace reprise::app
