#include "program/operators/window.h"

#include "support/text.h"

#include <algorithm>

namespace kawara::program::operators {
namespace {

std::vector<int64_t> list_or(Definition& d, const char* name, size_t count, int64_t otherwise) {
  auto list = d.integers(name).value_or(std::vector<int64_t>(count, otherwise));
  if (list.size() != count) {
    d.refuse(
        fmt::format("attribute `{}` has {} entries for {} dimensions", name, list.size(), count));
    list.assign(count, otherwise);
  }
  return list;
}

Window attributes_of(Definition& d, size_t dims, const std::vector<int64_t>& kernel) {
  Window w;
  w.kernel = d.integers("kernel_shape").value_or(kernel);
  if (w.kernel.size() != dims) {
    d.refuse(fmt::format("a window of {} dimensions does not fit {} spatial dimensions",
                         w.kernel.size(), dims));
    w.kernel.assign(dims, 1);
  }
  if (!kernel.empty() && w.kernel != kernel) {
    d.refuse(fmt::format("attribute `kernel_shape` is {}, and the weights are for windows of {}",
                         graph::text_of(w.kernel), graph::text_of(kernel)));
    w.kernel = kernel;
  }
  w.stride = list_or(d, "strides", dims, 1);
  w.dilation = list_or(d, "dilations", dims, 1);
  const std::vector<int64_t> pads = list_or(d, "pads", 2 * dims, 0);
  w.begin.assign(pads.begin(), pads.begin() + static_cast<int64_t>(dims));
  w.end.assign(pads.begin() + static_cast<int64_t>(dims), pads.end());
  constexpr int64_t most = 1 << 20; // keeps all arithmetic far from overflow
  for (size_t k = 0; k < dims; ++k) {
    const bool is_sane = w.kernel[k] > 0 && w.stride[k] > 0 && w.dilation[k] > 0 &&
                         w.begin[k] >= 0 && w.end[k] >= 0 && w.kernel[k] <= most &&
                         w.stride[k] <= most && w.dilation[k] <= most && w.begin[k] <= most &&
                         w.end[k] <= most;
    if (is_sane)
      continue;
    d.refuse(fmt::format("its window has kernel {}, strides {}, dilations {}, pads {}",
                         graph::text_of(w.kernel), graph::text_of(w.stride),
                         graph::text_of(w.dilation), graph::text_of(pads)));
    w.kernel[k] = w.stride[k] = w.dilation[k] = 1;
    w.begin[k] = w.end[k] = 0;
  }
  return w;
}

/// Extent that the dilated window covers.
int64_t reach(const Window& w, size_t k) { return (w.kernel[k] - 1) * w.dilation[k] + 1; }

void split_padding(Window& w, size_t k, int64_t total, bool is_upper) {
  total = std::max<int64_t>(total, 0);
  w.begin[k] = is_upper ? total / 2 : total - total / 2;
  w.end[k] = total - w.begin[k];
}

bool is_same(const std::string& mode) { return mode == "SAME_UPPER" || mode == "SAME_LOWER"; }

} // namespace

Window window_of(Definition& d, const std::vector<int64_t>& spatial,
                 const std::vector<int64_t>& kernel) {
  Window w = attributes_of(d, spatial.size(), kernel);
  const std::string mode =
      d.word_of("auto_pad", "NOTSET", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"});
  const bool is_pool = d.node().op.find("Pool") != std::string::npos;
  const bool is_ceil = is_pool && d.integer("ceil_mode", 0) != 0;
  for (size_t k = 0; k < spatial.size(); ++k) {
    if (is_same(mode)) {
      const int64_t out = (spatial[k] + w.stride[k] - 1) / w.stride[k];
      split_padding(w, k, (out - 1) * w.stride[k] + reach(w, k) - spatial[k], mode == "SAME_UPPER");
    } else if (mode == "VALID") {
      w.begin[k] = w.end[k] = 0;
    }
    const int64_t room = spatial[k] + w.begin[k] + w.end[k] - reach(w, k);
    if (room < 0) {
      d.refuse(fmt::format(
          "a window that reaches over {} elements does not fit spatial dimension {} with {} "
          "element{} and {} of padding",
          reach(w, k), k, spatial[k], spatial[k] == 1 ? "" : "s", w.begin[k] + w.end[k]));
      w.out.push_back(1);
      continue;
    }
    int64_t out = room / w.stride[k] + 1;
    if (is_ceil && room % w.stride[k] != 0 && out * w.stride[k] < spatial[k] + w.begin[k])
      ++out;
    w.out.push_back(out);
  }
  return w;
}

Window transposed_window_of(Definition& d, const std::vector<int64_t>& spatial,
                            const std::vector<int64_t>& kernel) {
  const size_t dims = spatial.size();
  Window w = attributes_of(d, dims, kernel);
  const std::string mode =
      d.word_of("auto_pad", "NOTSET", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"});
  const std::vector<int64_t> extra = list_or(d, "output_padding", dims, 0);
  auto wanted = d.integers("output_shape");
  if (wanted && wanted->size() > dims) // batch and channels may stand in front
    wanted->erase(wanted->begin(), wanted->end() - static_cast<int64_t>(dims));
  if (wanted && wanted->size() != dims) {
    d.refuse("attribute `output_shape` has too few entries");
    wanted.reset();
  }
  for (size_t k = 0; k < dims; ++k) {
    if (mode == "VALID")
      w.begin[k] = w.end[k] = 0;
    const int64_t whole = w.stride[k] * (spatial[k] - 1) + extra[k] + reach(w, k);
    if (wanted || is_same(mode)) {
      const int64_t out = wanted ? (*wanted)[k] : spatial[k] * w.stride[k];
      split_padding(w, k, whole - out, mode == "SAME_UPPER");
      w.out.push_back(wanted ? out : whole - w.begin[k] - w.end[k]);
    } else {
      w.out.push_back(whole - w.begin[k] - w.end[k]);
    }
    if (w.out[k] <= 0 || w.out[k] > (int64_t{1} << 40)) {
      d.refuse(fmt::format("dimension {} of the result would be {}", k, w.out[k]));
      w.out[k] = 1;
    }
  }
  return w;
}

std::string tap(const Window& w, size_t d) {
  const std::string o = "o" + std::to_string(d), k = "k" + std::to_string(d);
  std::string text = w.stride[d] == 1 ? o : fmt::format("{} * {}", w.stride[d], o);
  if (w.kernel[d] > 1)
    text += w.dilation[d] == 1 ? " + " + k : fmt::format(" + {} * {}", w.dilation[d], k);
  return text;
}

bool is_padded(const Window& w) {
  for (size_t k = 0; k < w.begin.size(); ++k)
    if (w.begin[k] != 0 || w.end[k] != 0)
      return true;
  return false;
}

int64_t padded_extent(const Window& w, size_t d, int64_t spatial) {
  return std::max(w.begin[d] + spatial + w.end[d], (w.out[d] - 1) * w.stride[d] + reach(w, d));
}

std::string Nest::index() const {
  std::vector<std::string> names;
  for (const auto& [name, extent] : loops_)
    names.push_back(name);
  return join(names, ", ");
}

Shape Nest::shape() const {
  Shape shape;
  for (const auto& [name, extent] : loops_)
    shape.push_back(extent);
  return shape;
}

std::string Nest::around(const std::vector<std::string>& body) const {
  std::string text, indent;
  for (const auto& [name, extent] : loops_) {
    text += fmt::format("{}for {} in range({}):\n", indent, name, extent);
    indent += "  ";
  }
  for (const std::string& line : body)
    text += indent + line + "\n";
  return text;
}

void add_padding(Definition& d, const std::string& name, const Shape& outer,
                 const std::vector<int64_t>& spatial, const Window& w, const std::string& fill) {
  Nest nest;
  std::vector<std::string> inside, source;
  for (size_t k = 0; k < outer.size(); ++k) {
    nest.loop("a" + std::to_string(k), outer[k]);
    source.push_back("a" + std::to_string(k));
  }
  for (size_t k = 0; k < spatial.size(); ++k) {
    const std::string i = "i" + std::to_string(k);
    const int64_t extent = padded_extent(w, k, spatial[k]);
    nest.loop(i, extent);
    if (w.begin[k] > 0)
      inside.push_back(fmt::format("{} >= {}", i, w.begin[k]));
    if (extent > w.begin[k] + spatial[k])
      inside.push_back(fmt::format("{} < {}", i, w.begin[k] + spatial[k]));
    source.push_back(w.begin[k] > 0 ? fmt::format("{} - {}", i, w.begin[k]) : i);
  }
  const std::string target = at(name, nest.index());
  const std::string load = d.element(0, join(source, ", "));
  if (inside.empty())
    d.add_line(nest.around({target + " = " + load}));
  else
    d.add_line(nest.around({"if " + join(inside, " and ") + ":", "  " + target + " = " + load,
                            "else:", "  " + target + " = " + fill}));
  const bool is_wide = d.type(0) == DataType::U16 || d.type(0) == DataType::U32;
  d.temp(name, is_wide ? "i64" : name_in_program(d.type(0)), nest.shape());
}

} // namespace kawara::program::operators
