#include "workloads/serving/entry_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "core/base/random.h"
#include "workloads/serving/draws.h"
#include "workloads/serving/shared_prefixes.h"

namespace reprise::workloads::serving {

namespace {

// Item numbers of salts begin here, so that no made-up text of a prompt has the same number.
constexpr int64_t kFirstSalt = std::numeric_limits<int64_t>::min();

uint64_t stream_seed(const SourceOptions& options) {
  constexpr uint64_t kSalted = 0x5a17;  // separates this stream from those of the draws
  if (!options.salt.changes_prompts()) return options.prompts_seed;
  return random_bits(options.prompts_seed, kSalted, options.salt.nonce);
}

bool begins_with_text(const std::vector<PromptPart>& parts) {
  const auto first = std::find_if(parts.begin(), parts.end(),
                                  [](const PromptPart& part) { return part.tokens > 0; });
  return first != parts.end() && first->text != nullptr;
}

}  // namespace

EntrySource::EntrySource(std::string name, std::unique_ptr<Entries> entries,
                         const SourceOptions& options)
    : name_(std::move(name)),
      entries_(std::move(entries)),
      options_(options),
      stream_{.seed = stream_seed(options), .vocab = options.vocab},
      salt_tokens_(count_salt_tokens()),
      dropped_(entries_->left_out()) {
  REPRISE_CHECK(entries_->size() <= kMostRequests, "{} entries", entries_->size());
  chosen_.resize(static_cast<size_t>(entries_->size()));
  std::iota(chosen_.begin(), chosen_.end(), 0u);
  for (const Entries::Prefix& prefix : entries_->prefixes())
    prefix_tokens_.push_back(count_tokens(prefix.parts) + salt_tokens_);
  keep_window();
  keep_fitting();
  choose();
  if (chosen_.empty()) raise_empty();
  find_shared();
}

int64_t EntrySource::count_salt_tokens() const {
  const int64_t with_text = options_.salt.tokens(/*has_text=*/true);
  const int64_t without_text = options_.salt.tokens(/*has_text=*/false);
  if (with_text == without_text) return with_text;
  std::vector<PromptPart> parts;
  for (int64_t entry = 0; entry < entries_->size(); ++entry) {
    parts.clear();
    entries_->add_parts(entry, parts);
    if (begins_with_text(parts)) return with_text;
  }
  return without_text;
}

PromptPart EntrySource::salt(int64_t entry) const {
  const int64_t number = shares_prefixes()                            ? 0
                         : options_.salt.scope == SaltScope::kSession ? entries_->session(entry)
                                                                      : entry;
  return {.item = kFirstSalt + number, .tokens = salt_tokens_};
}

// Keeps the entries of the time window, sorted by time. Entries with equal times keep the file's
// order.
void EntrySource::keep_window() {
  const std::span<const double> times = entries_->times_s();
  if (times.empty()) return;
  const double end_s = options_.window_start_s + options_.window_s;
  std::erase_if(chosen_, [&](uint32_t entry) {
    return times[entry] < options_.window_start_s ||
           (options_.window_s > 0 && times[entry] >= end_s);
  });
  std::stable_sort(chosen_.begin(), chosen_.end(),
                   [&](uint32_t a, uint32_t b) { return times[a] < times[b]; });
}

void EntrySource::keep_fitting() {
  if (options_.too_long == "cut") return;
  const size_t dropped = std::erase_if(chosen_, [this](uint32_t entry) {
    const Lengths whole = whole_lengths(entry);
    return is_too_long(options_, whole.prompt, whole.output);
  });
  dropped_.too_long += static_cast<int64_t>(dropped);
}

void EntrySource::choose() {
  const int64_t wanted = options_.requests == 0 ? size() : std::min(size(), options_.requests);
  if (!entries_->order_is_free()) {
    chosen_.resize(static_cast<size_t>(wanted));
  } else {
    const auto pick = [this](std::vector<uint32_t> places) {
      for (uint32_t& place : places) place = chosen_[place];
      chosen_ = std::move(places);
    };
    pick(permuted(size(), wanted, options_.prompts_seed, Draw::kSample));
    // The sample's set is now fixed; the option "order" only decides its order.
    std::sort(chosen_.begin(), chosen_.end());
    if (options_.order == "shuffled")
      pick(permuted(wanted, wanted, options_.order_seed, Draw::kOrder));
  }
  for (const uint32_t entry : chosen_) {
    const Lengths whole = whole_lengths(entry);
    dropped_.cut += is_too_long(options_, whole.prompt, whole.output) ? 1 : 0;
  }
}

void EntrySource::find_shared() {
  shared_ = leading_tokens_of_earlier(
      size(), [this](int64_t index, std::vector<PromptPart>& parts) { add_parts(index, parts); },
      stream_);
  for (int64_t index = 0; index < size(); ++index)
    if (const int32_t prefix = prefix_of(index); prefix >= 0) {
      int32_t& shared = shared_[static_cast<size_t>(index)];
      shared = std::max(shared, static_cast<int32_t>(prefix_tokens_[static_cast<size_t>(prefix)]));
    }
}

RequestSource::Lengths EntrySource::whole_lengths(int64_t entry) const {
  Lengths whole = entries_->lengths(entry);
  whole.prompt += salt_tokens_;
  return whole;
}

RequestSource::Lengths EntrySource::cut(Lengths whole) const {
  const auto least = [](int64_t tokens, int64_t most) {
    return most == 0 ? tokens : std::min(tokens, most);
  };
  return {.prompt = least(whole.prompt, options_.most_prompt_tokens),
          .output = least(whole.output, options_.most_output_tokens)};
}

int64_t EntrySource::entry(int64_t index) const {
  REPRISE_CHECK(0 <= index && index < size(), "request {} of {}", index, size());
  return chosen_[static_cast<size_t>(index)];
}

int32_t EntrySource::prefix_of(int64_t index) const {
  const int32_t prefix = shares_prefixes() ? entries_->prefix(entry(index)) : -1;
  if (prefix < 0) return -1;
  return prefix_tokens_[static_cast<size_t>(prefix)] <= lengths(index).prompt ? prefix : -1;
}

void EntrySource::add_parts(int64_t index, std::vector<PromptPart>& out) const {
  if (salt_tokens_ > 0) out.push_back(salt(entry(index)));
  entries_->add_parts(entry(index), out);
  if (options_.most_prompt_tokens > 0) cut_to(out, options_.most_prompt_tokens);
}

RequestSource::Lengths EntrySource::lengths(int64_t index) const {
  return cut(whole_lengths(entry(index)));
}

ServingRequest EntrySource::request(int64_t index) const {
  const Lengths wanted = lengths(index);
  std::vector<PromptPart> parts;
  add_parts(index, parts);
  ServingRequest request{
      .prompt = tokens_of(parts, stream_),
      .output_tokens = wanted.output,
      .prefix = prefix_of(index),
      .shared_tokens = shared_[static_cast<size_t>(index)],
      .module_tokens = salt_tokens_ > 0 ? 0 : entries_->module_tokens(entry(index)),
      .answers = answers_of(index, wanted.prompt)};
  const bool has_own_salt = options_.salt.scope == SaltScope::kRequest;
  if (!request.answers.empty() && !has_own_salt)
    request.session_tokens = request.answers.back().first + request.answers.back().tokens;
  REPRISE_CHECK(std::ssize(request.prompt) == wanted.prompt && wanted.prompt >= 1 &&
                    wanted.output >= 1 && request.shared_tokens <= wanted.prompt,
                "request {} of source {}: {} tokens, wanted {}, shared {}; output {}", index, name_,
                request.prompt.size(), wanted.prompt, request.shared_tokens, wanted.output);
  return request;
}

std::vector<DeclaredPrefix> EntrySource::prefixes() const {
  std::vector<DeclaredPrefix> declared;
  if (!shares_prefixes()) return declared;
  for (Entries::Prefix& prefix : entries_->prefixes()) {
    if (salt_tokens_ > 0) prefix.parts.insert(prefix.parts.begin(), salt(0));
    declared.push_back(
        {.name = std::move(prefix.name), .tokens = tokens_of(prefix.parts, stream_)});
  }
  return declared;
}

std::vector<std::vector<int32_t>> EntrySource::modules() const {
  std::vector<std::vector<int32_t>> all;
  if (salt_tokens_ > 0) return all;  // prompts begin with a salt, not with a module
  for (const std::vector<PromptPart>& parts : entries_->modules())
    all.push_back(tokens_of(parts, stream_));
  return all;
}

int64_t EntrySource::index_of(int64_t entry) const {
  const auto found = std::lower_bound(chosen_.begin(), chosen_.end(), static_cast<uint32_t>(entry));
  if (found == chosen_.end() || *found != static_cast<uint32_t>(entry)) return -1;
  return found - chosen_.begin();
}

std::vector<EarlierAnswer> EntrySource::answers_of(int64_t index, int64_t prompt_tokens) const {
  std::vector<EarlierAnswer> answers;
  for (EarlierAnswer answer : entries_->earlier_answers(entry(index))) {
    answer.request = index_of(answer.request);
    answer.first += salt_tokens_;
    if (answer.request >= 0 && answer.first + answer.tokens <= prompt_tokens)
      answers.push_back(answer);
  }
  return answers;
}

std::vector<std::vector<int64_t>> EntrySource::waits_for() const {
  std::vector<std::vector<int64_t>> waits;
  if (!entries_->has_conversations()) return waits;
  // [entries]  the entry's request, or, if the entry was not chosen, the requests it waits for.
  std::vector<std::vector<int64_t>> stand_in(static_cast<size_t>(entries_->size()));
  for (int64_t entry = 0; entry < entries_->size(); ++entry) {
    std::vector<int64_t> before;
    for (const int64_t earlier : entries_->waits_for(entry)) {
      REPRISE_CHECK(earlier < entry, "entry {} waits for {}", entry, earlier);
      const std::vector<int64_t>& found = stand_in[static_cast<size_t>(earlier)];
      before.insert(before.end(), found.begin(), found.end());
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    const int64_t index = index_of(entry);
    if (index >= 0) waits.push_back(before);
    stand_in[static_cast<size_t>(entry)] =
        index >= 0 ? std::vector<int64_t>{index} : std::move(before);
  }
  return waits;
}

std::vector<double> EntrySource::pauses_s() const {
  const std::span<const double> recorded = entries_->pauses_s();
  std::vector<double> pauses;
  if (recorded.empty()) return pauses;
  for (const uint32_t entry : chosen_) pauses.push_back(recorded[entry]);
  return pauses;
}

std::vector<double> EntrySource::arrivals_s() const {
  const std::span<const double> times = entries_->times_s();
  std::vector<double> arrivals;
  if (times.empty()) return arrivals;
  for (const uint32_t entry : chosen_) arrivals.push_back(times[entry] - options_.window_start_s);
  return arrivals;
}

void EntrySource::raise_empty() const {
  const Dropped left_out = entries_->left_out();
  const std::string where = options_.file.empty()
                                ? fmt::format("source \"{}\"", name_)
                                : fmt::format("source \"{}\", {}", name_, options_.file.string());
  const int64_t all = entries_->size() + left_out.by_rule + left_out.too_long;
  if (all == 0)
    raise("{}: no request is left of 0: there is none{}", where,
          options_.window_s > 0 ? " within window_s" : "");
  std::vector<std::string> reasons;
  if (dropped_.by_rule > 0)
    reasons.push_back(fmt::format("{} are dropped by the source's rule", dropped_.by_rule));
  if (dropped_.too_long > 0)
    reasons.push_back(fmt::format("{} are too long (widen the caps, or set too_long to \"cut\")",
                                  dropped_.too_long));
  const std::span<const double> times = entries_->times_s();
  const auto latest = std::max_element(times.begin(), times.end());
  const bool begins_late = latest != times.end() && *latest < options_.window_start_s;
  if (const int64_t outside = all - dropped_.by_rule - dropped_.too_long; outside > 0)
    reasons.push_back(fmt::format(
        "{} are outside the window ({})", outside,
        begins_late ? fmt::format("window_start_s is {:g}, and the last request is at {:g} s",
                                  options_.window_start_s, *latest)
                    : "widen window_s"));
  raise("{}: no request is left of {}: {}", where, all, fmt::join(reasons, ", "));
}

}  // namespace reprise::workloads::serving
