#include "run/functions/function.h"

#include <fmt/format.h>

#include <cstring>
#include <type_traits>

namespace kawara::run {
namespace {
namespace of_gather {

int64_t product(const Shape& shape, size_t begin, size_t end) {
  int64_t elements = 1;
  for (size_t k = begin; k < end; ++k)
    elements *= shape[k];
  return elements;
}

std::string outside(int64_t index, int64_t extent) {
  return fmt::format("index {} is outside a dimension of {}", index, extent);
}

/// Index counted from the front; -1 when it is outside.
int64_t position(int64_t index, int64_t extent) {
  return index < -extent || index >= extent ? -1 : index < 0 ? index + extent : index;
}

bool is_index(const Tensor& tensor) {
  return tensor.type() == DataType::I64 || tensor.type() == DataType::I32;
}
constexpr const char* kNoIndices = "the indices must be i32 or i64";

/// f(pointer to the indices) after all of them were found inside, or why one is not.
template <class F>
std::optional<std::string> with_indices(const Tensor& indices, int64_t extent, const F& f) {
  const auto checked = [&](const auto* index) -> std::optional<std::string> {
    bool is_inside = true;
    for (int64_t k = 0; k < indices.elements(); ++k)
      is_inside &= index[k] >= -extent && index[k] < extent;
    for (int64_t k = 0; !is_inside && k < indices.elements(); ++k)
      if (index[k] < -extent || index[k] >= extent)
        return outside(index[k], extent);
    f(index);
    return std::nullopt;
  };
  return indices.type() == DataType::I64 ? checked(indices.as<int64_t>())
                                         : checked(indices.as<int32_t>());
}

/// Counted from the front, of an index that is inside.
int64_t from_front(int64_t index, int64_t extent) { return index < 0 ? index + extent : index; }

/// A number of bytes that the compiler knows; 0: it does not.
template <size_t bytes> using Size = std::integral_constant<size_t, bytes>;
template <size_t known> size_t size_or(Size<known>, int64_t bytes) {
  return known != 0 ? known : static_cast<size_t>(bytes);
}

template <size_t bytes> struct BitsOf { using type = uint8_t; };
template <> struct BitsOf<2> { using type = uint16_t; };
template <> struct BitsOf<4> { using type = uint32_t; };
template <> struct BitsOf<8> { using type = uint64_t; };

/// f with the size of one element, so that copies of it are single instructions.
template <class F> void with_size(int64_t bytes, F f) {
  switch (bytes) {
  case 1:
    return f(Size<1>{});
  case 2:
    return f(Size<2>{});
  case 4:
    return f(Size<4>{});
  case 8:
    return f(Size<8>{});
  default:
    return f(Size<0>{});
  }
}

Outputs gather(const FunctionCall& call) {
  const Tensor &data = call.tensor(0), &indices = call.tensor(1);
  const int64_t axis = axis_of(call.integer("axis", 0), data.rank());
  if (axis < 0)
    return fail(std::string("the axis is outside the tensor"));
  if (!is_index(indices))
    return fail(std::string(kNoIndices));
  const auto cut = static_cast<size_t>(axis);
  const Shape& shape = data.shape();
  const int64_t outer = product(shape, 0, cut), extent = shape[cut];
  const int64_t bytes = product(shape, cut + 1, shape.size()) * graph::bytes_of(data.type());
  Shape result(shape.begin(), shape.begin() + axis);
  result.insert(result.end(), indices.shape().begin(), indices.shape().end());
  result.insert(result.end(), shape.begin() + axis + 1, shape.end());
  Tensor out = call.result(0, data.type(), result);
  const int64_t count = indices.elements();
  const auto problem = with_indices(indices, extent, [&](const auto* index) {
    with_size(bytes, [&](auto size) {
      for (int64_t a = 0; a < outer; ++a)
        for (int64_t k = 0; k < count; ++k)
          std::memcpy(out.data() + (a * count + k) * bytes,
                      data.data() + (a * extent + from_front(index[k], extent)) * bytes,
                      size_or(size, bytes));
    });
  });
  if (problem)
    return fail(*problem);
  return one(std::move(out));
}

/// Row-major steps of each dimension.
std::vector<int64_t> strides_of(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t k = shape.size(); k-- > 1;)
    strides[k - 1] = strides[k] * shape[k];
  return strides;
}

/// A row of indices and what it names in the data: `base` without the coordinate that the indices
/// replace, of which one more is `step` elements; `moves` is 1 where the row's elements lie side by
/// side in the data, too.
struct Row {
  int64_t first = 0, width = 0, base = 0, moves = 0, step = 1;
};

/// Why these indices do not fit the data along the axis.
std::optional<std::string> misfit_along_axis(const Tensor& data, const Tensor& indices,
                                             int64_t axis) {
  if (axis < 0 || indices.rank() != data.rank())
    return "the indices need the dimensions of the data";
  if (!is_index(indices))
    return kNoIndices;
  for (int64_t k = 0; k < data.rank(); ++k)
    if (k != axis && indices.shape()[static_cast<size_t>(k)] > data.shape()[static_cast<size_t>(k)])
      return "the indices are larger than the data";
  return std::nullopt;
}

/// Rows of the indices one after the other; within one only the last coordinate changes.
template <class F> void each_row(const Tensor& data, const Tensor& indices, int64_t axis, F f) {
  const std::vector<int64_t> strides = strides_of(data.shape());
  const size_t last = data.shape().size() - 1;
  Row row;
  row.width = indices.shape()[last];
  row.step = strides[static_cast<size_t>(axis)];
  row.moves = static_cast<int64_t>(last) == axis ? 0 : 1;
  std::vector<int64_t> at(last + 1, 0);
  for (; row.first < indices.elements(); row.first += row.width) {
    row.base = 0;
    for (size_t t = 0; t < last; ++t)
      row.base += static_cast<int64_t>(t) == axis ? 0 : strides[t] * at[t];
    f(row);
    for (size_t t = last; t-- > 0 && ++at[t] == indices.shape()[t];)
      at[t] = 0;
  }
}

/// Calls f(element of `indices`, element of `data`) with the coordinate along `axis` replaced by
/// the index.
template <class F>
std::optional<std::string> along_axis(const Tensor& data, const Tensor& indices, int64_t axis,
                                      F f) {
  if (const auto problem = misfit_along_axis(data, indices, axis))
    return problem;
  const int64_t extent = data.shape()[static_cast<size_t>(axis)];
  return with_indices(indices, extent, [&](const auto* index) {
    each_row(data, indices, axis, [&](const Row& r) {
      for (int64_t k = 0; k < r.width; ++k)
        f(r.first + k, r.base + r.moves * k + from_front(index[r.first + k], extent) * r.step);
    });
  });
}

void copy_element(Tensor& to, int64_t target, const Tensor& from, int64_t source) {
  const int64_t bytes = graph::bytes_of(from.type());
  std::memcpy(to.data() + target * bytes, from.data() + source * bytes, static_cast<size_t>(bytes));
}

/// Rows whose indices are looked up and copied in one pass, which tells whether all of them were
/// inside.
template <class Bits, class Index>
bool gathered_row(const Index* index, int64_t width, const Bits* from, int64_t moves, int64_t step,
                  int64_t extent, Bits* to) {
  bool is_inside = true;
  const auto along = [&](auto next, auto distance) {
    for (int64_t k = 0; k < width; ++k) {
      const auto at = static_cast<uint64_t>(from_front(index[k], extent));
      const bool fits = at < static_cast<uint64_t>(extent);
      is_inside &= fits;
      to[k] = from[next(k) + distance(static_cast<int64_t>(fits ? at : 0))];
    }
  };
  const auto same = [](int64_t k) { return k; };
  const auto scaled = [step](int64_t at) { return at * step; };
  if (moves == 0 && step == 1)
    along([](int64_t) { return int64_t{0}; }, same);
  else if (moves == 1)
    along(same, scaled);
  else
    along([](int64_t) { return int64_t{0}; }, scaled);
  return is_inside;
}

Outputs gather_elements(const FunctionCall& call) {
  const Tensor &data = call.tensor(0), &indices = call.tensor(1);
  Tensor out = call.result(0, data.type(), indices.shape());
  const int64_t axis = axis_of(call.integer("axis", 0), data.rank());
  if (const auto problem = misfit_along_axis(data, indices, axis))
    return fail(*problem);
  const int64_t extent = data.shape()[static_cast<size_t>(axis)];
  bool is_inside = extent > 0 || indices.elements() == 0;
  with_size(is_inside ? graph::bytes_of(data.type()) : 0, [&](auto size) {
    if (!is_inside)
      return;
    // Numbers of that size, not bytes, which could lie anywhere.
    using Bits = typename BitsOf<decltype(size)::value>::type;
    const auto rows_of = [&](const auto* index) {
      each_row(data, indices, axis, [&](const Row& r) {
        is_inside &= gathered_row(index + r.first, r.width, data.as<Bits>() + r.base, r.moves,
                                  r.step, extent, out.as<Bits>() + r.first);
      });
    };
    indices.type() == DataType::I64 ? rows_of(indices.as<int64_t>())
                                    : rows_of(indices.as<int32_t>());
  });
  if (!is_inside) // says which
    return fail(*with_indices(indices, extent, [](const auto*) {}));
  return one(std::move(out));
}

/// The greater or, with `is_max` false, the smaller of two; NaN where one is.
template <class T> T extreme(bool is_max, T a, T b) {
  const bool is_first = a != a || (is_max ? a > b : a < b);
  return is_first ? a : b;
}

/// Neighbouring updates of f32, which most are.
void combine_floats(const std::string& how, float* to, const float* from, int64_t count) {
  const auto each = [&](const auto& merged) {
    for (int64_t k = 0; k < count; ++k)
      to[k] = merged(to[k], from[k]);
  };
  if (how == "add")
    each([](float a, float b) { return a + b; });
  else if (how == "mul")
    each([](float a, float b) { return a * b; });
  else
    each([is_max = how == "max"](float a, float b) { return extreme(is_max, a, b); });
}

/// How an update meets the element that is there.
void combine(const std::string& how, Tensor& to, int64_t target, const Tensor& from,
             int64_t source) {
  if (how == "none")
    return copy_element(to, target, from, source);
  const auto merged = [&](auto a, auto b) {
    return how == "add" ? a + b : how == "mul" ? a * b : extreme(how == "max", a, b);
  };
  if (graph::is_float(to.type()))
    to.set_double(target, merged(to.get_double(target), from.get_double(source)));
  else if (to.type() == DataType::U64)
    to.set_int(target, static_cast<int64_t>(merged(static_cast<uint64_t>(to.get_int(target)),
                                                   static_cast<uint64_t>(from.get_int(source)))));
  else
    to.set_int(target, merged(to.get_int(target), from.get_int(source)));
}

/// f with an element of the C++ type that the tensor's elements have; false for types that are not
/// computed in as they are.
template <class F> bool with_number(DataType type, F f) {
  switch (type) {
  case DataType::F32:
    return f(float{}), true;
  case DataType::F64:
    return f(double{}), true;
  case DataType::I32:
    return f(int32_t{}), true;
  case DataType::I64:
    return f(int64_t{}), true;
  default:
    return false;
  }
}

/// Integers wrap around.
template <class T> T wrapped_sum(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) +
                          static_cast<std::make_unsigned_t<T>>(b));
  else
    return a + b;
}
template <class T> T wrapped_product(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return a * b;
}

