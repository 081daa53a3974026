#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kawara::driver {

/// Bytes in files of a folder, found by a key. Several processes may use a folder at once: files
/// appear whole or not at all, and one that is not what was asked for counts as missing. What is
/// lost is made again, so nothing here fails.
class CodeCache {
public:
  static constexpr int64_t kUsualBytes = int64_t{256} << 20;

  /// An empty folder name: nothing is kept.
  explicit CodeCache(std::string folder, int64_t most_bytes = kUsualBytes);

  std::optional<std::string> get(const std::string& key) const;
  /// The files that were not used for longest go when all would be more than the limit.
  void put(const std::string& key, const std::string& bytes) const;

private:
  std::string path_of(const std::string& key) const;
  void make_room() const;

  std::string folder_;
  int64_t most_bytes_;
};

/// $XDG_CACHE_HOME/kawara/code, or the same below ~/.cache; empty when KAWARA_CACHE is `off` or
/// there is no home. KAWARA_CACHE names another folder.
std::string usual_cache_folder();

} // namespace kawara::driver
