#include "driver/tape/kwx.h"

#include "driver/tape/kwx_format.h"
#include "graph/onnx/import.h"
#include "run/file.h"
#include "support/byte_stream.h"
#include "support/text.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <set>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kawara::driver {
namespace {

Diagnostic other_kind(const std::string& path, std::string why) {
  return run::file_error("K0564", "`" + path + "` is no compiled model of this version",
                         std::move(why), "compile the ONNX file again");
}

Diagnostic is_damaged(const std::string& path, std::string why) {
  return run::file_error("K0565", "`" + path + "` is damaged", std::move(why),
                         "copy it again, or compile the ONNX file again");
}

/// A whole file in memory: pages are read when they are touched, and what is written stays here.
struct Mapping {
  std::shared_ptr<std::byte> data;
  int64_t size = 0;
  std::string_view bytes(int64_t at, int64_t count) const {
    return {reinterpret_cast<const char*>(data.get()) + at, static_cast<size_t>(count)};
  }
};

Result<Mapping, Diagnostic> map_file(const std::string& path) {
  const auto cannot = [&] {
    return fail(run::file_error("K0420", "cannot read `" + path + "`", std::strerror(errno),
                                "check the name"));
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return cannot();
  struct stat about {};
  void* data = MAP_FAILED;
  if (::fstat(file, &about) == 0 && about.st_size > 0)
    data = ::mmap(nullptr, static_cast<size_t>(about.st_size), PROT_READ | PROT_WRITE, MAP_PRIVATE,
                  file, 0);
  ::close(file);
  if (data == MAP_FAILED && about.st_size == 0)
    return fail(other_kind(path, "It is empty."));
  if (data == MAP_FAILED)
    return cannot();
  Mapping mapping;
  mapping.size = about.st_size;
  mapping.data = {static_cast<std::byte*>(data),
                  [size = about.st_size](std::byte* p) { ::munmap(p, static_cast<size_t>(size)); }};
  return mapping;
}

Result<KwxHeader, Diagnostic> checked_header(const std::string& path, const Mapping& file,
                                             const KwxOptions& options) {
  KwxHeader header;
  if (file.size < static_cast<int64_t>(sizeof header) ||
      std::memcmp(file.data.get(), kKwxMagic.data(), kKwxMagic.size()) != 0)
    return fail(other_kind(path, "It does not begin like one."));
  std::memcpy(&header, file.data.get(), sizeof header);
  if (header.version != kKwxVersion)
    return fail(other_kind(path, fmt::format("It has version {} of the format, this Kawara "
                                             "reads version {}.",
                                             header.version, kKwxVersion)));
  if (header.header_sum != kwx_sum(file.bytes(0, offsetof(KwxHeader, header_sum))))
    return fail(is_damaged(path, "The sum over its header is wrong."));
  if (header.data_at + header.data_bytes != file.size)
    return fail(is_damaged(path, fmt::format("It should have {} bytes, and has {}.",
                                             header.data_at + header.data_bytes, file.size)));
  if (header.description_sum != kwx_sum(file.bytes(sizeof header, header.description_bytes)))
    return fail(is_damaged(path, "The sum over its description is wrong."));
  if (options.checks_data &&
      header.data_sum != kwx_sum(file.bytes(header.data_at, header.data_bytes)))
    return fail(is_damaged(path, "The sum over its constants is wrong."));
  return header;
}

/// Features with a plus.
std::set<std::string> present(const std::string& features) {
  std::set<std::string> names;
  for (size_t at = 0; at < features.size();) {
    const size_t end = std::min(features.find(',', at), features.size());
    if (features[at] == '+')
      names.insert(features.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return names;
}

std::optional<Diagnostic> other_processor(const std::string& path, const emit::CodeTarget& made) {
  const emit::CodeTarget host = emit::host_code_target();
  std::string why;
  if (!emit::has_same_system(made.triple, host.triple)) {
    why = fmt::format("It is for {}, this is {}.", made.triple, host.triple);
  } else {
    std::vector<std::string> missing;
    const std::set<std::string> here = present(host.features);
    for (const std::string& feature : present(made.features))
      if (here.count(feature) == 0)
        missing.push_back(feature);
    if (missing.empty())
      return std::nullopt;
    why = fmt::format("It is for {}, which has {}; this processor has not.", made.cpu,
                      join(missing, ", "));
  }
  return run::file_error("K0566", "`" + path + "` was compiled for another machine", why,
                         "compile the ONNX file on this machine");
}

class KwxReader {
public:
  KwxReader(const Mapping& file, const KwxHeader& header)
      : file_(file), header_(header), in_(file.bytes(sizeof(KwxHeader), header.description_bytes)) {
  }

  emit::CodeTarget target() {
    emit::CodeTarget target;
    target.triple = in_.text();
    target.cpu = in_.text();
    target.features = in_.text();
    return target;
  }

  /// All but the code of kernels: `link` gives them that.
  bool read() {
    tape_.name = in_.text();
    tape_.block_bytes = in_.below(int64_t{1} << 48);
    for (auto* ports : {&tape_.inputs, &tape_.outputs}) {
      ports->resize(in_.count());
      for (Port& port : *ports) {
        port.name = in_.text();
        type(port.type, port.shape);
      }
    }
    constants();
    codes();
    if (!calls())
      return false;
    for (size_t count = in_.count(), k = 0; k < count && !in_.has_failed(); ++k)
      step();
    return in_.is_at_end();
  }

  Result<Tape, Diagnostic> link(const emit::CodeTarget& target) {
    run::LoadOptions options;
    options.pool = std::make_shared<run::ThreadPool>();
    KAWARA_TRY(const std::vector<run::Executable> loaded, run::load_kept(codes_, target, options));
    for (const PendingCode& pending : pending_) {
      auto& kernel = std::get<TapeKernel>(tape_.steps[pending.step]);
      kernel.code = std::make_shared<const run::Executable>(loaded[pending.code].clone());
      if (!pending.prepared)
        continue;
      // Only constants tell whether what was prepared still holds.
      std::vector<void*> arguments;
      for (const Slot& slot : kernel.arguments)
        arguments.push_back(slot.where == Slot::Where::Constant
                                ? tape_.constants[static_cast<size_t>(slot.at)].data()
                                : nullptr);
      kernel.code->adopt(arguments, pending.prepared);
    }
    return std::move(tape_);
  }

private:
  struct PendingCode {
    size_t step, code;
    std::shared_ptr<std::byte> prepared;
  };

  void type(graph::DataType& elem, Shape& shape) {
    elem = static_cast<graph::DataType>(in_.below(static_cast<int64_t>(graph::DataType::U64) + 1));
    shape = in_.integers();
    if (!graph::elements_of(shape))
      in_.fail();
  }

  /// A piece of the data.
  std::shared_ptr<std::byte> piece(int64_t at, int64_t bytes) {
    if (at < 0 || bytes < 0 || at > header_.data_bytes || bytes > header_.data_bytes - at) {
      in_.fail();
      return nullptr;
    }
    return {file_.data, file_.data.get() + header_.data_at + at};
  }

  void constants() {
    for (size_t count = in_.count(), k = 0; k < count && !in_.has_failed(); ++k) {
      graph::DataType elem{};
      Shape shape;
      type(elem, shape);
      const int64_t at = in_.integer();
      const int64_t bytes = graph::elements_of(shape).value_or(0) * graph::bytes_of(elem);
      if (at == kKwxUsedUp) {
        try {
          tape_.constants.emplace_back(elem, std::move(shape)); // never touched: only an address
        } catch (const std::bad_alloc&) {
          in_.fail();
        }
      } else if (auto memory = piece(at, bytes); memory && !in_.has_failed())
        tape_.constants.emplace_back(elem, std::move(shape), std::move(memory));
    }
  }

  void buffers(std::vector<emit::BufferInfo>& list) {
    list.resize(in_.count());
    for (emit::BufferInfo& info : list) {
      info.name = in_.text();
      info.elem = static_cast<scalar::Elem>(in_.below(static_cast<int64_t>(scalar::kLastElem) + 1));
      info.role = static_cast<program::Role>(in_.below(4));
      info.is_constant = in_.integer() != 0;
      info.is_dead_once_prepared = in_.integer() != 0;
      info.shape = {scalar::int_lit(in_.below(int64_t{1} << 48))};
    }
  }

  void codes() {
    codes_.resize(in_.count());
    for (run::KeptCode& code : codes_) {
      code.signature.name = in_.text();
      code.signature.has_prepared = in_.integer() != 0;
      params_.push_back(in_.integers());
      code.signature.params.resize(params_.back().size());
      buffers(code.signature.arguments);
      buffers(code.signature.workspace);
      buffers(code.signature.scratch);
      code.object = in_.text();
    }
  }

  bool calls() {
    const std::string_view bytes = in_.text();
    if (in_.has_failed())
      return false;
    auto graph = graph::graph_from_onnx(bytes, "calls", "");
    if (graph)
      nodes_ = std::move(graph->nodes);
    return static_cast<bool>(graph);
  }

  int64_t bytes_at(const Slot& slot) const {
    const auto at = static_cast<size_t>(slot.at);
    switch (slot.where) {
    case Slot::Where::Input:
      return at < tape_.inputs.size() ? tape_.inputs[at].bytes() : -1;
    case Slot::Where::Output:
      return at < tape_.outputs.size() ? tape_.outputs[at].bytes() : -1;
    case Slot::Where::Constant:
      return at < tape_.constants.size() ? tape_.constants[at].bytes() : -1;
    case Slot::Where::Block:
      break;
    }
    return tape_.block_bytes - slot.at;
  }

  /// A place of at least so many bytes.
  Slot slot(int64_t bytes) {
    Slot slot;
    slot.where = static_cast<Slot::Where>(in_.below(4));
    slot.at = in_.below(std::numeric_limits<int64_t>::max());
    if (bytes < 0 || bytes_at(slot) < bytes)
      in_.fail();
    return slot;
  }

  std::optional<TapeTensor> tensor() {
    if (in_.integer() == 0)
      return std::nullopt;
    TapeTensor t;
    t.slot = slot(0);
    type(t.type, t.shape);
    if (bytes_at(t.slot) < graph::elements_of(t.shape).value_or(0) * graph::bytes_of(t.type))
      in_.fail();
    return t;
  }

  void step() {
    switch (in_.below(4)) {
    case 0:
      return kernel();
    case 1:
      return call();
    case 2: {
      TapeCopy copy;
      copy.from = slot(0);
      copy.to = slot(0);
      copy.bytes = in_.integer();
      if (copy.bytes < 0 || bytes_at(copy.from) < copy.bytes || bytes_at(copy.to) < copy.bytes)
        in_.fail();
      tape_.steps.emplace_back(copy);
      return;
    }
    default: {
      TapeGuard guard;
      guard.slot = slot(0);
      guard.elements = in_.text();
      guard.value = in_.text();
      if (bytes_at(guard.slot) < static_cast<int64_t>(guard.elements.size()))
        in_.fail();
      tape_.steps.emplace_back(std::move(guard));
    }
    }
  }

  void kernel() {
    PendingCode pending{tape_.steps.size(), 0, nullptr};
    pending.code = static_cast<size_t>(in_.below(static_cast<int64_t>(codes_.size())));
    if (in_.has_failed())
      return;
    TapeKernel kernel;
    kernel.params = params_[pending.code];
    for (const emit::BufferInfo& info : codes_[pending.code].signature.arguments)
      kernel.arguments.push_back(slot(emit::bytes_of(info, {}).value_or(-1)));
    if (in_.integer() != 0) {
      const int64_t at = in_.integer(), bytes = in_.integer();
      const auto layout = emit::workspace_layout(codes_[pending.code].signature, {});
      pending.prepared = piece(at, bytes);
      if (!layout || layout->kept_bytes != bytes)
        in_.fail();
    }
    tape_.steps.emplace_back(std::move(kernel));
    pending_.push_back(std::move(pending));
  }

  void call() {
    TapeCall call;
    call.opset = in_.integer();
    for (auto* list : {&call.inputs, &call.outputs}) {
      list->resize(in_.count());
      for (auto& t : *list)
        t = tensor();
    }
    if (next_node_ >= nodes_.size())
      return in_.fail();
    call.node = std::move(nodes_[next_node_++]);
    tape_.steps.emplace_back(std::move(call));
  }

  const Mapping& file_;
  const KwxHeader& header_;
  ByteReader in_;
  Tape tape_;
  std::vector<run::KeptCode> codes_;
  std::vector<std::vector<int64_t>> params_; ///< by code
  std::vector<PendingCode> pending_;
  std::vector<graph::Node> nodes_;
  size_t next_node_ = 0;
};

} // namespace

Result<Tape, Diagnostic> read_kwx(const std::string& path, const KwxOptions& options) {
  KAWARA_TRY(const Mapping file, map_file(path));
  KAWARA_TRY(const KwxHeader header, checked_header(path, file, options));
  KwxReader reader(file, header);
  const emit::CodeTarget target = reader.target();
  if (auto other = other_processor(path, target))
    return fail(*std::move(other));
  if (!reader.read())
    return fail(is_damaged(path, "Its description does not hold together."));
  // This machine has all features of that one.
  return reader.link(emit::host_code_target());
}

} // namespace kawara::driver
