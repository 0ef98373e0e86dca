// The merge loop of byte-pair encoding, and the reader of its options in tokenizer.json.
#include "core/tokenizer/bpe.h"

#include <algorithm>

#include "core/tokenizer/utf8.h"

namespace reprise::tokenizer {
namespace {

using Symbol = ModelWorkspace::Symbol;
using Merge = ModelWorkspace::Merge;

bool comes_later(const Merge& a, const Merge& b) { return a.order > b.order; }

// Reads "a b" (older files) or ["a", "b"] (newer files, in which tokens may contain spaces).
// Returns false for anything else.
bool read_pair(const Value& merge, std::string& left, std::string& right) {
  if (merge.is_list()) {
    if (merge.size() != 2 || !merge.list()[0].is_text() || !merge.list()[1].is_text()) return false;
    left = merge.list()[0].text();
    right = merge.list()[1].text();
    return true;
  }
  if (!merge.is_text()) return false;
  const auto& text = merge.text();
  const size_t space = text.find(' ');
  if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) return false;
  left.assign(text, 0, space);
  right.assign(text, space + 1);
  return true;
}

size_t count_merges(const JsonPlace& place) { return place.child("merges").list_size(); }

}  // namespace

Bpe::Bpe(const JsonPlace& place) : vocabulary_(place.child("vocab")), pairs_(count_merges(place)) {
  read_options(place);
  read_merges(place.child("merges"));
  for (size_t byte = 0; byte < 256; ++byte)
    byte_ids_[byte] = vocabulary_.find(fmt::format("<0x{:02X}>", byte)).value_or(-1);
  for (size_t code = 0; code < short_ids_.size(); ++code) {
    std::string text;
    append_utf8(text, static_cast<char32_t>(code));
    short_ids_[code] = vocabulary_.find(text).value_or(-1);
  }
}

void Bpe::read_options(const JsonPlace& place) {
  JsonObject object = place.object();
  object.allow({"type", "vocab", "merges"});
  if (object.number("dropout", 0) != 0)
    place.child("dropout").fail("must be null or 0: random merges are for training");
  prefix_ = object.string("continuing_subword_prefix", "");
  suffix_ = object.string("end_of_word_suffix", "");
  fuse_unknown_ = object.boolean("fuse_unk", false);
  byte_fallback_ = object.boolean("byte_fallback", false);
  ignore_merges_ = object.boolean("ignore_merges", false);
  if (object.has("unk_token")) {
    unknown_id_ = vocabulary_.find(object.string("unk_token"));
    if (!unknown_id_) place.child("unk_token").fail("must be a token of the vocabulary");
  }
  object.reject_unknown();
}

void Bpe::read_merges(const JsonPlace& place) {
  int32_t rank = 0;
  std::string left;
  std::string right;
  for (size_t i = 0; i < place.list_size(); ++i) {
    const Value& merge = place.value.list()[i];
    if (merge.is_text() && merge.text().starts_with("#version")) continue;
    if (!read_pair(merge, left, right)) place.item(i).fail("must be \"a b\" or [\"a\", \"b\"]");
    if (right.size() < prefix_.size())
      place.item(i).fail("has a second token shorter than continuing_subword_prefix");
    const auto id_of = [&](const std::string& token) {
      const auto id = vocabulary_.find(token);
      if (!id)
        raise("{}: token \"{}\" is not in the vocabulary", place.item(i).where(),
              token.substr(0, 100));
      return *id;
    };
    const int32_t left_id = id_of(left);
    const int32_t right_id = id_of(right);
    left.append(right, prefix_.size());
    pairs_.insert(left_id, right_id, {rank++, id_of(left)});
  }
}

// Returns the id of one character with the prefix or suffix that its place in the piece requires.
// If there is a prefix or suffix, the text with it is left in `scratch`; otherwise `scratch` is
// empty.
std::optional<int32_t> Bpe::find_symbol(std::string_view character, bool is_first, bool is_last,
                                        std::string& scratch) const {
  const bool has_prefix = !is_first && !prefix_.empty();
  const bool has_suffix = is_last && !suffix_.empty();
  scratch.clear();
  if (!has_prefix && !has_suffix) {
    if (character.size() > 2) return vocabulary_.find(character);
    const int32_t id = short_ids_[utf8_at(character, 0).code];
    return id < 0 ? std::nullopt : std::optional<int32_t>(id);
  }
  if (has_prefix) scratch += prefix_;
  scratch += character;
  if (has_suffix) scratch += suffix_;
  return vocabulary_.find(scratch);
}

