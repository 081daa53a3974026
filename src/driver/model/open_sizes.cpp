#include "driver/model/open_sizes.h"

#include "graph/errors.h"
#include "support/names_text.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::driver {
namespace {

using graph::Dim;
using graph::Graph;
using graph::Shape;
using graph::Value;

class Sizes {
public:
  Sizes(const Graph& graph, const InputSizes& sizes) : graph_(graph), sizes_(sizes) {}

  Result<std::map<std::string, Shape>, Diagnostic>
  resolved(const std::map<std::string, run::Datum>& given) {
    if (auto problem = wrong_symbol())
      return fail(*std::move(problem));
    for (const auto& [name, size] : sizes_.symbols)
      known_[name] = {size, "is given as " + std::to_string(size)};
    for (const auto& [name, shape] : sizes_.shapes)
      if (auto problem = learn(name, shape, "--shape"))
        return fail(*std::move(problem));
    for (const auto& [name, datum] : given) {
      if (datum.is_sequence || !datum.tensor || !find(name))
        continue; // said where inputs are checked
      const auto other = sizes_.shapes.find(name);
      if (other != sizes_.shapes.end() && other->second != datum.tensor.shape())
        return fail(misfit(*find(name), other->second,
                           "the input that is given is " + graph::text_of(datum.tensor.shape())));
      if (has_declared_form(*find(name), datum.tensor.shape()))
        if (auto problem = learn(name, datum.tensor.shape(), "the input"))
          return fail(*std::move(problem));
    }
    return shapes_without(given);
  }

private:
  struct Known {
    int64_t size = 0;
    std::string from; ///< "is 4 in `x`"
  };

  const Value* find(const std::string& name) const {
    for (const graph::ValueId id : graph_.inputs)
      if (graph_.values[id].name == name)
        return &graph_.values[id];
    return nullptr;
  }

  std::vector<std::string> symbols() const {
    std::vector<std::string> names;
    for (const graph::ValueId id : graph_.inputs)
      for (const Dim& dim : graph_.values[id].type.shape.value_or(std::vector<Dim>()))
        if (!dim.size && !dim.symbol.empty() &&
            std::find(names.begin(), names.end(), dim.symbol) == names.end())
          names.push_back(dim.symbol);
    return names;
  }

  std::optional<Diagnostic> wrong_symbol() const {
    const std::vector<std::string> known = symbols();
    for (const auto& [name, size] : sizes_.symbols) {
      const bool is_known = std::find(known.begin(), known.end(), name) != known.end();
      if (is_known && size >= 0)
        continue;
      const auto meant = is_known ? std::nullopt : closest(name, known);
      return graph::model_error(
          "K0569",
          fmt::format("`{}` cannot have {} = {}", printable(graph_.name), printable(name), size),
          is_known        ? "A size is not negative."
          : known.empty() ? "The shapes of its inputs have no symbols."
          : known.size() == 1
              ? "The only symbol in the shapes of its inputs is " + printable(known.front()) + "."
              : "The symbols in the shapes of its inputs are " + printable(join(known, ", ")) + ".",
          meant ? "did you mean `" + printable(*meant) + "`?" : "");
    }
    return std::nullopt;
  }

  Diagnostic misfit(const Value& value, const Shape& shape, const std::string& why) const {
    return graph::model_error("K0571",
                              fmt::format("input `{}` cannot have the shape {}",
                                          printable(value.name), graph::text_of(shape)),
                              fmt::format("It is declared as {}{}.", graph::text_of(value.type),
                                          why.empty() ? "" : ", and " + why),
                              "");
  }

  Diagnostic no_such_input(const std::string& name) const {
    std::vector<std::string> names;
    for (const graph::ValueId id : graph_.inputs)
      names.push_back(printable(graph_.values[id].name));
    const auto meant = closest(name, names);
    return graph::model_error("K0520", "no input is called `" + printable(name) + "`",
                              names_text("The model", "input", names),
                              meant ? "did you mean `" + *meant + "`?" : "");
  }

  static bool has_declared_form(const Value& value, const Shape& shape) {
    if (!value.type.shape)
      return true;
    if (value.type.shape->size() != shape.size())
      return false;
    for (size_t k = 0; k < shape.size(); ++k)
      if ((*value.type.shape)[k].size && *(*value.type.shape)[k].size != shape[k])
        return false;
    return true;
  }

  /// Takes the sizes of symbols from the shape of an input.
  std::optional<Diagnostic> learn(const std::string& name, const Shape& shape,
                                  const std::string& from) {
    const Value* value = find(name);
    if (value == nullptr)
      return no_such_input(name);
    const bool is_negative =
        std::any_of(shape.begin(), shape.end(), [](int64_t n) { return n < 0; });
    if (is_negative || !has_declared_form(*value, shape))
      return misfit(*value, shape, "");
    for (size_t k = 0; value->type.shape && k < shape.size(); ++k) {
      const std::string& symbol = (*value->type.shape)[k].symbol;
      if ((*value->type.shape)[k].size || symbol.empty())
        continue;
      const auto [at, is_new] = known_.emplace(
          symbol, Known{shape[k], fmt::format("is {} in {} `{}`", shape[k],
                                              from == "--shape" ? "the shape of" : "the input",
                                              printable(name))});
      if (!is_new && at->second.size != shape[k])
        return misfit(*value, shape, fmt::format("`{}` {}", printable(symbol), at->second.from));
    }
    return std::nullopt;
  }

