#include "kawara/arrays.h"

#include "run/file.h"
#include "run/npy.h"
#include "run/npz.h"
#include "support/text.h"

#include <fmt/format.h>

namespace kawara::tools {

Result<std::pair<std::string, std::string>, Diagnostic>
binding_of(const std::string& option, const std::string& text, Names names) {
  const size_t equals = names == Names::OfModel ? text.rfind('=') : text.find('=');
  if (equals != std::string::npos && equals != 0)
    return std::pair{text.substr(0, equals), text.substr(equals + 1)};
  Diagnostic d;
  d.code = "K0434";
  d.headline = "`" + option + " " + text + "` does not name a tensor and a file";
  d.help.push_back({"for example", option + " A=a.npy", false});
  return fail(std::move(d));
}

Result<program::Array, Diagnostic> read_array(const std::string& name, const std::string& path) {
  if (!path.ends_with(".npz"))
    return run::read_npy(path);
  KAWARA_TRY(program::Arrays arrays, run::read_npz(path));
  const auto at = arrays.find(name);
  if (at == arrays.end())
    return fail(run::file_error("K0428", "`" + path + "` has no array called `" + name + "`",
                                "A .npz file is looked up by the tensor's name.",
                                "rename the member, or give a .npy file"));
  return std::move(at->second);
}

Result<Done, Diagnostic> write_array(const std::string& name, const std::string& path,
                                     const program::Array& array) {
  return path.ends_with(".npz") ? run::write_npz(path, {{name, array}})
                                : run::write_npy(path, array);
}

std::string text_of(const Summary& s) {
  return fmt::format(
      "min {:.6g}  max {:.6g}  mean {:.6g}{}", s.low, s.high, s.mean,
      s.nans == 0 ? "" : fmt::format("  NaN in {} cell{}", s.nans, s.nans == 1 ? "" : "s"));
}

Diagnostic unknown_output(const std::string& name, Names names, const std::string& known) {
  Diagnostic d;
  d.code = "K0435";
  d.headline = "no output is called `" + printable(name) + "`";
  d.body.push_back(std::string(names == Names::OfModel ? "The model's" : "The program's") +
                   " outputs are " + known + ".");
  return d;
}

} // namespace kawara::tools
