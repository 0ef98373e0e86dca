// Compares states of modules, for each way to encode them, with whole computations and with the
// definition.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <numeric>

#include "core/model/checkpoint/weights.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/core/store/segment_testing.h"
#include "tests/methods/prompt_cache/prompt_cache_testing.h"
#include "tests/support/reference_decoder.h"
#include "tests/support/tiny_models.h"

namespace reprise::prompt_cache {
namespace {

// Tolerance of logits computed in another order. Random weights of the Falcon shapes give logits of
// some tens.
constexpr double kSame = 1e-4;

const std::string kPlainPrompt = "<prompt schema=\"s\"><a/><b/><c/>61 62 63 64</prompt>";

std::string name_of_shape(const ::testing::TestParamInfo<const char*>& shape) {
  std::string name = shape.param;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

class PromptCacheStates : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<model::Decoder> decoder_ =
      testing::random_decoder(testing::scaled_down(GetParam()), Context::machine());
};

// Logits by the definition, in double precision. A token of a module sees only that module,
// including placeholders, which no other token sees. The prompt's tokens see all imported tokens.
std::vector<double> by_definition(const model::Decoder& decoder, const Prepared& prepared,
                                  const pml::CompiledPrompt& prompt) {
  const model::ModelConfig& config = decoder.config();
  testing::ReferenceDecoder reference(config, *model::random_weights(config, 1));
  constexpr int32_t kTexts = 1000;  // above the numbers of all modules
  PlacedTokens placed;
  size_t new_tokens = 0;
  const auto add = [&](const std::vector<int32_t>& tokens, int64_t first, int32_t module) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      placed.tokens.push_back(tokens[i]);
      placed.positions.push_back(static_cast<int32_t>(first) + static_cast<int32_t>(i));
      reference.module_of.push_back(module);
    }
  };
  for (const int32_t index : prompt.pieces) {
    const pml::Piece& piece = prepared.schema.pieces[static_cast<size_t>(index)];
    // A text of the schema is a module by itself.
    add(piece.tokens, piece.first, piece.module == 0 ? kTexts + index : piece.module);
  }
  for (const pml::NewRun& run : prompt.new_runs) {
    add(run.tokens, run.first, -1);
    new_tokens += run.tokens.size();
  }
  std::vector<double> all = reference.logits(placed.tokens, placed.positions);
  all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(new_tokens) * config.vocab);
  return all;
}

TEST_P(PromptCacheStates, IsolatedIsTheDefinitionWithTheMaskOfModules) {
  // The schema has no parameter, so that all tokens seen by a module's tokens are imported.
  const std::string schema = "<schema name=\"s\">" + ids_text(some_ids(3, 1)) +
                             module_text("a", some_ids(11, 2)) + ids_text(some_ids(5, 6)) +
                             "<gap len=\"3\"/><union>" + module_text("b", some_ids(9, 3)) +
                             module_text("d", some_ids(4, 4)) + "</union>" +
                             module_text("c", some_ids(1, 5)) + "</schema>";
  Prepared prepared(*decoder_, schema, Mode::kIsolated);
  for (const char* imports : {"<a/><b/><c/>", "<a/><d/><c/>", "<c/>", "<b/>", ""}) {
    const std::string text = fmt::format("<prompt schema=\"s\">{}61 62 63 64 65</prompt>", imports);
    const Outcome got = run_prompts(*decoder_, {prepared.prepare(text)}, {.max_new_tokens = 0})[0];
    const std::vector<double> want = by_definition(*decoder_, prepared, prepared.prompt(text));
    ASSERT_EQ(got.logits.size(), want.size());
    double worst = 0;
    for (size_t i = 0; i < want.size(); ++i)
      worst = std::max(worst, std::abs(static_cast<double>(got.logits[i]) - want[i]));
    EXPECT_LE(worst, kSame) << imports;
  }
}

