#include "results/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "core/base/error.h"

namespace reprise::results {
namespace {

constexpr const char* kRemedy =
    "Copy it again from where it comes from (in a git checkout: git restore)";

// zlib's state for one file.
class Inflater {
 public:
  explicit Inflater(const std::filesystem::path& path) : path_(path) {
    constexpr int kGzipAlone = 16;
    if (inflateInit2(&stream_, MAX_WBITS + kGzipAlone) != Z_OK)
      raise("zlib has no memory to unpack {}. Free some, then try again.", path_.string());
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  std::string text_of(std::string_view bytes, size_t max_bytes) {
    std::string text;
    while (true) {
      give(bytes);
      const bool ends_member = inflate_into(text, max_bytes);
      if (ends_member && bytes.size() == used_) return text;
      if (ends_member) {
        inflateReset(&stream_);
      } else if (bytes.size() == used_ && is_starved_) {
        raise("{} is cut short: its gzip data end too early. {}.", path_.string(), kRemedy);
      }
    }
  }

 private:
  // Gives zlib the bytes of the file that are left, or as many of them as zlib's 32-bit count can
  // hold.
  void give(std::string_view bytes) {
    const std::string_view rest = bytes.substr(used_);
    given_ = static_cast<uInt>(std::min<size_t>(rest.size(), std::numeric_limits<uInt>::max()));
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest.data()));
    stream_.avail_in = given_;
  }

  // Unpacks up to kPiece bytes and appends them to `text`. Returns true at the end of a gzip
  // member.
  bool inflate_into(std::string& text, size_t max_bytes) {
    constexpr size_t kPiece = size_t{1} << 20;
    const size_t old_size = text.size();
    const size_t most =
        std::min(kPiece, max_bytes - old_size + 1);  // one more shows that the text is too long
    text.resize(old_size + most);
    stream_.next_out = reinterpret_cast<Bytef*>(text.data() + old_size);
    stream_.avail_out = static_cast<uInt>(most);
    const int status = ::inflate(&stream_, Z_NO_FLUSH);
    used_ += given_ - stream_.avail_in;
    is_starved_ = stream_.avail_out > 0;
    text.resize(old_size + most - stream_.avail_out);
    if (text.size() > max_bytes)
      raise(
          "{} unpacks to more than the {} bytes allowed here. It is no file of results that this "
          "program wrote; unpack it with gunzip and look at it before you use it.",
          path_.string(), max_bytes);
    if (status == Z_STREAM_END) return true;
    if (status != Z_OK && status != Z_BUF_ERROR)
      raise("{} is damaged or no gzip file: {}. {}.", path_.string(),
            stream_.msg == nullptr ? "zlib cannot read it" : stream_.msg, kRemedy);
    return false;
  }

  std::filesystem::path path_;
  z_stream stream_{};
  size_t used_ = 0;  // bytes of the file that zlib has read
  uInt given_ = 0;   // bytes given to zlib for the current call
  bool is_starved_ = false;
};

}  // namespace

bool is_packed(const std::filesystem::path& path) { return path.extension() == ".gz"; }

std::filesystem::path unpacked_name(const std::filesystem::path& path) {
  return is_packed(path) ? path.parent_path() / path.stem() : path;
}

std::string unpacked(std::string_view bytes, const std::filesystem::path& path, size_t max_bytes) {
  return Inflater(path).text_of(bytes, max_bytes);
}

}  // namespace reprise::results
