#include "kernel/engine.h"

namespace kawara::kernel {
namespace {

template <class Cell, class Out> void add_index(Cell& cell, Out& out) {
  for (auto& e : cell.index)
    out.push_back(&e);
}

template <class E, class Out> void add_exprs(E& engine, Out& out) {
  if (auto* load = std::get_if<BulkLoad>(&engine.what)) {
    add_index(load->to, out);
    add_index(load->from, out);
    for (auto& e : load->tap)
      out.push_back(&e);
    out.push_back(&load->done.slot);
  } else if (auto* store = std::get_if<BulkStore>(&engine.what)) {
    add_index(store->to, out);
    add_index(store->from, out);
  } else if (auto* arrive = std::get_if<Arrive>(&engine.what))
    out.push_back(&arrive->at.slot);
  else if (auto* wait = std::get_if<AwaitPhase>(&engine.what)) {
    out.push_back(&wait->at.slot);
    out.push_back(&wait->parity);
  } else if (auto* mma = std::get_if<Mma>(&engine.what)) {
    add_index(mma->a, out);
    add_index(mma->b, out);
  }
}

} // namespace

std::vector<const scalar::Expr*> exprs_of(const Engine& engine) {
  std::vector<const scalar::Expr*> out;
  add_exprs(engine, out);
  return out;
}

std::vector<scalar::Expr*> exprs_of(Engine& engine) {
  std::vector<scalar::Expr*> out;
  add_exprs(engine, out);
  return out;
}

std::vector<uint32_t> written_by(const Engine& engine) {
  if (const auto* load = std::get_if<BulkLoad>(&engine.what))
    return {load->to.buffer};
  if (const auto* store = std::get_if<BulkStore>(&engine.what))
    return {store->to.buffer};
  if (const auto* mma = std::get_if<Mma>(&engine.what))
    return {mma->c};
  return {};
}

std::vector<uint32_t> read_by(const Engine& engine) {
  if (const auto* load = std::get_if<BulkLoad>(&engine.what))
    return {load->from.buffer};
  if (const auto* store = std::get_if<BulkStore>(&engine.what))
    return {store->from.buffer};
  if (const auto* mma = std::get_if<Mma>(&engine.what))
    return {mma->a.buffer, mma->b.buffer, mma->c};
  return {};
}

} // namespace kawara::kernel