// Joint encoding of one module is a prefill. Its states must equal, bit for bit, those of the
// prefill of the whole prompt.
TEST_P(PromptCacheStates, JointWithOneModuleHasTheStatesOfAFullPrefill) {
  const std::vector<int32_t> ids = some_ids(37, 1);
  Prepared prepared(*decoder_, "<schema name=\"s\">" + module_text("a", ids) + "</schema>",
                    Mode::kJoint);
  const PreparedPrompt prompt = prepared.prepare("<prompt schema=\"s\"><a/>61 62 63 64</prompt>");
  PlacedTokens whole = whole_prompt(
      prepared.schema, prepared.prompt("<prompt schema=\"s\"><a/>61 62 63 64</prompt>"),
      Positions::kGapped);
  EXPECT_EQ(whole.tokens.size(), 41u);
  const kv::SegmentBuffer full = compute_states(*decoder_, whole, {});
  const std::vector<TokenRun> head = {{.first = 0, .tokens = 37}};
  const kv::SegmentBuffer want = select_tokens(full, head);
  ASSERT_EQ(prompt.runs.size(), 1u);
  const kv::CacheView& got = prompt.runs[0].states->view;
  EXPECT_EQ(std::memcmp(got.keys, want.keys.data(), want.shape.half_bytes()), 0);
  EXPECT_EQ(std::memcmp(got.values, want.values.data(), want.shape.half_bytes()), 0);
  const Outcome imported = run_prompts(*decoder_, {prompt})[0];
  const Outcome computed = run_whole(*decoder_, whole);
  EXPECT_EQ(imported.tokens, computed.tokens);
  const std::vector<float> tail(computed.logits.begin() + 37 * decoder_->config().vocab,
                                computed.logits.end());
  EXPECT_LE(max_difference(imported.logits, tail), kSame);
}

// In the import, the new tokens see two segments, whose partial sums are merged, whereas method
// contiguous sums over one segment. A full prefill that is cut at the same place, by a prefix that
// relay_attention declares, must have the same bits up to the last logit.
TEST_P(PromptCacheStates, JointWithOneModuleHasTheBitsOfAFullPrefillCutAtTheModule) {
  const std::vector<int32_t> ids = some_ids(37, 1);
  Prepared prepared(*decoder_, "<schema name=\"s\">" + module_text("a", ids) + "</schema>",
                    Mode::kJoint);
  const PreparedPrompt prompt = prepared.prepare("<prompt schema=\"s\"><a/>61 62 63 64</prompt>");
  const Outcome imported = run_prompts(*decoder_, {prompt})[0];
  const Outcome computed =
      run_whole(*decoder_, {.tokens = prompt.fresh.tokens, .positions = prompt.fresh.positions},
                {.method = "relay_attention", .prefix = ids});
  EXPECT_EQ(imported.tokens, computed.tokens);
  // A prefill that follows a prefix gives only the logits from which tokens are drawn.
  ASSERT_GT(imported.logits.size(), computed.logits.size());
  const std::vector<float> drawn(
      imported.logits.end() - static_cast<std::ptrdiff_t>(computed.logits.size()),
      imported.logits.end());
  EXPECT_EQ(drawn, computed.logits);
}

TEST_P(PromptCacheStates, AScaffoldOfAllModulesIsTheFullPrefill) {
  const std::string schema = "<schema name=\"s\">" + ids_text(some_ids(3, 1)) +
                             module_text("a", some_ids(11, 2)) + module_text("b", some_ids(9, 3)) +
                             "<scaffold modules=\". a b\"/></schema>";
  const std::string text = "<prompt schema=\"s\"><a/><b/>61 62 63 64</prompt>";
  for (const Mode mode : {Mode::kScaffold, Mode::kJoint}) {
    Prepared prepared(*decoder_, schema, mode);
    const PlacedTokens whole =
        whole_prompt(prepared.schema, prepared.prompt(text), Positions::kGapped);
    const Outcome computed = run_whole(*decoder_, whole);
    const std::vector<float> tail(computed.logits.begin() + 23 * decoder_->config().vocab,
                                  computed.logits.end());
    const Outcome imported = run_prompts(*decoder_, {prepared.prepare(text)})[0];
    EXPECT_EQ(imported.tokens, computed.tokens);
    EXPECT_LE(max_difference(imported.logits, tail), kSame) << name_of(mode);
  }
  Prepared apart(*decoder_, schema, Mode::kIsolated);
  Prepared together(*decoder_, schema, Mode::kScaffold);
  EXPECT_GT(max_difference(run_prompts(*decoder_, {apart.prepare(text)})[0].logits,
                           run_prompts(*decoder_, {together.prepare(text)})[0].logits),
            1e-3)
      << "modules that do not see each other are another thing";
}

