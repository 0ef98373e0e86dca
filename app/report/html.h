// An HTML page, written element by element: whatever text stands in it is escaped, and what was
// opened is closed, so that no name in a results folder can become markup.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprise::app {

// `text` as it may stand between tags and in quoted attributes: & < > " ' as character references;
// control characters and bytes that are not UTF-8 written out (see visible()), and so are the
// characters that turn the direction of a line and those that XML does not allow (\u202e).
[[nodiscard]] std::string html_text(std::string_view text);

class Html {
 public:
  using Attribute = std::pair<std::string_view, std::string_view>;

  // Names of tags and attributes are the program's own; values are escaped.
  Html& open(std::string_view tag, std::span<const Attribute> attributes = {});
  Html& open(std::string_view tag, std::initializer_list<Attribute> attributes);
  Html& close();  // the innermost
  Html& text(std::string_view text);
  // open(), text(), close().
  Html& element(std::string_view tag, std::string_view text,
                std::initializer_list<Attribute> attributes = {});
  // An element that has no end: <meta .../>.
  Html& empty(std::string_view tag, std::initializer_list<Attribute> attributes);
  // The program's own markup, as it is.
  Html& trusted(std::string_view markup);

  // All of it; everything is closed (CHECK).
  [[nodiscard]] const std::string& finished() const;
  [[nodiscard]] size_t size() const { return markup_.size(); }

 private:
  void begin(std::string_view tag, std::span<const Attribute> attributes);

  std::string markup_;
  std::vector<std::string> open_;
};

}  // namespace reprise::app
