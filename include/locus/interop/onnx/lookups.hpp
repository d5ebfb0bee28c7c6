#pragma once
// ONNX's operators that pick, put or make elements by number.

#include <locus/interop/onnx/shaping.hpp>
#include <locus/ops/cumulative.hpp>
#include <locus/ops/extreme.hpp>
#include <locus/ops/index.hpp>
#include <locus/ops/scatter.hpp>
#include <locus/ops/sort.hpp>
#include <locus/ops/unique.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

/// Indices below 0 counted from the end.
template <class E>
[[nodiscard]] Tensor<std::int64_t, E> from_front(const Tensor<std::int64_t, E>& indices, std::int64_t extent) {
  return where(indices < 0, indices + extent, indices);
}
/// f(x, indices) of input 0 and the integers of input 1, in one place.
template <class F, class Do>
void with_indices(const Call<F>& call, const Do& f) {
  if (const F* x = call.input(0).numbers()) return call.give_like(f(*x, call.integers(1).there(call.device())));
  call.in_place([&](auto place) {
    const auto& indices = call.at(call.integers(1), place);
    if (const auto* integers = call.input(0).integers()) call.give_like(f(call.at(*integers, place), indices));
    else call.give_like(f(call.at(call.bools(0), place), indices));
  });
}
/// f(x, indices, updates), likewise.
template <class F, class Do>
void with_updates(const Call<F>& call, const Do& f) {
  if (const F* x = call.input(0).numbers())
    return call.give_like(f(*x, call.integers(1).there(call.device()), call.numbers(2)));
  call.in_place([&](auto place) {
    const auto& indices = call.at(call.integers(1), place);
    if (const auto* integers = call.input(0).integers())
      call.give_wrapped(call.input(0).type(), f(call.at(*integers, place), indices, call.at(call.integers(2), place)));
    else call.give_like(f(call.at(call.bools(0), place), indices, call.at(call.bools(2), place)));
  });
}

template <class F>
void gather_slices(const Call<F>& call) {
  const int axis = call.axis_of(call.integer("axis", 0), call.shape(0).rank());
  Shape result;
  for (int d = 0; d < axis; ++d) result.push_back(call.shape(0)[d]);
  for (const std::int64_t extent : call.shape(1)) result.push_back(extent);
  for (int d = axis + 1; d < call.shape(0).rank(); ++d) result.push_back(call.shape(0)[d]);
  with_indices(call, [&](const auto& x, const auto& indices) {
    return reshape(index_select(x, axis, from_front(indices, x.size(axis)).flatten()), result);
  });
}
template <class F>
void gather_elements(const Call<F>& call) {
  const int axis = call.axis_of(call.integer("axis", 0), call.shape(0).rank());
  with_indices(call,
               [&](const auto& x, const auto& indices) { return gather(x, axis, from_front(indices, x.size(axis))); });
}

