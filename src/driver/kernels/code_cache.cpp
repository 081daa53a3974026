#include "driver/kernels/code_cache.h"

#include "support/hash.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

namespace kawara::driver {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".kwo";

/// The file begins with its key: two keys with one hash must not be mixed up.
std::string head_of(const std::string& key) { return fmt::format("{}\n{}", key.size(), key); }

struct Entry {
  fs::path path;
  fs::file_time_type used;
  int64_t bytes;
};

std::vector<Entry> entries_of(const fs::path& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(folder, error)) {
    std::error_code gone;
    const auto used = file.last_write_time(gone);
    const auto bytes = file.file_size(gone);
    if (!gone)
      entries.push_back({file.path(), used, static_cast<int64_t>(bytes)});
  }
  return entries;
}

std::string value_of(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

} // namespace

CodeCache::CodeCache(std::string folder, int64_t most_bytes)
    : folder_(std::move(folder)), most_bytes_(most_bytes) {
  if (folder_.empty())
    return;
  std::error_code error;
  if (fs::create_directories(folder_, error))
    fs::permissions(folder_, fs::perms::owner_all, error);
}

std::string CodeCache::path_of(const std::string& key) const {
  return fmt::format("{}/{:016x}{}", folder_, hash_text(key), kSuffix);
}

std::optional<std::string> CodeCache::get(const std::string& key) const {
  if (folder_.empty())
    return std::nullopt;
  const std::string path = path_of(key), head = head_of(key);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (!file || !(content << file.rdbuf()))
    return std::nullopt;
  std::string bytes = std::move(content).str();
  if (bytes.compare(0, head.size(), head) != 0)
    return std::nullopt;
  std::error_code error; // its time says that it was used
  fs::last_write_time(path, fs::file_time_type::clock::now(), error);
  return bytes.substr(head.size());
}

void CodeCache::put(const std::string& key, const std::string& bytes) const {
  if (folder_.empty())
    return;
  const std::string path = path_of(key);
  const std::string part = fmt::format("{}.{}.{}.part", path, getpid(),
                                       std::hash<std::thread::id>()(std::this_thread::get_id()));
  std::error_code error;
  {
    std::ofstream file(part, std::ios::binary);
    if (!(file << head_of(key) << bytes) || !file.flush()) {
      fs::remove(part, error);
      return;
    }
  }
  fs::rename(part, path, error);
  if (error)
    fs::remove(part, error);
  make_room();
}

void CodeCache::make_room() const {
  std::vector<Entry> entries = entries_of(folder_);
  int64_t bytes = 0;
  for (const Entry& entry : entries)
    bytes += entry.bytes;
  if (bytes <= most_bytes_)
    return;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (bytes <= most_bytes_ / 4 * 3)
      break;
    std::error_code error;
    fs::remove(entry.path, error);
    bytes -= entry.bytes;
  }
}

std::string usual_cache_folder() {
  const std::string chosen = value_of("KAWARA_CACHE");
  if (chosen == "off")
    return "";
  if (!chosen.empty())
    return chosen;
  const std::string cache = value_of("XDG_CACHE_HOME"), home = value_of("HOME");
  if (!cache.empty())
    return cache + "/kawara/code";
  return home.empty() ? "" : home + "/.cache/kawara/code";
}

} // namespace kawara::driver
