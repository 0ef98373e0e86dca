// How families of models write a conversation as one text: one table, a row for each family.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tokenizer/tokenizer.h"

namespace reprise::tokenizer {

enum class Special : uint8_t {
  kNone,
  kBos,
  kEos,
  kOpening  // what the tokenizer puts before a text by itself, if anything
};

// A text, or a special token where `special` says so.
struct MarkerPart {
  std::string text;
  Special special = Special::kNone;
};
using Marker = std::vector<MarkerPart>;

// What stands around a message of one role.
struct ChatTurn {
  Marker open, close;
};

enum class SystemPlace : uint8_t {
  kAnyTurn,      // a turn like any other
  kFirst,        // the first message alone
  kInFirstUser,  // the first message alone, written inside the user's turn that follows
  kRefused
};

struct ChatTemplate {
  std::string name;
  Marker begin;  // of every conversation
  ChatTurn system, user, assistant;
  Marker answer;  // opens the turn that is to be generated
  SystemPlace system_place = SystemPlace::kAnyTurn;
  bool alternates = false;          // user, assistant, user, ...; the user begins
  bool strips = false;              // white space at both ends of each message
  bool joins_paragraphs = false;    // of users and assistants: \n\n becomes \n
  std::string default_system = {};  // of a conversation that begins without one; "": none
};

struct ChatMessage {
  std::string role;  // "system", "user" or "assistant"
  std::string content;
};

[[nodiscard]] std::vector<std::string> chat_template_names();
// Throws Error for an unknown name, with the nearest.
const ChatTemplate& chat_template(std::string_view name);

// The family whose published template this text of Jinja is, or what a template says that differs
// in its default system prompt alone; none where it is another, such as one that writes dates or
// tools.
std::optional<ChatTemplate> recognized_chat_template(std::string_view jinja);

// The whole conversation and the opening of the answer. Throws Error for a role that is none of the
// three, and for an order that the family's own template refuses.
Marker write_chat(const ChatTemplate& chosen, std::span<const ChatMessage> messages);

// As one text, with the special tokens written as the vocabulary does. Throws Error where one is
// needed and the tokenizer has none.
std::string chat_text(const Marker& conversation, const Tokenizer& tokenizer);
// Its tokens. Special tokens that a message writes out are found where the tokenizer finds them in
// any text (tokenizer.json), as elsewhere in this field. Throws Error as chat_text().
std::vector<int32_t> encode_chat(const Marker& conversation, const Tokenizer& tokenizer);

}  // namespace reprise::tokenizer
