#include "kernel/async_ops.h"

namespace kawara::kernel {
namespace {

template <class Element, class Out> void add_index(Element& element, Out& out) {
  for (auto& e : element.index)
    out.push_back(&e);
}

template <class E, class Out> void add_exprs(E& async_op, Out& out) {
  if (auto* load = std::get_if<BulkLoad>(&async_op.what)) {
    add_index(load->to, out);
    add_index(load->from, out);
    for (auto& e : load->tap)
      out.push_back(&e);
    out.push_back(&load->done.slot);
  } else if (auto* store = std::get_if<BulkStore>(&async_op.what)) {
    add_index(store->to, out);
    add_index(store->from, out);
  } else if (auto* arrive = std::get_if<Arrive>(&async_op.what)) {
    out.push_back(&arrive->at.slot);
    if (arrive->block)
      out.push_back(&*arrive->block);
  } else if (auto* wait = std::get_if<AwaitPhase>(&async_op.what)) {
    out.push_back(&wait->at.slot);
    out.push_back(&wait->parity);
  } else if (auto* mma = std::get_if<Mma>(&async_op.what)) {
    add_index(mma->a, out);
    add_index(mma->b, out);
  }
}

} // namespace

std::vector<const scalar::Expr*> exprs_of(const AsyncOp& async_op) {
  std::vector<const scalar::Expr*> out;
  add_exprs(async_op, out);
  return out;
}

std::vector<scalar::Expr*> exprs_of(AsyncOp& async_op) {
  std::vector<scalar::Expr*> out;
  add_exprs(async_op, out);
  return out;
}

std::vector<uint32_t> written_by(const AsyncOp& async_op) {
  if (const auto* load = std::get_if<BulkLoad>(&async_op.what))
    return {load->to.buffer};
  if (const auto* store = std::get_if<BulkStore>(&async_op.what))
    return {store->to.buffer};
  if (const auto* mma = std::get_if<Mma>(&async_op.what))
    return {mma->c};
  return {};
}

std::vector<uint32_t> read_by(const AsyncOp& async_op) {
  if (const auto* load = std::get_if<BulkLoad>(&async_op.what))
    return {load->from.buffer};
  if (const auto* store = std::get_if<BulkStore>(&async_op.what))
    return {store->from.buffer};
  if (const auto* mma = std::get_if<Mma>(&async_op.what))
    return {mma->a.buffer, mma->b.buffer, mma->c};
  return {};
}

} // namespace kawara::kernel