bool Bpe::add_bytes(std::string_view symbol, ModelWorkspace& workspace) const {
  const auto id_of = [&](char c) { return byte_ids_[static_cast<unsigned char>(c)]; };
  if (std::any_of(symbol.begin(), symbol.end(), [&](char c) { return id_of(c) < 0; })) return false;
  for (const char c : symbol) workspace.symbols.push_back({id_of(c), 0, 0});
  return true;
}

void Bpe::start_symbols(std::string_view piece, ModelWorkspace& workspace) const {
  auto& symbols = workspace.symbols;
  symbols.clear();
  bool is_unknown_pending =
      // The unknown token for a run of unknown characters is added at the end of the run, after any
      // bytes.
      false;
  for (size_t at = 0; at < piece.size();) {
    const size_t bytes = utf8_at(piece, at).bytes;
    const std::string_view character = piece.substr(at, bytes);
    const auto id = find_symbol(character, at == 0, at + bytes == piece.size(), workspace.text);
    at += bytes;
    if (id) {
      if (is_unknown_pending) symbols.push_back({*unknown_id_, 0, 0});
      is_unknown_pending = false;
      symbols.push_back({*id, 0, 0});
      continue;
    }
    const std::string_view symbol = workspace.text.empty() ? character : workspace.text;
    if (byte_fallback_ && add_bytes(symbol, workspace)) continue;
    if (!unknown_id_) continue;
    if (is_unknown_pending && !fuse_unknown_) symbols.push_back({*unknown_id_, 0, 0});
    is_unknown_pending = true;
  }
  if (is_unknown_pending) symbols.push_back({*unknown_id_, 0, 0});
  for (size_t i = 0; i < symbols.size(); ++i) {
    symbols[i].previous = static_cast<int32_t>(i) - 1;
    symbols[i].next = i + 1 < symbols.size() ? static_cast<int32_t>(i) + 1 : -1;
  }
}

// If the pair that starts at `left` can be merged, puts it on the heap.
void Bpe::offer(ModelWorkspace& workspace, int32_t left) const {
  const Symbol& symbol = workspace.symbols[static_cast<size_t>(left)];
  if (symbol.next < 0) return;
  const auto merge = pairs_.find(symbol.id, workspace.symbols[static_cast<size_t>(symbol.next)].id);
  if (merge.rank < 0) return;
  workspace.merges.push_back(
      {static_cast<uint64_t>(merge.rank) << 32 | static_cast<uint32_t>(left), merge.id});
}

void Bpe::merge_all(ModelWorkspace& workspace) const {
  auto& symbols = workspace.symbols;
  auto& heap = workspace.merges;
  heap.clear();
  for (size_t i = 0; i < symbols.size(); ++i) offer(workspace, static_cast<int32_t>(i));
  std::make_heap(heap.begin(), heap.end(), comes_later);
  const auto push = [&](int32_t left) {
    const size_t before = heap.size();
    offer(workspace, left);
    if (heap.size() > before) std::push_heap(heap.begin(), heap.end(), comes_later);
  };
  while (!heap.empty()) {
    const Merge top = heap.front();
    std::pop_heap(heap.begin(), heap.end(), comes_later);
    heap.pop_back();
    const auto at = static_cast<int32_t>(top.order & 0xffffffffu);
    Symbol& left = symbols[static_cast<size_t>(at)];
    if (left.id < 0 || left.next < 0) continue;
    Symbol& right = symbols[static_cast<size_t>(left.next)];
    // An entry of the heap is out of date if one of its two symbols has been merged since.
    const auto merge = pairs_.find(left.id, right.id);
    if (merge.rank < 0 || merge.id != top.id) continue;
    left.id = top.id;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) symbols[static_cast<size_t>(left.next)].previous = at;
    if (left.previous >= 0) push(left.previous);
    push(at);
  }
}

void Bpe::tokenize(std::string_view piece, ModelWorkspace& workspace,
                   std::vector<int32_t>& ids) const {
  if (ignore_merges_) {
    if (const auto id = vocabulary_.find(piece)) {
      ids.push_back(*id);
      return;
    }
  }
  if (piece.size() > static_cast<size_t>(INT32_MAX))
    raise("a text of {} bytes without a place to cut is too long to tokenize", piece.size());
  start_symbols(piece, workspace);
  merge_all(workspace);
  for (const Symbol& symbol : workspace.symbols)
    if (symbol.id >= 0) ids.push_back(symbol.id);
}

}  // namespace reprise::tokenizer