/// Calls g with how two elements of type T become one.
template <class T, class G> void with_reduction(const std::string& how, G g) {
  if (how == "none")
    g([](T, T b) { return b; });
  else if (how == "add")
    g([](T a, T b) { return wrapped_sum(a, b); });
  else if (how == "mul")
    g([](T a, T b) { return wrapped_product(a, b); });
  else if (how == "max")
    g([](T a, T b) { return extreme(true, a, b); });
  else
    g([](T a, T b) { return extreme(false, a, b); });
}

std::optional<std::string> known_reduction(const std::string& how) {
  for (const char* known : {"none", "add", "mul", "max", "min"})
    if (how == known)
      return std::nullopt;
  return "attribute `reduction` is `" + how + "`; known are none, add, mul, max, min";
}

Outputs scatter_elements(const FunctionCall& call) {
  const Tensor &data = call.tensor(0), &indices = call.tensor(1), &updates = call.tensor(2);
  const std::string how = call.node.op == "Scatter" ? "none" : call.word("reduction", "none");
  if (const auto problem = known_reduction(how))
    return fail(*problem);
  if (updates.shape() != indices.shape() || updates.type() != data.type())
    return fail(std::string("the updates need the shape of the indices and the type of the data"));
  Tensor out = call.result_like(0, data);
  const int64_t axis = axis_of(call.integer("axis", 0), data.rank());
  std::optional<std::string> problem;
  const bool is_known = with_number(data.type(), [&](auto sample) {
    using T = decltype(sample);
    T* const to = out.as<T>();
    const T* const from = updates.as<T>();
    with_reduction<T>(how, [&](auto merged) {
      problem = along_axis(data, indices, axis, [=](int64_t k, int64_t element) {
        to[element] = merged(to[element], from[k]);
      });
    });
  });
  if (!is_known)
    problem = along_axis(data, indices, axis, [&](int64_t k, int64_t element) {
      combine(how, out, element, updates, k);
    });
  if (problem)
    return fail(*problem);
  return one(std::move(out));
}

