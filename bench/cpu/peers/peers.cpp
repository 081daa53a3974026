#include "cpu/peers/peers.h"

#include "cpu/peers/shared_library.h"

#include <algorithm>
#include <array>
#include <functional>

namespace kawara::bench {
namespace {

/// A contestant that was compiled into a library of its own: its headers need their own flags, or may
/// not be there.
std::unique_ptr<Contestant> from_module(const std::string& file, const PeerOptions& options) {
  const auto library = SharedLibrary::open(options.folder, file);
  if (!library)
    return nullptr;
  const auto make = library->function<ContestantFunction>("kawara_contestant");
  return std::unique_ptr<Contestant>(make(options.threads));
}

/// Compiled for what this processor has, or for less.
std::unique_ptr<Contestant> make_eigen(const PeerOptions& options) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0)
    if (auto wide = from_module("libkawara_peer_eigen_avx512.so", options))
      return wide;
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0)
    if (auto wide = from_module("libkawara_peer_eigen_avx2.so", options))
      return wide;
#endif
  return from_module("libkawara_peer_eigen.so", options);
}

std::unique_ptr<Contestant> make_arm_compute(const PeerOptions& options) {
  return from_module("libkawara_peer_acl.so", options);
}

std::unique_ptr<Contestant> make_onednn(const PeerOptions& options) {
  return from_module("libkawara_peer_onednn.so", options);
}

struct Peer {
  const char* name;
  std::function<std::unique_ptr<Contestant>(const PeerOptions&)> make;
  bool is_asked_for; ///< takes part without being named
};

#if defined(__x86_64__)
constexpr bool kIsX86 = true;
#else
constexpr bool kIsX86 = false;
#endif

/// oneDNN has fast code for x86 only, Arm Compute Library for the others only.
std::array<Peer, 7> all_peers() {
  return {{{"OpenBLAS", make_openblas, true},
           {"BLIS", make_blis, true},
           {"Eigen", make_eigen, true},
           {"ACL", make_arm_compute, !kIsX86},
           {"oneDNN", make_onednn, kIsX86},
           {"ORT", make_onnxruntime, true},
           {"ORT-attention", make_onnxruntime_attention, true}}};
}

} // namespace

Peers find_peers(const PeerOptions& options) {
  Peers peers;
  for (const Peer& peer : all_peers()) {
    const auto& names = options.names;
    if (names.empty() ? !peer.is_asked_for
                      : std::find(names.begin(), names.end(), peer.name) == names.end())
      continue;
    try {
      if (auto contestant = peer.make(options))
        peers.found.push_back(std::move(contestant));
      else
        peers.missing.push_back(std::string(peer.name) + ": not found");
    } catch (const std::exception& e) {
      peers.missing.push_back(std::string(peer.name) + ": " + e.what());
    }
  }
  return peers;
}

std::vector<std::string> peer_names() {
  std::vector<std::string> names;
  for (const Peer& peer : all_peers())
    names.emplace_back(peer.name);
  return names;
}

} // namespace kawara::bench
