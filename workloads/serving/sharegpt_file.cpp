#include "workloads/serving/sharegpt_file.h"

#include "core/base/error.h"

namespace reprise::workloads::serving {

std::vector<Message> ShareGptFile::messages(int64_t conversation) const {
  const Value json = file_.entry(conversation);
  JsonObject object(json, file_.where(conversation));
  const Values& list = object.list("conversations");
  std::vector<Message> messages;
  for (size_t i = 0; i < list.size(); ++i) {
    JsonObject message(list[i], file_.where(conversation), fmt::format("conversations[{}]", i));
    messages.push_back({.from = message.string("from"), .text = message.string("value")});
  }
  return messages;
}

}  // namespace reprise::workloads::serving
