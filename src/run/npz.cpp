#include "run/npz.h"

#include "run/file.h"
#include "run/npy.h"

#include <algorithm>
#include <optional>
#include <zlib.h>

namespace kawara::run {
namespace {

using program::Arrays;

constexpr std::string_view kLocal("PK\x03\x04", 4);
constexpr std::string_view kCentral("PK\x01\x02", 4);
constexpr std::string_view kEnd("PK\x05\x06", 4);
constexpr std::string_view kEnd64("PK\x06\x06", 4);
constexpr std::string_view kLocator64("PK\x06\x07", 4);
constexpr uint64_t kSaturated = 0xffffffff;
constexpr std::string_view kSuffix = ".npy";

/// Little-endian numbers at offsets that the caller has checked with `holds`.
class Bytes {
public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  bool holds(uint64_t at, uint64_t count) const {
    return at <= bytes_.size() && count <= bytes_.size() - at;
  }
  bool starts(uint64_t at, std::string_view with) const {
    return holds(at, with.size()) && bytes_.substr(at, with.size()) == with;
  }
  uint64_t number(uint64_t at, int width) const {
    uint64_t value = 0;
    for (int i = width; i-- > 0;)
      value = value << 8 | static_cast<uint8_t>(bytes_[at + static_cast<uint64_t>(i)]);
    return value;
  }
  std::string_view slice(uint64_t at, uint64_t count) const { return bytes_.substr(at, count); }
  uint64_t size() const { return bytes_.size(); }

private:
  std::string_view bytes_;
};

struct Member {
  std::string name;
  uint64_t flags = 0, method = 0, crc = 0, packed = 0, size = 0, offset = 0;
};

/// Where the list of members starts and how many there are.
struct Directory {
  uint64_t offset = 0, count = 0;
};

std::optional<Directory> find_directory(const Bytes& b) {
  if (b.size() < 22)
    return std::nullopt;
  // The end record is followed by a comment of at most 65535 bytes.
  const uint64_t lowest = b.size() - 22 - std::min<uint64_t>(b.size() - 22, 65535);
  for (uint64_t at = b.size() - 22 + 1; at-- > lowest;) {
    if (!b.starts(at, kEnd) || at + 22 + b.number(at + 20, 2) != b.size())
      continue;
    const Directory plain{b.number(at + 16, 4), b.number(at + 10, 2)};
    const bool is_full = plain.offset == kSaturated || plain.count == 0xffff;
    if (!is_full || at < 20 || !b.starts(at - 20, kLocator64))
      return plain;
    const uint64_t end64 = b.number(at - 20 + 8, 8);
    if (!b.holds(end64, 56) || !b.starts(end64, kEnd64))
      return std::nullopt;
    return Directory{b.number(end64 + 48, 8), b.number(end64 + 32, 8)};
  }
  return std::nullopt;
}

/// Takes from the zip64 extra field the numbers that did not fit into the entry itself.
bool read_extra(const Bytes& b, uint64_t at, uint64_t end, Member& m) {
  while (at + 4 <= end) {
    const uint64_t id = b.number(at, 2), length = b.number(at + 2, 2);
    uint64_t from = at + 4;
    const uint64_t stop = from + length;
    if (stop > end)
      return false;
    if (id == 1) {
      for (uint64_t* field : {&m.size, &m.packed, &m.offset}) {
        if (*field != kSaturated)
          continue;
        if (from + 8 > stop)
          return false;
        *field = b.number(from, 8);
        from += 8;
      }
    }
    at = stop;
  }
  return true;
}

std::optional<std::vector<Member>> members_of(const Bytes& b) {
  const auto directory = find_directory(b);
  if (!directory)
    return std::nullopt;
  std::vector<Member> members;
  uint64_t at = directory->offset;
  for (uint64_t i = 0; i < directory->count; ++i) {
    if (!b.holds(at, 46) || !b.starts(at, kCentral))
      return std::nullopt;
    const uint64_t name = b.number(at + 28, 2), extra = b.number(at + 30, 2);
    const uint64_t whole = 46 + name + extra + b.number(at + 32, 2);
    if (!b.holds(at, whole))
      return std::nullopt;
    Member m{std::string(b.slice(at + 46, name)),
             b.number(at + 8, 2),
             b.number(at + 10, 2),
             b.number(at + 16, 4),
             b.number(at + 20, 4),
             b.number(at + 24, 4),
             b.number(at + 42, 4)};
    if (!read_extra(b, at + 46 + name, at + 46 + name + extra, m))
      return std::nullopt;
    members.push_back(std::move(m));
    at += whole;
  }
  return members;
}

std::optional<std::string> inflated(std::string_view packed, uint64_t size) {
  // Deflate shrinks by at most about 1032: a larger claim is a damaged file, not worth memory.
  if (size > packed.size() * 1040 + 64)
    return std::nullopt;
  std::string out(size + 1, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return std::nullopt;
  size_t read = 0, written = 0;
  int state = Z_OK;
  constexpr size_t kMostAtOnce = size_t{1} << 30;
  while (state == Z_OK) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + read));
    stream.avail_in = static_cast<uInt>(std::min(packed.size() - read, kMostAtOnce));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + written);
    stream.avail_out = static_cast<uInt>(std::min(out.size() - written, kMostAtOnce));
    const uInt in = stream.avail_in, room = stream.avail_out;
    state = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += room - stream.avail_out;
    if (state == Z_OK && in == stream.avail_in && room == stream.avail_out)
      state = Z_DATA_ERROR;
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END || written != size)
    return std::nullopt;
  out.resize(size);
  return out;
}