/// Rows of coordinates: calls f(row, first element of the slice that they name).
template <class F>
std::optional<std::string> along_rows(const Tensor& data, const Tensor& indices, size_t batch,
                                      F f) {
  if (indices.rank() < 1 || !is_index(indices))
    return kNoIndices;
  const auto depth = static_cast<size_t>(indices.shape().back());
  if (batch + depth > data.shape().size() || batch >= indices.shape().size())
    return fmt::format("rows of {} coordinates do not fit {}", depth, graph::text_of(data.shape()));
  for (size_t k = 0; k < batch; ++k)
    if (data.shape()[k] != indices.shape()[k])
      return "the batch dimensions differ";
  const std::vector<int64_t> strides = strides_of(data.shape());
  const int64_t batches = product(data.shape(), 0, batch);
  const int64_t rows = depth == 0 ? product(indices.shape(), 0, indices.shape().size() - 1)
                                  : indices.elements() / static_cast<int64_t>(depth);
  const int64_t per_batch = batches == 0 ? 0 : rows / batches;
  const int64_t step = batch == 0 ? 0 : strides[batch - 1];
  for (int64_t row = 0; row < rows; ++row) {
    int64_t element = per_batch == 0 ? 0 : row / per_batch * step;
    for (size_t t = 0; t < depth; ++t) {
      const int64_t index =
          indices.get_int(row * static_cast<int64_t>(depth) + static_cast<int64_t>(t));
      const int64_t at = position(index, data.shape()[batch + t]);
      if (at < 0)
        return outside(index, data.shape()[batch + t]);
      element += at * strides[batch + t];
    }
    f(row, element);
  }
  return std::nullopt;
}

