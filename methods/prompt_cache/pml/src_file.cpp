#include "methods/prompt_cache/pml/src_file.h"

#include <algorithm>
#include <system_error>

#include "core/base/byte_order_mark.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/tokenizer/replace_all.h"
#include "core/tokenizer/utf8.h"

namespace reprise::pml {
namespace {

namespace fs = std::filesystem;

bool is_below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

// Returns the text with its line ends as line feeds, as XML reads those of the schema.
std::string with_line_feeds(std::string text) {
  tokenizer::replace_all(text, "\r\n", "\n");
  tokenizer::replace_all(text, "\r", "\n");
  return text;
}

}  // namespace

std::string read_src(const Source& source, const std::string& name, size_t& budget_bytes) {
  if (source.folder().empty())
    raise("src=\"{}\" names a file, and this schema is in none; put the text into the module",
          name);
  if (fs::path(name).is_absolute())
    raise("src=\"{}\" is absolute; name a file relative to the schema's folder", name);
  std::error_code error;
  const fs::path folder = fs::canonical(source.folder(), error);
  if (error) raise("the schema's folder {} cannot be read", source.folder().string());
  // A name that leads outside of the folder gets the same error whether or not the file exists, so
  // that nothing about files outside can be learnt.
  const fs::path named = (folder / name).lexically_normal();
  const fs::path path = fs::canonical(named, error);
  if (!is_below(named, folder) || (!error && !is_below(path, folder)))
    raise("src=\"{}\" leads out of the schema's folder; copy the file into it", name);
  if (error) raise("src=\"{}\": there is no such file in the schema's folder", name);
  if (!fs::is_regular_file(path, error))
    raise("src=\"{}\" is no ordinary file; name a text file", name);
  const auto bytes = fs::file_size(path, error);
  if (error || bytes > budget_bytes)
    raise(
        "src=\"{}\" is larger than what the src files of one schema may still take, {} bytes; "
        "split the schema",
        name, budget_bytes);
  const std::string text = read_file(path, budget_bytes);
  budget_bytes -= text.size();
  if (text.find('\0') != text.npos) raise("src=\"{}\" holds a zero byte; name a text file", name);
  tokenizer::require_utf8(text, "src=\"" + name + "\"");
  return with_line_feeds(std::string(without_byte_order_mark(text)));
}

}  // namespace reprise::pml