uint32_t checksum(std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

Diagnostic damaged(const std::string& name, const std::string& why) {
  return file_error("K0426", "the archive `" + name + "` cannot be read", why,
                    "write it again, for example with numpy.savez");
}

Result<std::string, Diagnostic> content_of(const Bytes& b, const Member& m,
                                           const std::string& name) {
  const std::string member = "Its member `" + m.name + "`";
  if ((m.flags & 1) != 0)
    return fail(damaged(name, member + " is encrypted."));
  if (m.method != 0 && m.method != 8)
    return fail(damaged(name, member + " uses compression method " + std::to_string(m.method) +
                                  "; stored (0) and deflated (8) are supported."));
  if (!b.holds(m.offset, 30) || !b.starts(m.offset, kLocal))
    return fail(damaged(name, member + " is not where the directory says."));
  const uint64_t begin = m.offset + 30 + b.number(m.offset + 26, 2) + b.number(m.offset + 28, 2);
  if (!b.holds(begin, m.packed))
    return fail(damaged(name, member + " reaches past the end of the file."));
  const std::string_view packed = b.slice(begin, m.packed);
  auto content = m.method == 8        ? inflated(packed, m.size)
                 : m.packed == m.size ? std::optional(std::string(packed))
                                      : std::nullopt;
  if (!content)
    return fail(damaged(name, member + " does not unpack to the size that the directory says."));
  if (checksum(*content) != m.crc)
    return fail(damaged(name, member + " does not match its checksum."));
  return *std::move(content);
}

std::string little_endian(uint64_t value, int width) {
  std::string text;
  for (int i = 0; i < width; ++i)
    text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

/// The fields that a member's local header and its directory entry share.
std::string shared_fields(const std::string& name, const std::string& content) {
  // version 2.0, no flags, stored, 1980-01-01 00:00
  return little_endian(20, 2) + little_endian(0, 2) + little_endian(0, 2) + little_endian(0, 2) +
         little_endian(0x21, 2) + little_endian(checksum(content), 4) +
         little_endian(content.size(), 4) + little_endian(content.size(), 4) +
         little_endian(name.size(), 2) + little_endian(0, 2);
}

} // namespace

namespace {

using Contents = std::map<std::string, std::string>; ///< `.npy` files by member name without `.npy`

Result<Contents, Diagnostic> contents_of_npz(std::string_view bytes, const std::string& name) {
  const Bytes b(bytes);
  if (!b.starts(0, kLocal) && !b.starts(0, kEnd))
    return fail(file_error("K0421", "`" + name + "` is not a .npz file",
                           "Such a file is a zip archive and starts with the bytes PK.",
                           "write it with numpy.savez, or name it .npy if it holds one array"));
  const auto members = members_of(b);
  if (!members)
    return fail(damaged(name, "Its directory is missing or damaged; the file may be cut off."));
  Contents contents;
  for (const Member& m : *members) {
    if (!m.name.ends_with(kSuffix))
      continue;
    KAWARA_TRY(contents[m.name.substr(0, m.name.size() - kSuffix.size())], content_of(b, m, name));
  }
  return contents;
}

Result<std::string, Diagnostic> npz_from_contents(const Contents& contents,
                                                  const std::string& name) {
  std::string bytes, directory;
  for (const auto& [key, content] : contents) {
    const std::string member = key + std::string(kSuffix);
    const std::string fields = shared_fields(member, content);
    directory += std::string(kCentral) + little_endian(20, 2) + fields + std::string(10, '\0') +
                 little_endian(bytes.size(), 4) + member;
    bytes += std::string(kLocal) + fields + member + content;
    if (bytes.size() + directory.size() >= kSaturated || contents.size() >= 0xffff)
      return fail(file_error("K0427", "`" + name + "` would be larger than a .npz file can be",
                             "Plain zip archives end at 4 GiB.",
                             "write each array to a .npy file of its own"));
  }
  const uint64_t offset = bytes.size();
  return bytes + directory + std::string(kEnd) + little_endian(0, 4) +
         little_endian(contents.size(), 2) + little_endian(contents.size(), 2) +
         little_endian(directory.size(), 4) + little_endian(offset, 4) + little_endian(0, 2);
}

} // namespace

Result<Arrays, Diagnostic> arrays_from_npz(std::string_view bytes, const std::string& name) {
  KAWARA_TRY(const Contents contents, contents_of_npz(bytes, name));
  Arrays arrays;
  for (const auto& [key, content] : contents) {
    KAWARA_TRY(arrays[key], array_from_npy(content, name + ":" + key + std::string(kSuffix)));
  }
  return arrays;
}

Result<std::string, Diagnostic> npz_from_arrays(const Arrays& arrays, const std::string& name) {
  Contents contents;
  for (const auto& [key, array] : arrays)
    contents[key] = npy_from_array(array);
  return npz_from_contents(contents, name);
}

Result<std::map<std::string, graph::Tensor>, Diagnostic>
read_npz_tensors(const std::string& path, const DeclaredTypes& declared) {
  KAWARA_TRY(const std::string bytes, read_file(path));
  KAWARA_TRY(const Contents contents, contents_of_npz(bytes, path));
  std::map<std::string, graph::Tensor> tensors;
  for (const auto& [key, content] : contents) {
    KAWARA_TRY(graph::Tensor tensor,
               tensor_from_npy(content, path + ":" + key + std::string(kSuffix), declared(key)));
    tensors.emplace(key, std::move(tensor));
  }
  return tensors;
}

Result<Done, Diagnostic> write_npz_tensors(const std::string& path,
                                           const std::map<std::string, graph::Tensor>& tensors) {
  Contents contents;
  for (const auto& [key, tensor] : tensors)
    contents[key] = npy_from_tensor(tensor);
  KAWARA_TRY(const std::string bytes, npz_from_contents(contents, path));
  return write_file(path, bytes);
}

Result<Arrays, Diagnostic> read_npz(const std::string& path) {
  KAWARA_TRY(const std::string bytes, read_file(path));
  return arrays_from_npz(bytes, path);
}

Result<Done, Diagnostic> write_npz(const std::string& path, const Arrays& arrays) {
  KAWARA_TRY(const std::string bytes, npz_from_arrays(arrays, path));
  return write_file(path, bytes);
}

} // namespace kawara::run