  std::optional<int64_t> extent(const Dim& dim) const {
    if (dim.size)
      return dim.size;
    const auto at = known_.find(dim.symbol);
    return dim.symbol.empty() || at == known_.end() ? std::nullopt : std::optional(at->second.size);
  }

  Result<std::map<std::string, Shape>, Diagnostic>
  shapes_without(const std::map<std::string, run::Datum>& given) const {
    std::map<std::string, Shape> shapes;
    std::vector<const Value*> open;
    for (const graph::ValueId id : graph_.inputs) {
      const Value& value = graph_.values[id];
      if (given.count(value.name) || value.type.kind != graph::ValueType::Kind::Tensor ||
          !value.type.elem)
        continue;
      if (const auto at = sizes_.shapes.find(value.name); at != sizes_.shapes.end()) {
        shapes[value.name] = at->second;
        continue;
      }
      Shape shape;
      bool is_open = !value.type.shape;
      for (const Dim& dim : value.type.shape.value_or(std::vector<Dim>())) {
        is_open = is_open || !extent(dim);
        shape.push_back(extent(dim).value_or(1));
      }
      if (is_open)
        open.push_back(&value);
      shapes[value.name] = std::move(shape);
    }
    // A misspelt name is why the sizes are open.
    for (const auto& [name, datum] : given)
      if (!open.empty() && find(name) == nullptr)
        return fail(no_such_input(name));
    if (!open.empty())
      return fail(open_sizes(open));
    return shapes;
  }

  /// "2x?x3": what is known of a shape.
  std::string typed_shape(const Value& value) const {
    std::vector<std::string> extents;
    for (const Dim& dim : value.type.shape.value_or(std::vector<Dim>(2)))
      extents.push_back(extent(dim) ? std::to_string(*extent(dim)) : "?");
    return join(extents, "x");
  }

  /// Symbols without a size in the shapes of these values.
  std::vector<std::string> open_symbols(const std::vector<const Value*>& values) const {
    std::vector<std::string> names;
    for (const Value* value : values)
      for (const Dim& dim : value->type.shape.value_or(std::vector<Dim>()))
        if (!extent(dim) && !dim.symbol.empty() &&
            std::find(names.begin(), names.end(), printable(dim.symbol)) == names.end())
          names.push_back(printable(dim.symbol));
    return names;
  }

  /// Has it sizes that `-p` cannot give?
  bool is_nameless(const Value& value) const {
    const auto dims = value.type.shape.value_or(std::vector<Dim>(1));
    return std::any_of(dims.begin(), dims.end(),
                       [&](const Dim& dim) { return !extent(dim) && dim.symbol.empty(); });
  }

  /// Options that give all sizes: shapes of `values`, and the symbols that these do not have.
  std::string options_for(const std::vector<const Value*>& values,
                          const std::vector<const Value*>& open) const {
    std::vector<std::string> options, sizes;
    for (const Value* value : values)
      options.push_back(fmt::format("--shape {}={}", printable(value->name), typed_shape(*value)));
    const std::vector<std::string> told = open_symbols(values);
    for (const std::string& name : open_symbols(open))
      if (std::find(told.begin(), told.end(), name) == told.end())
        sizes.push_back(name + "=?");
    if (!sizes.empty())
      options.insert(options.begin(), "-p " + join(sizes, ","));
    return join(options, " ");
  }

  /// The first of many; a model may have an input for each of its layers.
  static std::string shortened(std::vector<std::string> parts, const std::string& separator) {
    const size_t more = parts.size() > kShown + 1 ? parts.size() - kShown : 0;
    parts.resize(parts.size() - more);
    if (more > 0)
      parts.push_back(fmt::format("... and {} more", more));
    return join(parts, separator);
  }
  static constexpr size_t kShown = 4;

  /// All that is open at once, and each way to say it. Which sizes a model takes only its nodes
  /// know: `?` stands for one.
  Diagnostic open_sizes(const std::vector<const Value*>& open) const {
    std::vector<std::string> lines, files;
    std::vector<const Value*> nameless;
    for (const Value* value : open) {
      lines.push_back(fmt::format("{}: {}", printable(value->name), graph::text_of(value->type)));
      files.push_back(fmt::format("--input {}=FILE.npy", printable(value->name)));
      if (is_nameless(*value))
        nameless.push_back(value);
    }
    Diagnostic d;
    d.code = "K0570";
    d.headline = fmt::format("`{}` needs sizes that are not given", printable(graph_.name));
    d.body.push_back(shortened(lines, "\n"));
    d.help.push_back({"give a size for each `?`", options_for(nameless, open), false});
    if (nameless.empty() && open.size() <= kShown)
      d.help.push_back({"or shapes", options_for(open, open), false});
    d.help.push_back({files.size() == 1 ? "or give the tensor" : "or give the tensors",
                      shortened(files, " "), false});
    return d;
  }

  const Graph& graph_;
  const InputSizes& sizes_;
  std::map<std::string, Known> known_;
};

} // namespace

Result<std::map<std::string, Shape>, Diagnostic>
shapes_of_inputs(const Graph& graph, const std::map<std::string, run::Datum>& given,
                 const InputSizes& sizes) {
  return Sizes(graph, sizes).resolved(given);
}

} // namespace kawara::driver