TEST_P(PromptCacheStates, CopiedAndInPlaceAndInStepsOfAnySizeAreTheSamePrompt) {
  for (const std::string& name : mode_names()) {
    Prepared prepared(*decoder_, three_modules(), mode_named(name));
    const PreparedPrompt in_place = prepared.prepare(kPrompt);
    const PreparedPrompt copied = prepared.prepare(kPrompt, {.copies = true});
    EXPECT_EQ(in_place.copied_bytes, 0);
    EXPECT_GT(copied.copied_bytes, 0);
    const Outcome one = run_prompts(*decoder_, {in_place})[0];
    EXPECT_EQ(run_prompts(*decoder_, {copied})[0], one) << name << ": the same bits";
    const Outcome stepwise = run_prompts(*decoder_, {in_place}, {.step_tokens = 1})[0];
    EXPECT_EQ(stepwise.tokens, one.tokens) << name;
    EXPECT_LE(max_difference(stepwise.logits, one.logits), kSame);
  }
}

// Copies modules that are longer than the kernels' tiles and begin inside one.
TEST_P(PromptCacheStates, CopiesOfLongModulesHaveTheSameBits) {
  const std::string schema = "<schema name=\"s\">" + module_text("a", some_ids(131, 2)) +
                             "<module name=\"b\">" + ids_text(some_ids(70, 3)) +
                             module_text("in", some_ids(9, 6)) + ids_text(some_ids(150, 4)) +
                             "</module>" + module_text("c", some_ids(3, 5)) + "</schema>";
  Prepared prepared(*decoder_, schema, Mode::kIsolated);
  const std::string text = "<prompt schema=\"s\"><a/><b/><c/>61 62 63 64</prompt>";
  const PreparedPrompt copied = prepared.prepare(text, {.copies = true});
  const kv::SegmentShape imported{.layers = decoder_->config().layers,
                                  .kv_heads = decoder_->config().kv_heads,
                                  .tokens = 131 + 70 + 150 + 3,
                                  .head_dim = decoder_->config().head_dim};
  EXPECT_EQ(copied.copied_bytes, imported.bytes());
  EXPECT_EQ(run_prompts(*decoder_, {copied}), run_prompts(*decoder_, {prepared.prepare(text)}));
}

// One buffer serves prompts of any length one after another, but not while its states are in use.
TEST_P(PromptCacheStates, CopiesShareABufferThatIsNoLongerInUse) {
  Prepared prepared(*decoder_, three_modules(), Mode::kIsolated);
  CopyBuffer buffer;
  const PrepareOptions options{.copies = true, .copy_buffer = &buffer};
  const std::string shorter = "<prompt schema=\"s\"><c/>61 62 63 64</prompt>";
  const Outcome want = run_prompts(*decoder_, {prepared.prepare(kPrompt)})[0],
                want_shorter = run_prompts(*decoder_, {prepared.prepare(shorter)})[0];
  PreparedPrompt first = prepared.prepare(kPrompt, options);
  const void* place = first.runs[0].states->view.keys;
  const PreparedPrompt beside = prepared.prepare(shorter, options);
  EXPECT_NE(beside.runs[0].states->view.keys, place) << "the first prompt's states are in use";
  EXPECT_EQ(run_prompts(*decoder_, {first, beside}), (std::vector{want, want_shorter}));

  CopyBuffer reused;
  PrepareOptions again{.copies = true, .copy_buffer = &reused};
  first = prepared.prepare(kPrompt, again);
  place = first.runs[0].states->view.keys;
  first = {};
  const PreparedPrompt after = prepared.prepare(shorter, again);
  EXPECT_EQ(after.runs[0].states->view.keys, place);
  EXPECT_EQ(run_prompts(*decoder_, {after})[0], want_shorter);
}

