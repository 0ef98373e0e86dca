// Generates eight tokens with the installed runtime: consumer MODEL_FOLDER.
#include <cstdio>

#include "core/engine/engine.h"
#include "core/tokenizer/tokenizer.h"
#include "methods/prompt_cache/imports.h"
#include "methods/registry.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto context = reprise::Context::machine();
  const auto tokenizer = reprise::load_tokenizer(argv[1]);
  const auto decoder = reprise::model::load_decoder(argv[1], {}, context);
  reprise::engine::EngineOptions options;
  options.limits.max_sequence_tokens = 64;
  options.contributors = {std::make_shared<reprise::prompt_cache::ModuleImports>()};
  reprise::engine::Engine engine(context, *decoder, reprise::methods::make_cache("paged", {}),
                                 options);
  reprise::engine::Request request;
  request.prompt = tokenizer->encode("Once upon a time");
  request.max_new_tokens = 8;
  engine.submit(request);
  std::vector<int32_t> tokens;
  for (const auto& event : engine.run()) tokens.push_back(event.token);
  std::printf("%zu tokens:%s\n", tokens.size(), tokenizer->decode(tokens).c_str());
}