/// The numbers of the slices whose coordinates are the last dimension of `indices`. The first `batch` dimensions are
/// those of `shape`. Coordinates out of range give a negative number.
template <class E>
[[nodiscard]] Tensor<std::int64_t, E> slice_numbers(const Tensor<std::int64_t, E>& indices, const Shape& shape,
                                                    int batch) {
  const std::int64_t depth = indices.size(-1);
  std::int64_t batches = 1;
  for (int d = 0; d < batch; ++d) batches *= shape[d];
  const Tensor<std::int64_t, E> each = reshape(indices, {batches, -1, depth});
  Tensor<std::int64_t, E> number = arange<std::int64_t>(0, batches, 1, indices.device()).unsqueeze(1);
  for (int d = 0; d < depth; ++d) {
    const std::int64_t extent = shape[batch + d];
    const Tensor<std::int64_t, E> index = from_front(each.select(2, d).contiguous(), extent);
    number = number * extent + where(index >= 0 && index < extent, index, index * 0 - elements(shape));
  }
  return number.flatten();
}
/// The shape as a matrix, with a row for each slice that has `depth` coordinates.
[[nodiscard]] inline Shape slices_of(const Shape& shape, int batch, std::int64_t depth) {
  return matrix_at(shape, batch + static_cast<int>(depth));
}
template <class F>
void require_depth(const Call<F>& call, int batch) {
  const Shape &x = call.shape(0), &indices = call.shape(1);
  bool fits = batch >= 0 && batch < indices.rank() && indices[-1] >= 1 && indices[-1] <= x.rank() - batch;
  for (int d = 0; d < batch && fits; ++d) fits = indices[d] == x[d];
  if (!fits) call.fail_here({"indices of shape ", indices, " for a tensor of shape ", x});
}
template <class F>
void gather_by_coordinates(const Call<F>& call) {
  const int batch = static_cast<int>(call.integer("batch_dims", 0));
  require_depth(call, batch);
  const Shape &x_shape = call.shape(0), &indices_shape = call.shape(1);
  Shape result;
  for (int d = 0; d + 1 < indices_shape.rank(); ++d) result.push_back(indices_shape[d]);
  for (int d = batch + static_cast<int>(indices_shape[-1]); d < x_shape.rank(); ++d) result.push_back(x_shape[d]);
  with_indices(call, [&](const auto& x, const auto& indices) {
    const auto slices = reshape(x, slices_of(x_shape, batch, indices_shape[-1]));
    return reshape(index_select(slices, 0, slice_numbers(indices, x_shape, batch)), result);
  });
}
/// What becomes of an element and the updates for its place.
enum class Scattering { replace, add, multiply, largest, smallest };
template <class F>
[[nodiscard]] Scattering scattering_of(const Call<F>& call) {
  const auto word = call.text("reduction", "none");
  if (word == "add") return Scattering::add;
  if (word == "mul") return Scattering::multiply;
  if (word == "max") return Scattering::largest;
  if (word == "min") return Scattering::smallest;
  call.require_text("reduction", "none");
  return Scattering::replace;
}
/// The product, maximum or minimum.
template <class X>
[[nodiscard]] X combined(Scattering how, const X& a, const X& b) {
  if (how == Scattering::multiply) return a * b;
  if (how == Scattering::largest) return maximum(a, b);
  return minimum(a, b);
}
/// Combines the updates of one place. Each pass combines neighbours in pairs, so that there are as many passes as the
/// logarithm of the most updates of a place.
template <class I, class X>
void combine_equal(Scattering how, I& places, X& updates) {
  const auto pick = [&](const I& at) { places = index_select(places, 0, at), updates = index_select(updates, 0, at); };
  pick(argsort(places));
  const I number = arange<std::int64_t>(0, places.elements(), 1, places.device());
  const I before = pad(places, {1, -1}, PadMode::constant, std::int64_t{-1});
  I rank = number - cummax(where(places == before, std::int64_t{0}, number), 0).values;  // among updates of its place
  while (max(rank).item() > 0) {
    const I next_rank = pad(rank, {-1, 1}, PadMode::constant, std::int64_t{0});
    const auto is_first = (rank % 2 == 0).eval(), is_pair = (is_first && next_rank > rank).eval();
    updates = where(is_pair, combined(how, updates, X(pad(updates, {-1, 1}))), updates);
    const I kept = nonzero(is_first).flatten();
    pick(kept);
    rank = index_select(rank, 0, kept) / 2;
  }
}
/// x, flat, with updates combined with its elements at places, of which there are as many.
template <class X, class I>
[[nodiscard]] X scatter_by(Scattering how, const X& x, I places, X updates) {
  if (places.elements() == 0) return x;
  combine_equal(how, places, updates);
  return index_copy(x, 0, places, combined(how, X(index_select(x, 0, places)), updates));
}
/// The positions of the elements of slices, given the numbers of the slices. Numbers below 0 stay out of range.
template <class E>
[[nodiscard]] Tensor<std::int64_t, E> positions_in(const Tensor<std::int64_t, E>& slices, std::int64_t size) {
  const auto within = arange<std::int64_t>(0, size, 1, slices.device());
  return (slices.unsqueeze(1) * size + within).eval().flatten();
}
template <class F>
void scatter_by_coordinates(const Call<F>& call) {
  require_depth(call, 0);
  const Scattering how = scattering_of(call);
  const Shape& shape = call.shape(0);
  with_updates(call, [&]<class X>(const X& x, const auto& indices, const auto& updates) -> X {
    const auto slices = reshape(x, slices_of(shape, 0, call.shape(1)[-1]));
    const auto rows = reshape(updates, {-1, slices.size(1)});
    const auto numbers = slice_numbers(indices, shape, 0);
    if (how == Scattering::replace) return reshape(index_copy(slices, 0, numbers, rows), shape);
    if constexpr (!std::is_same_v<value_of<X>, bool>) {
      if (how == Scattering::add) return reshape(index_add(slices, 0, numbers, rows), shape);
      if (rows.size(0) != numbers.size(0))
        call.fail_here({"updates of shape ", updates.shape(), " for indices of shape ", indices.shape()});
      return reshape(
          scatter_by(how, X(reshape(x, {-1})), positions_in(numbers, slices.size(1)), X(reshape(updates, {-1}))),
          shape);
    } else {
      call.fail_type(0, "numbers or integers, for a reduction");
    }
  });
}
template <class F>
void scatter_elements(const Call<F>& call) {
  const int axis = call.axis_of(call.integer("axis", 0), call.shape(0).rank());
  const Scattering how = scattering_of(call);
  with_updates(call, [&]<class X>(const X& x, const auto& given, const auto& updates) -> X {
    const auto indices = from_front(given, x.size(axis));
    if (how == Scattering::replace) return scatter(x, axis, indices, updates);
    if constexpr (!std::is_same_v<value_of<X>, bool>) {
      if (how == Scattering::add) return scatter_add(x, axis, indices, updates);
      if (updates.shape() != indices.shape())
        call.fail_here({"updates of shape ", updates.shape(), " for indices of shape ", indices.shape()});
      const auto numbers = reshape(arange<std::int64_t>(0, x.elements(), 1, indices.device()), x.shape());
      Tensor<std::int64_t, std::remove_cvref_t<decltype(indices.device())>> within = numbers;
      for (int d = 0; d < x.rank(); ++d)
        if (d != axis && d < indices.rank()) within = slice(within, d, 0, indices.size(d));
      const auto places = gather(within, axis, indices).flatten();
      return reshape(scatter_by(how, X(reshape(x, {-1})), Tensor(places), X(reshape(updates, {-1}))), x.shape());
    } else {
      call.fail_type(0, "numbers or integers, for a reduction");
    }
  });
}