TEST_P(PromptCacheStates, RepairGoesFromIsolatedToTheCommonPass) {
  Prepared repaired(*decoder_, three_modules(), Mode::kRepair);
  Prepared isolated(*decoder_, three_modules(), Mode::kIsolated);
  const Outcome apart = run_prompts(*decoder_, {isolated.prepare(kPlainPrompt)})[0];
  EXPECT_EQ(run_prompts(*decoder_, {repaired.prepare(kPlainPrompt, {.repair_ratio = 0})})[0],
            apart);
  // With all tokens recomputed, imported tokens see the tokens before them.
  const PreparedPrompt all = repaired.prepare(kPlainPrompt, {.repair_ratio = 1});
  EXPECT_EQ(all.repaired_tokens, all.imported_tokens);
  const PlacedTokens whole =
      whole_prompt(repaired.schema, repaired.prompt(kPlainPrompt), Positions::kGapped);
  const Outcome computed = run_whole(*decoder_, whole);
  const std::vector<float> tail(
      computed.logits.begin() + all.imported_tokens * decoder_->config().vocab,
      computed.logits.end());
  const Outcome together = run_prompts(*decoder_, {all})[0];
  EXPECT_LE(max_difference(together.logits, tail), kSame);
  // A short window keeps the prompt's tokens from seeing much of a module's first tokens.
  if (decoder_->config().sliding_window == 0) {
    EXPECT_GT(max_difference(apart.logits, tail), 1e-3);
  }
  // Recomputes the requested share of tokens. The states in the store must not change.
  const PreparedPrompt some = repaired.prepare(kPlainPrompt, {.repair_ratio = 0.3});
  EXPECT_EQ(some.repaired_tokens,
            static_cast<int64_t>(std::ceil(0.3 * static_cast<double>(some.imported_tokens))));
  int64_t tokens = 0;
  for (const StateRun& run : some.runs) tokens += run.tokens;
  EXPECT_EQ(tokens, some.imported_tokens);
  EXPECT_EQ(run_prompts(*decoder_, {repaired.prepare(kPlainPrompt, {.repair_ratio = 0})})[0],
            apart);
  for (const double ratio : {-0.1, 1.1, std::nan("")})
    EXPECT_THROW(repaired.prepare(kPlainPrompt, {.repair_ratio = ratio}), Error);
}

// A recomputed token sees imported states of kept tokens and new states of recomputed tokens before
// it. The check computes one recomputed token per step, in turn, and replaces its states.
TEST_P(PromptCacheStates, RepairedStatesAreThoseOfOneTokenAfterAnother) {
  Prepared prepared(*decoder_, three_modules(), Mode::kRepair);
  const PreparedPrompt some = prepared.prepare(kPlainPrompt, {.repair_ratio = 0.4});
  const PreparedPrompt kept = prepared.prepare(kPlainPrompt, {.repair_ratio = 0});
  const PlacedTokens placed = placed_tokens(prepared.schema, prepared.prompt(kPlainPrompt).pieces);
  // The imported states by position; those of recomputed tokens are replaced.
  std::map<int32_t, StateRun> states;
  const auto fill = [&](const std::vector<StateRun>& runs, auto&& use) {
    for (const StateRun& run : runs)
      for (int32_t t = 0; t < run.tokens; ++t) {
        StateRun one = run;
        one.first += t;
        one.first_position += t;
        one.tokens = 1;
        use(one);
      }
  };
  fill(kept.runs, [&](const StateRun& run) { states[run.first_position] = run; });
  std::map<int32_t, StateRun> want = states;
  const auto& config = decoder_->config();
  fill(some.runs, [&](const StateRun& run) {
    if (run.states == states.at(run.first_position).states) return;
    std::vector<SeenRun> seen;
    for (const auto& [position, state] : want)
      if (position < run.first_position) seen.push_back({.run = state});
    const auto at = static_cast<size_t>(
        std::find(placed.positions.begin(), placed.positions.end(), run.first_position) -
        placed.positions.begin());
    const auto owner = std::make_shared<const kv::SegmentBuffer>(compute_states(
        *decoder_, {.tokens = {placed.tokens[at]}, .positions = {run.first_position}}, {}, seen));
    want[run.first_position] = {.states = std::make_shared<const SharedStates>(
                                    SharedStates{.view = owner->view(), .owner = owner}),
                                .tokens = 1,
                                .first_position = run.first_position};
    for (int64_t layer = 0; layer < config.layers; ++layer)
      for (int64_t head = 0; head < config.kv_heads; ++head)
        for (int64_t c = 0; c < config.head_dim; ++c) {
          const auto element = [&](const kv::CacheView& view, int64_t token) {
            return static_cast<const float*>(
                view.values)[layer * view.layer_stride + head * view.head_stride +
                             token * view.head_dim + c];
          };
          ASSERT_NEAR(element(run.states->view, run.first), element(owner->view(), 0), kSame);
        }
  });
}

