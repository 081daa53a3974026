#pragma once

#include "cpu/contestant.h"

#include <memory>

namespace kawara::bench {

struct PeerOptions {
  int64_t threads = 1;
  std::string folder;             ///< where libraries are looked for before the system's
  std::vector<std::string> names; ///< those asked for; all that make sense here when empty
};

struct Peers {
  std::vector<std::unique_ptr<Contestant>> found;
  std::vector<std::string> missing; ///< "BLIS: not found"
};

/// The libraries that are installed, ready to race.
Peers find_peers(const PeerOptions&);

/// Names that `PeerOptions::names` may hold.
std::vector<std::string> peer_names();

// Nothing comes back where the library is not found; what goes wrong inside it is thrown.
std::unique_ptr<Contestant> make_openblas(const PeerOptions&);
std::unique_ptr<Contestant> make_blis(const PeerOptions&);
std::unique_ptr<Contestant> make_onnxruntime(const PeerOptions&);
std::unique_ptr<Contestant> make_onnxruntime_attention(const PeerOptions&); ///< its fused operator

} // namespace kawara::bench