template <class F>
void one_hot_of(const Call<F>& call) {
  const double wanted = call.host_number(1);
  if (!(wanted >= 0 && wanted < 0x1p53)) call.fail_here({"depth ", wanted, "; expected 0 or more"});
  const auto depth = static_cast<std::int64_t>(wanted);
  const int rank = call.shape(0).rank() + 1, axis = call.axis_of(call.integer("axis", -1), rank);
  Shape along = Dims::filled(rank, 1);
  along[axis] = depth;
  const auto choose_by = [&](const auto& is_hot, const auto& values) {
    call.give_as(call.input(2).type(), where(is_hot, values.select(0, 1), values.select(0, 0)));
  };
  const auto hot = [&](const auto& indices) {
    const auto classes = reshape(arange<std::int64_t>(0, depth, 1, indices.device()), along);
    return (from_front(indices, depth).unsqueeze(axis) == classes).eval();
  };
  const auto indices_there = [&]() -> Tensor<std::int64_t, device_of<F>> {
    if (call.input(0).numbers()) return call.plain(0).template as<std::int64_t>();
    return call.integers(0).there(call.device());
  };
  if (const F* values = call.input(2).numbers()) return choose_by(hot(indices_there()), *values);
  if (call.input(0).numbers()) return choose_by(hot(indices_there()), call.integers(2).there(call.device()));
  call.in_place([&](auto place) {
    const auto is_hot = hot(call.at(call.integers(0), place));
    if (call.input(2).integers()) choose_by(is_hot, call.at(call.integers(2), place));
    else choose_by(is_hot, call.at(call.bools(2), place));
  });
}
template <class F>
void largest_elements(const Call<F>& call) {
  const int axis = call.axis_of(call.integer("axis", -1), call.shape(0).rank());
  const std::int64_t k = call.host_integer(1);
  const bool is_largest = call.flag("largest", true);
  call.visit(0, [&]<class X>([[maybe_unused]] const X& x) {
    if constexpr (std::is_same_v<value_of<X>, bool>) call.fail_type(0, "numbers");
    else {
      const auto found = topk(x, k, axis, is_largest);
      call.give_like(found.values);
      call.give(1, Value<F>(DataType::int64, found.indices));
    }
  });
}
template <class F>
void nonzero_of(const Call<F>& call) {
  if (call.input(0).numbers()) return call.give_as(DataType::int64, nonzero(call.plain(0)).transpose(0, 1));
  call.visit(0, [&]<class X>([[maybe_unused]] const X& x) {
    if constexpr (!std::is_same_v<X, F>) call.give_as(DataType::int64, nonzero(x).transpose(0, 1));
  });
}
template <class F>
void compress_input(const Call<F>& call) {
  const bool is_flat = !call.has("axis");
  const int axis = is_flat ? 0 : call.axis_of(call.integer("axis", 0), call.shape(0).rank());
  const auto pick = [&](const auto& x, const auto& condition) {
    const auto places = nonzero(condition).select(1, 0).contiguous();
    if (is_flat) call.give_like(index_select(reshape(x, {-1}), 0, places));
    else call.give_like(index_select(x, axis, places));
  };
  if (const F* x = call.input(0).numbers()) return pick(*x, call.bools(1).there(call.device()));
  call.in_place([&](auto place) {
    const auto& condition = call.at(call.bools(1), place);
    if (call.input(0).integers()) pick(call.at(call.integers(0), place), condition);
    else pick(call.at(call.bools(0), place), condition);
  });
}

