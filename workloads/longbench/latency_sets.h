// Estimated lengths of the prompts in Prompt Cache's latency runs. LongBench's texts are not part
// of this repository. [Prompt Cache §5.2, figures 3 and 4]
//
// Sources of question_tokens, the question as the authors cut it after 1,000 characters:
//   0                     the set has no question (gov_report, multi_news, passage_count)
//   hotpotqa, musique,    means over 100, 100 and 281 questions of the sets that LongBench draws
//   qmsum                 from, counted in Llama 2's vocabulary
//   triviaqa              a passage of over 1,000 characters, at 3.75 characters per token as in
//                         the documents of hotpotqa, musique and qmsum
//   samsum,               a dialogue and an abstract, mostly below 1,000 characters. Their tokens
//   passage_retrieval_en  are interpolated between qasper's and triviaqa's by the authors' times.
//                         The times on two processors give 185 and 203 tokens for samsum, and 143
//                         and 163 for passage_retrieval_en; the table has about the means
//   the others            questions of one sentence: 20, about as many as in hotpotqa, musique and
//                         qmsum
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace reprise::workloads::longbench {

// One of the 13 sets that the authors timed. The context is a single module; the question in its
// template and the answer's cue are computed for every prompt.
struct LatencySet {
  std::string_view name;  // a name in datasets.h
  // Mean number of words in a context, as published (LongBench's task.md; table 1 of Bai et al.,
  // 2023).
  int64_t context_words = 0;
  // Tokens of the authors' template around and after the question (config/dataset_prompt.json of
  // their repository), with Llama's "[/INST]", counted in Llama 2's vocabulary.
  int64_t template_tokens = 0;
  // Tokens of the question itself; the top of this file says where they come from.
  int64_t question_tokens = 0;

  // Tokens that are computed for every prompt.
  [[nodiscard]] int64_t fresh_tokens() const { return template_tokens + question_tokens; }
};

// The sets in alphabetical order.
[[nodiscard]] std::span<const LatencySet> latency_sets();

// Throws Error for an unknown name, with the nearest one.
[[nodiscard]] const LatencySet& find_latency_set(std::string_view name);

// Tokens per English word in Llama 2's vocabulary. Measured: 1.41 in QMSum's transcripts, 1.59 in
// MuSiQue's paragraphs, 1.66 in HotpotQA's. The constant is about the lowest of the three.
inline constexpr double kTokensPerWord = 1.4;

// Returns the tokens of a set's context as the authors' program cuts it to `most_tokens` (3,500 for
// Llama): a longer context loses its middle, and a shorter one is repeated up to twice (see
// middle_cut_as_coded()). For most_tokens 3,500 the result is 3,500 for every set. most_tokens >=
// 2.
[[nodiscard]] int64_t context_tokens(const LatencySet& set, int64_t most_tokens);

}  // namespace reprise::workloads::longbench
