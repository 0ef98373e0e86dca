// How long the prompts of Prompt Cache's latency runs are, set by set, as numbers: LongBench's
// texts are not part of this repository. They are estimates; where each comes from is said below.
// [Prompt Cache §5.2, figures 3 and 4]
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace reprise::workloads::longbench {

// Prompts of one of the 13 sets that the authors timed. Each has a single module, the context, and
// behind it what is computed for every prompt: the question in its template, and the answer's cue.
struct LatencySet {
  std::string_view name;  // as in datasets.h
  // Words of a context on average, as LongBench publishes it (task.md of its repository; table 1 of
  // Bai et al., 2023).
  int64_t context_words = 0;
  // Tokens of what the authors' template puts around the question and behind it
  // (config/dataset_prompt.json of their repository), with Llama's "[/INST]", in Llama 2's
  // vocabulary. Counted.
  int64_t template_tokens = 0;
  // Tokens of the question itself, which the authors cut after 1,000 characters:
  //   0                     the set asks nothing (gov_report, multi_news, passage_count)
  //   hotpotqa, musique,    means over 100, 100 and 281 questions of the sets that LongBench draws
  //   qmsum                 from, counted in Llama 2's vocabulary
  //   triviaqa              a passage of more than 1,000 characters, at 3.75 characters a token as
  //                         in the documents of those three sets
  //   samsum,               a dialogue and an abstract, most of them shorter than 1,000 characters:
  //   passage_retrieval_en  where the authors' times on two processors place them between qasper
  //                         and triviaqa (samsum 185 and 203, passage_retrieval_en 143 and 163)
  //   the others            questions of one sentence: 20, as those three sets have
  int64_t question_tokens = 0;

  // What every prompt brings.
  [[nodiscard]] int64_t fresh_tokens() const { return template_tokens + question_tokens; }
};

// In alphabetical order.
[[nodiscard]] std::span<const LatencySet> latency_sets();

// Throws Error with the nearest name.
[[nodiscard]] const LatencySet& find_latency_set(std::string_view name);

// Tokens of an English word in Llama 2's vocabulary: 1.41 in QMSum's transcripts, 1.59 and 1.66 in
// the paragraphs of MuSiQue and HotpotQA; the least of them.
inline constexpr double kTokensPerWord = 1.4;

// Tokens of a set's context as the authors' program cuts it to `most_tokens` (3,500 for Llama):
// what is longer loses its middle, and what is shorter is repeated up to twice (see
// middle_cut_as_coded()). With 3,500 every set has as many. most_tokens >= 2.
[[nodiscard]] int64_t context_tokens(const LatencySet& set, int64_t most_tokens);

}  // namespace reprise::workloads::longbench