// Requests of one schema in one batch read each shared module once, whatever the method shares
// besides. Each request gets what it gets alone.
TEST_P(PromptCacheStates, ABatchReadsSharedModulesOnce) {
  Prepared prepared(*decoder_, three_modules(), Mode::kIsolated);
  std::vector<PreparedPrompt> prompts;
  std::vector<Outcome> alone;
  for (const char* text :
       {"<a/><b/><c/>61 62 63", "<a/><c/>61 62 63", "<a/><b x=\"50\"/>61 62", "<c/>70 71 72 73 74"})
    prompts.push_back(prepared.prepare(fmt::format("<prompt schema=\"s\">{}</prompt>", text)));
  for (const PreparedPrompt& prompt : prompts) alone.push_back(run_prompts(*decoder_, {prompt})[0]);
  for (const std::string& method : testing::exact_methods()) {
    const auto imports = std::make_shared<ModuleImports>();
    const auto together = run_prompts(*decoder_, prompts, {.method = method}, imports);
    for (size_t i = 0; i < prompts.size(); ++i) {
      EXPECT_EQ(together[i].tokens, alone[i].tokens) << method << ", request " << i + 1;
      EXPECT_LE(max_difference(together[i].logits, alone[i].logits), kSame) << method;
    }
    // The schema's own text has 3 tokens, a and b have 11 each, and c has 9. The first three
    // requests read a once; c is read twice, because the third request stands between those that
    // import it.
    EXPECT_EQ(imports->last_use().imported_tokens, 34 + 23 + 25 + 12) << method;
    EXPECT_LT(imports->last_use().read_tokens, 34 + 23 + 25 + 12) << method;
  }
}