template <class F>
void range_of(const Call<F>& call) {
  using R = compute_t<value_of<F>>;
  if (call.input(0).integers()) {
    const std::int64_t start = call.host_integer(0), limit = call.host_integer(1), step = call.host_integer(2);
    if (step == 0) call.fail_here({"a step of 0"});
    if ((step > 0) != (limit > start)) return give_list(call, {});
    return call.give_as(call.input(0).type(), arange<std::int64_t>(start, limit, step));
  }
  const double start = call.host_number(0), limit = call.host_number(1), step = call.host_number(2);
  const double count = __builtin_ceil((limit - start) / step);
  if (!(count < 1e15)) call.fail_here({"a range of ", count, " numbers"});
  const auto size = count > 0 ? static_cast<std::int64_t>(count) : 0;
  const auto numbers =
      arange<std::int64_t>(0, size, 1, call.device()).template as<R>() * static_cast<R>(step) + static_cast<R>(start);
  call.give_as(call.input(0).type(), numbers.eval().template as<value_of<F>>());
}
/// A tensor filled with the number of the attribute `value`.
template <class F>
void constant_of_shape(const Call<F>& call) {
  const Shape shape(call.host_list(0));
  const auto* value = call.template attribute<TensorData>("value");
  if (!value) return call.give_as(DataType::float32, full<value_of<F>>(shape, 0.f, call.device()));
  if (value->bytes.elements() == 0 || element_count(name_of(*value), value->shape) != 1)
    call.fail_here({"attribute value has several elements; expected one"});
  if (is_floating(value->type))
    return call.give_as(value->type, full<value_of<F>>(shape, *tensor_as<value_of<F>>(*value).data(), call.device()));
  const std::int64_t number = *tensor_as<std::int64_t>(*value).data();
  if (value->type == DataType::boolean) return call.give_as(value->type, full<bool>(shape, number != 0));
  call.give_as(value->type, full<std::int64_t>(shape, number));
}
template <class F>
void eye_like(const Call<F>& call) {
  const Shape& shape = call.shape(0);
  if (shape.rank() != 2) call.fail_here({"shape ", shape, "; expected a matrix"});
  const auto type = static_cast<DataType>(call.integer("dtype", static_cast<std::int64_t>(call.input(0).type())));
  const auto rows = arange<std::int64_t>(0, shape[0], 1, call.device()).unsqueeze(1);
  const auto columns = arange<std::int64_t>(0, shape[1], 1, call.device());
  const auto is_one = (rows + call.integer("k", 0) == columns).eval();
  if (type == DataType::boolean) call.give_as(type, is_one);
  else if (is_floating(type)) call.give_as(type, is_one.template as<value_of<F>>());
  else call.give_as(type, is_one.template as<std::int64_t>());
}

template <class F>
inline constexpr Operation<F> lookups[] = {
    {"Compress", &compress_input<F>},
    {"ConstantOfShape", &constant_of_shape<F>},
    {"EyeLike", &eye_like<F>},
    {"Gather", &gather_slices<F>},
    {"GatherElements", &gather_elements<F>},
    {"GatherND", &gather_by_coordinates<F>},
    {"NonZero", &nonzero_of<F>},
    {"OneHot", &one_hot_of<F>},
    {"Range", &range_of<F>},
    {"Scatter", &scatter_elements<F>},
    {"ScatterElements", &scatter_elements<F>},
    {"ScatterND", &scatter_by_coordinates<F>},
    {"TopK", &largest_elements<F>},
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