Outputs gather_nd(const FunctionCall& call) {
  const Tensor &data = call.tensor(0), &indices = call.tensor(1);
  const auto batch = static_cast<size_t>(std::max<int64_t>(call.integer("batch_dims", 0), 0));
  if (indices.rank() < 1 ||
      batch + static_cast<size_t>(indices.shape().back()) > data.shape().size())
    return fail(std::string("the rows of indices are longer than the data has dimensions"));
  const size_t used = batch + static_cast<size_t>(indices.shape().back());
  const int64_t elements = product(data.shape(), used, data.shape().size());
  Shape shape(indices.shape().begin(), indices.shape().end() - 1);
  shape.insert(shape.end(), data.shape().begin() + static_cast<int64_t>(used), data.shape().end());
  Tensor out = call.result(0, data.type(), shape);
  const int64_t bytes = graph::bytes_of(data.type());
  const auto problem = along_rows(data, indices, batch, [&](int64_t row, int64_t element) {
    std::memcpy(out.data() + row * elements * bytes, data.data() + element * bytes,
                static_cast<size_t>(elements * bytes));
  });
  if (problem)
    return fail(*problem);
  return one(std::move(out));
}

Outputs scatter_nd(const FunctionCall& call) {
  const Tensor &data = call.tensor(0), &indices = call.tensor(1), &updates = call.tensor(2);
  const std::string how = call.word("reduction", "none");
  if (const auto problem = known_reduction(how))
    return fail(*problem);
  if (indices.rank() < 1 || static_cast<size_t>(indices.shape().back()) > data.shape().size())
    return fail(std::string("the rows of indices are longer than the data has dimensions"));
  const auto depth = static_cast<size_t>(indices.shape().back());
  const int64_t elements = product(data.shape(), depth, data.shape().size());
  const int64_t rows = product(indices.shape(), 0, indices.shape().size() - 1);
  if (updates.elements() != rows * elements || updates.type() != data.type())
    return fail(fmt::format("{} updates do not fill {} slices of {} elements", updates.elements(),
                            rows, elements));
  Tensor out = call.result_like(0, data);
  const auto problem = along_rows(data, indices, 0, [&](int64_t row, int64_t element) {
    const int64_t bytes = graph::bytes_of(data.type());
    if (how == "none")
      std::memcpy(out.data() + element * bytes, updates.data() + row * elements * bytes,
                  static_cast<size_t>(elements * bytes));
    else if (data.type() == DataType::F32)
      combine_floats(how, out.as<float>() + element, updates.as<float>() + row * elements,
                     elements);
    else
      for (int64_t k = 0; k < elements; ++k)
        combine(how, out, element + k, updates, row * elements + k);
  });
  if (problem)
    return fail(*problem);
  return one(std::move(out));
}

constexpr Function kAll[] = {{"Gather", 2, gather},
                             {"GatherElements", 2, gather_elements},
                             {"GatherND", 2, gather_nd},
                             {"Scatter", 3, scatter_elements},
                             {"ScatterElements", 3, scatter_elements},
                             {"ScatterND", 3, scatter_nd}};

} // namespace of_gather
} // namespace

std::span<const Function> gather_functions() { return of_gather::kAll; }

} // namespace kawara::run