// Texts of equal tokens at equal positions differ if their prompts import different modules: no
// method that finds equal prefixes may take one for the other.
TEST_P(PromptCacheStates, EqualTextsThatImportDifferentModulesAreNotShared) {
  const std::string schema = "<schema name=\"s\"><union>" + module_text("a", some_ids(8, 2)) +
                             module_text("b", some_ids(8, 3)) + "</union></schema>";
  Prepared prepared(*decoder_, schema, Mode::kIsolated);
  const std::string question = ids_text(some_ids(40, 9));
  const std::vector<PreparedPrompt> prompts = {
      prepared.prepare("<prompt schema=\"s\"><a/>" + question + "</prompt>"),
      prepared.prepare("<prompt schema=\"s\"><b/>" + question + "</prompt>")};
  ASSERT_EQ(prompts[0].fresh.positions, prompts[1].fresh.positions);
  const Outcome a = run_prompts(*decoder_, {prompts[0]})[0];
  const Outcome b = run_prompts(*decoder_, {prompts[1]})[0];
  EXPECT_GT(max_difference(a.logits, b.logits), 1e-3);
  for (const char* method : {"chunk_attention", "paged_shared", "auto", "relay_attention"}) {
    RunOptions options{.method = method, .step_tokens = 5};
    if (options.method == "chunk_attention") options.method_options = {{"chunk_tokens", 16}};
    const auto both = run_prompts(*decoder_, prompts, options);
    EXPECT_LE(max_difference(both[0].logits, a.logits), kSame) << method;
    EXPECT_LE(max_difference(both[1].logits, b.logits), kSame) << method;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, PromptCacheStates,
                         ::testing::Values("llama-2-7b", "tinyllama-1.1b", "falcon-7b", "mpt-7b",
                                           "mistral-7b", "falcon-rw-1b"),
                         name_of_shape);

// ---- Where the answer starts ----

// Records the position and the length of the last row of each step.
class LastRows final : public reuse::PlanContributor {
 public:
  void append(reuse::StepBatch /*batch*/, kv::AttentionPlan& plan) override {
    positions.push_back(plan.row_positions.back());
    lengths.push_back(plan.row_lengths.back());
  }
  std::vector<int32_t> positions, lengths;
};

// The rows of a prompt whose own token, an argument, lies at position 3 of 41.
LastRows rows_before_the_last_import(const char* model, pml::Rules rules) {
  const auto decoder = testing::random_decoder(testing::scaled_down(model), Context::machine());
  const pml::TextEncoder encoder = id_encoder();
  const pml::CompiledSchema schema =
      pml::compiled("<schema name=\"s\"><module name=\"a\">" + ids_text(some_ids(3, 1)) +
                        "<param name=\"x\" len=\"3\"/>" + ids_text(some_ids(4, 2)) + "</module>" +
                        module_text("b", some_ids(31, 3)) + "</schema>",
                    encoder, {.rules = rules});
  kv::SegmentStore store({.host_bytes = int64_t{1} << 28});
  ModuleStates states(*decoder, store, schema, Mode::kJoint, {.model = "test"}, {});
  const pml::CompiledPrompt prompt = pml::compile_prompt(
      pml::prompt_of("<prompt schema=\"s\"><a x=\"51\"/><b/></prompt>"), schema, encoder);
  EXPECT_EQ(prompt.end, 41);
  const PreparedPrompt prepared = prepare(states, *decoder, prompt, {}, Context::machine());
  const auto imports = std::make_shared<ModuleImports>();
  const auto rows = std::make_shared<LastRows>();
  engine::EngineOptions options{.contributors = {imports, rows}};
  options.limits.max_sequence_tokens = 4;  // the argument and the answer
  engine::Engine engine(Context::machine(), *decoder, methods::make_cache("contiguous", {}),
                        options);
  imports->attach(1, prepared.runs);
  engine.submit(request_of(prepared, 1, /*max_new_tokens=*/3));
  engine::require_served(engine.run());
  imports->detach(1);
  return *rows;
}

TEST(PromptCacheAnswers, StartBehindImportsThatFollowThePromptsOwnTokens) {
  for (const char* model : {"tinyllama-1.1b", "mpt-7b"}) {
    const LastRows rows = rows_before_the_last_import(model, pml::Rules::kPml);
    EXPECT_EQ(rows.positions, (std::vector<int32_t>{3, 41, 42})) << model;
    EXPECT_EQ(rows.lengths, (std::vector<int32_t>{41, 42, 43})) << model;
  }
}

// The released code hands the positions of imported tokens to MPT alone.
TEST(PromptCacheAnswers, AsCodedStartBehindTheNewTokensExceptWithAlibi) {
  EXPECT_EQ(rows_before_the_last_import("tinyllama-1.1b", pml::Rules::kAsCoded).positions,
            (std::vector<int32_t>{3, 4, 5}));
  EXPECT_EQ(rows_before_the_last_import("mpt-7b", pml::Rules::kAsCoded).positions,
            (std::vector<int32_t>{3, 41, 42}));
}

// ---- The store ----

class PromptCacheStore : public ::testing::Test {
 protected:
  std::unique_ptr<model::Decoder> decoder_ =
      testing::random_decoder(testing::scaled_down("tinyllama-1.1b"), Context::machine());
};

// Another process, with one thread (those of its parent do not survive fork), computes and stores.
// This process must find all states, with the same bits as its own.
TEST(PromptCacheProcesses, StatesOfAnotherProcessAreTheSameBits) {
  const model::TempDir folder;
  const auto make = [](int threads) {
    Context context = Context::machine();
    context.threads = threads;
    return testing::random_decoder(testing::scaled_down("falcon-7b"), context);
  };
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto decoder = make(1);
    Prepared writer(*decoder, three_modules(), Mode::kScaffold, {}, {.directory = folder.path()});
    ::_exit(writer.states.encode().units == 5 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const auto decoder = make(2);
  Prepared reader(*decoder, three_modules(), Mode::kScaffold, {}, {.directory = folder.path()});
  EXPECT_EQ(reader.states.encode().passes, 0) << "all is there";
  Prepared own(*decoder, three_modules(), Mode::kScaffold);
  EXPECT_EQ(own.states.encode().passes, 5);
  EXPECT_EQ(run_prompts(*decoder, {reader.prepare(kPrompt)}),
            run_prompts(*decoder, {own.prepare(kPrompt)}));
}

TEST_F(PromptCacheStore, AnotherSchemaModeOrDtypeFindsNothing) {
  const model::TempDir folder;
  const kv::SegmentStoreOptions on_disk = {.directory = folder.path()};
  Prepared first(*decoder_, three_modules(), Mode::kIsolated, {}, on_disk);
  EXPECT_EQ(first.states.encode().passes, 4);
  EXPECT_EQ(
      Prepared(*decoder_, three_modules(), Mode::kIsolated, {}, on_disk).states.encode().passes, 0);
  EXPECT_EQ(Prepared(*decoder_, three_modules(), Mode::kJoint, {}, on_disk).states.encode().passes,
            1);
  EXPECT_EQ(
      Prepared(*decoder_, three_modules(), Mode::kIsolated, {.kv_dtype = DType::kBF16}, on_disk)
          .states.encode()
          .passes,
      4);
  std::string changed = three_modules();
  changed.replace(changed.find("<gap len=\"3\""), 12, "<gap len=\"4\"");
  EXPECT_EQ(Prepared(*decoder_, changed, Mode::kIsolated, {}, on_disk).states.encode().passes, 4)
      << "the same texts at other positions";
}

// Changes a byte in the last layer of each segment's file. Returns the number of files.
int damage_segments(const std::filesystem::path& folder) {
  const std::vector<std::filesystem::path> files = kv::files_of(folder);
  for (const std::filesystem::path& path : files) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-5, std::ios::end);
    file.put('\x7f');
  }
  return static_cast<int>(files.size());
}

