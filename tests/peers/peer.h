#pragma once

#include "cpu/peers/ort_api.h"
#include "graph/graph.h"
#include "run/functions/function.h"
#include "support/result.h"

#include <memory>
#include <string>
#include <vector>

namespace kawara::peers {

using graph::Graph;
using run::Datum;

/// What ONNX Runtime says when it does not run a model.
using Refusal = std::string;

/// A graph in ONNX Runtime, one thread, without optimisations. Sequences and types that Kawara does
/// not have are refused.
class PeerSession {
public:
  PeerSession(const bench::OrtApi& api, const Graph& graph, const std::string& bytes);
  ~PeerSession();
  PeerSession(const PeerSession&) = delete;
  PeerSession& operator=(const PeerSession&) = delete;

  /// All outputs, in the graph's order.
  Result<std::vector<Datum>, Refusal> run(const std::vector<Datum>& inputs) const;

private:
  const bench::OrtApi& api_;
  bench::OrtApi::Session* session_ = nullptr;
  std::vector<std::string> input_names_, output_names_;
};

/// ONNX Runtime's library.
class Peer {
public:
  /// Nothing where there is no such library in the folder.
  static std::unique_ptr<Peer> open(const std::string& folder);

  const char* version() const { return api_.version(); }
  Result<std::unique_ptr<PeerSession>, Refusal> session(const Graph&) const;

private:
  explicit Peer(const bench::SharedLibrary& library);
  bench::OrtApi api_;
};

} // namespace kawara::peers
