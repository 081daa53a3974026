#include "kawara/input_file.h"

#include "driver/tape/kwx_format.h"
#include "run/file.h"
#include "support/text.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

namespace kawara::tools {
namespace {

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";

bool has_extension(const std::string& path, const char* extension) {
  return std::filesystem::path(path).extension() == extension;
}

/// Without NUL and other control characters than those of lines. Bytes of other encodings are left
/// to the reader of programs, which says where they are.
bool is_text(std::string_view bytes) {
  return std::none_of(bytes.begin(), bytes.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f';
  });
}

/// The top-level fields of a file in the form of Protocol Buffers, read one after the other without
/// what they hold.
class Fields {
public:
  explicit Fields(const std::string& path)
      : file_(path, std::ios::binary | std::ios::ate),
        end_(file_ ? static_cast<uint64_t>(file_.tellg()) : 0) {
    file_.seekg(0);
  }

  bool is_at_end() const { return at_ >= end_; }

  struct Field {
    uint64_t number = 0;
    bool is_number = false; ///< a varint; otherwise bytes with a length
  };
  /// Nothing where there is no such field.
  std::optional<Field> next() {
    const auto tag = varint();
    if (!tag)
      return std::nullopt;
    const Field field{*tag >> 3, (*tag & 7) == 0};
    const auto value = varint();
    if (!value || (*tag & 7) % 2 != 0 || (*tag & 7) > 2)
      return std::nullopt;
    if (field.is_number)
      return field;
    if (*value > end_ - at_)
      return std::nullopt;
    at_ += *value;
    file_.seekg(static_cast<std::streamoff>(at_));
    return field;
  }

private:
  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const int byte = file_.get();
      if (byte == std::ifstream::traits_type::eof())
        return std::nullopt;
      ++at_;
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80)
        return value;
    }
    return std::nullopt;
  }

  std::ifstream file_;
  uint64_t at_ = 0, end_ = 0;
};

/// The form of ONNX: ir_version and model_version are numbers (1 and 5), everything else is bytes;
/// field 7 is the graph.
bool is_onnx(const std::string& path) {
  constexpr int kMostFields = 4096;
  constexpr uint64_t kLastField = 26, kGraph = 7;
  Fields fields(path);
  bool has_graph = false;
  for (int n = 0; n < kMostFields && !fields.is_at_end(); ++n) {
    const auto field = fields.next();
    if (!field || field->number == 0 || field->number > kLastField ||
        field->is_number != (field->number == 1 || field->number == 5))
      return false;
    has_graph = has_graph || field->number == kGraph;
  }
  return has_graph;
}

std::string beginning_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(4096, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

struct Known {
  std::string_view begins, what, help;
  size_t at = 0; ///< where the bytes stand
};

// What is often given by mistake.
constexpr Known kKnown[] = {
    {"version https://git-lfs", "a pointer of Git LFS, not the file itself",
     "fetch it: git lfs pull"},
    {"<!DOCTYPE html", "an HTML page", "download the file itself"},
    {"<html", "an HTML page", "download the file itself"},
    {"\xFF\xFE", "text in UTF-16", "save it as UTF-8"},
    {"\xFE\xFF", "text in UTF-16", "save it as UTF-8"},
    {"\x7F"
     "ELF",
     "a program or library of this system", ""},
    {"\x93NUMPY", "a NumPy array", "give it to an input: --input NAME=FILE.npy"},
    {"PK\x03\x04", "a zip archive, as PyTorch's .pt files and NumPy's .npz are",
     "export a model to ONNX; give arrays to inputs: --input NAME=FILE.npz"},
    {"\x1F\x8B", "compressed by gzip", "unpack it first"},
    {"\xFD"
     "7zXZ",
     "compressed by xz", "unpack it first"},
    {"\x89HDF", "an HDF5 file, as Keras writes", "export the model to ONNX"},
    {"TFL3", "a TensorFlow Lite model", "convert it to ONNX", 4},
    {"GGUF", "a GGUF model", "export the model to ONNX"},
};

const Known* known_mistake(std::string_view bytes) {
  for (const Known& known : kKnown)
    if (bytes.substr(std::min(known.at, bytes.size())).starts_with(known.begins))
      return &known;
  return nullptr;
}

Diagnostic no_program(const std::string& path, const std::string& what, std::string_view help) {
  Diagnostic d;
  d.code = "K0450";
  d.headline = "`" + printable(path) + "` is neither a program nor a model";
  d.body.push_back("It is " + what + ".");
  d.help.push_back(
      {help.empty() ? "give a program in .kw text, or a model in ONNX form" : std::string(help), "",
       false});
  return d;
}

/// Whether a line says what a program gives back, as every program must.
bool declares_result(std::string_view text) {
  for (size_t line = 0; line < text.size(); line = text.find('\n', line) + 1) {
    const std::string_view rest = text.substr(line);
    if (rest.starts_with("output ") || rest.starts_with("inout "))
      return true;
    if (rest.find('\n') == std::string_view::npos)
      break;
  }
  return false;
}

} // namespace

FileKind file_kind(const std::string& path) {
  const FileKind by_name = has_extension(path, ".kwx")    ? FileKind::CompiledModel
                           : has_extension(path, ".onnx") ? FileKind::Model
                                                          : FileKind::Program;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    return by_name;
  const std::string begin = beginning_of(path);
  if (begin.starts_with(std::string_view(driver::kKwxMagic.data(), driver::kKwxMagic.size())))
    return FileKind::CompiledModel;
  if (known_mistake(begin) != nullptr)
    return FileKind::Program; // which says what it is
  if (is_text(begin) && declares_result(begin))
    return FileKind::Program; // under whatever name
  return !is_text(begin) && is_onnx(path) ? FileKind::Model : by_name;
}

Result<SourcePtr, Diagnostic> program_source(const std::string& path) {
  KAWARA_TRY(std::string text, run::read_file(path));
  if (text.empty())
    return fail(no_program(path, "empty", ""));
  if (const Known* known = known_mistake(text))
    return fail(no_program(path, std::string(known->what), known->help));
  if (!is_text(text))
    return fail(no_program(path, "binary data of no kind that is known here", ""));
  if (text.starts_with(kUtf8Mark))
    text.erase(0, kUtf8Mark.size());
  return make_source(path, std::move(text));
}

} // namespace kawara::tools