// Flipped bits on disk are noticed, and the module is computed again.
TEST_F(PromptCacheStore, DamagedStatesAreComputedAnew) {
  const model::TempDir folder;
  const kv::SegmentStoreOptions on_disk = {.directory = folder.path()};
  Outcome want;
  {
    Prepared first(*decoder_, three_modules(), Mode::kIsolated, {}, on_disk);
    want = run_prompts(*decoder_, {first.prepare(kPrompt)})[0];
  }
  EXPECT_EQ(damage_segments(folder.path()), 4);
  Prepared again(*decoder_, three_modules(), Mode::kIsolated, {}, on_disk);
  EncodeReport computed;
  const auto runs = again.states.import(again.prompt(kPrompt), &computed);
  EXPECT_EQ(computed.passes, 4);
  EXPECT_EQ(run_prompts(*decoder_, {again.prepare(kPrompt)})[0], want);
}

TEST_F(PromptCacheStore, DamagedStatesAreNeitherCopiedNorRepaired) {
  struct Case {
    Mode mode;
    PrepareOptions options;
  };
  for (const Case& one :
       {Case{Mode::kIsolated, {.copies = true}}, Case{Mode::kRepair, {.repair_ratio = 1}}}) {
    const model::TempDir folder;
    const kv::SegmentStoreOptions on_disk = {.directory = folder.path(),
                                             .verify = kv::Verify::kHeader};
    Outcome want;
    {
      Prepared first(*decoder_, three_modules(), one.mode, {}, on_disk);
      want = run_prompts(*decoder_, {first.prepare(kPrompt, one.options)})[0];
    }
    EXPECT_EQ(damage_segments(folder.path()), 4);
    Prepared again(*decoder_, three_modules(), one.mode, {}, on_disk);
    EXPECT_THROW((void)again.prepare(kPrompt, one.options), Error) << name_of(one.mode);
    EXPECT_EQ(again.states.drop_damaged(), 4);
    EXPECT_EQ(run_prompts(*decoder_, {again.prepare(kPrompt, one.options)})[0], want);
  }
}

// The files of damaged states can be neither removed nor replaced, because folders with their names
// are in the way.
TEST_F(PromptCacheStore, DamagedStatesThatCannotBeRemovedAreIgnored) {
  const model::TempDir folder;
  const kv::SegmentStoreOptions on_disk = {.directory = folder.path(),
                                           .verify = kv::Verify::kHeader};
  Outcome want;
  {
    Prepared first(*decoder_, three_modules(), Mode::kIsolated, {}, on_disk);
    want = run_prompts(*decoder_, {first.prepare(kPrompt)})[0];
  }
  EXPECT_EQ(damage_segments(folder.path()), 4);
  Prepared again(*decoder_, three_modules(), Mode::kIsolated, {.keeps_unwritten = true}, on_disk);
  const auto mapped = again.states.import(again.prompt(kPrompt));
  for (const std::filesystem::path& file : kv::files_of(folder.path())) {
    std::filesystem::remove(file);
    std::filesystem::create_directories(file / "in the way");
  }
  EXPECT_EQ(again.states.drop_damaged(), 4);
  EXPECT_EQ(again.states.drop_damaged(), 0) << "they are ignored already";
  const PreparedPrompt prepared = again.prepare(kPrompt);
  EXPECT_NE(prepared.unwritten.find(folder.path().string()), std::string::npos)
      << prepared.unwritten;
  EXPECT_EQ(run_prompts(*decoder_, {prepared})[0], want);
}

TEST_F(PromptCacheStore, WhatABudgetHasNoRoomForIsComputedOnTheWay) {
  // There is room for one module only. States in use stay, so those of a whole prompt do not fit.
  const int64_t module_bytes = kv::SegmentShape{.layers = decoder_->config().layers,
                                                .kv_heads = decoder_->config().kv_heads,
                                                .tokens = 11,
                                                .head_dim = decoder_->config().head_dim}
                                   .bytes();
  Prepared tight(*decoder_, three_modules(), Mode::kIsolated, {}, {.host_bytes = module_bytes + 1});
  EncodeReport computed;
  EXPECT_THROW(tight.states.import(tight.prompt(kPrompt), &computed), Error);
  const auto only_a = tight.prompt("<prompt schema=\"s\"><a/>5</prompt>");
  Prepared roomy(*decoder_, three_modules(), Mode::kIsolated, {}, {.host_bytes = 2 * module_bytes});
  roomy.states.encode();
  EXPECT_LT(roomy.store.stats().host_segments, 4) << "others had to go";
  const auto runs = roomy.states.import(only_a, &computed);
  EXPECT_EQ(runs.size(), 2u);
  EXPECT_GT(computed.passes, 0);
}

TEST_F(PromptCacheStore, WholePromptsKeepTheirGapsOrCloseThem) {
  const Prepared prepared(*decoder_, three_modules(), Mode::kIsolated);
  const auto prompt = prepared.prompt("<prompt schema=\"s\"><a/><c/>61 62</prompt>");
  const PlacedTokens gapped = whole_prompt(prepared.schema, prompt, Positions::kGapped);
  const PlacedTokens compact = whole_prompt(prepared.schema, prompt, Positions::kCompact);
  EXPECT_EQ(gapped.tokens, compact.tokens);
  EXPECT_EQ(compact.positions, testing::counted(3 + 11 + 9 + 2));
  EXPECT_EQ(gapped.positions[14], 3 + 11 + 15 + 3);
  EXPECT_TRUE(std::is_sorted(gapped.positions.begin(), gapped.positions.end()));
}

}  // namespace
}  // namespace reprise::prompt_cache
