#pragma once
// ONNX's operators on sequences: rotary embeddings, windows of signals, reversals.

#include <locus/interop/onnx/lookups.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

/// Pairs of elements are turned by angles that grow with the position, whose cosines and sines are inputs 1 and 2: of
/// (positions, pairs) with positions in input 3, or of (batch, length, pairs).
template <class F>
void rotate_pairs(const Call<F>& call) {
  const F& given = call.numbers(0);
  const bool is_flat = given.rank() == 3;
  const std::int64_t heads = is_flat ? call.integer("num_heads", 0) : 1;
  if ((!is_flat && given.rank() != 4) || heads < 1 || given.size(2) % heads != 0)
    call.fail_here({"an input of shape ", given.shape(), " in ", heads, " heads"});
  const F x = is_flat ? F(reshape(given, {given.size(0), given.size(1), heads, given.size(2) / heads}))
                      : F(transpose(given, 1, 2));  // (batch, length, heads, width)
  const std::int64_t asked = call.integer("rotary_embedding_dim", 0), width = x.size(3),
                     turned = asked > 0 ? asked : width;
  if (asked < 0 || turned > width || turned % 2 != 0)
    call.fail_here({"rotary_embedding_dim ", asked, " of ", width, " elements"});
  const auto angles = [&](std::size_t i) -> F {
    const F& cache = call.numbers(i);
    const Shape shape{x.size(0), x.size(1), 1, turned / 2};
    if (!call.has_input(3)) return reshape(cache, shape);
    return reshape(index_select(cache, 0, call.integers(3).there(call.device()).flatten()), shape);
  };
  const F cosine = angles(1), sine = angles(2);
  const F part = slice(x, 3, 0, turned).eval();
  const bool alternates = call.flag("interleaved");
  const Shape pairs{x.size(0), x.size(1), x.size(2), alternates ? turned / 2 : 2, alternates ? 2 : turned / 2};
  const F paired = reshape(part, pairs);
  const int along = alternates ? 4 : 3;
  const F a = select(paired, along, 0), b = select(paired, along, 1);
  const F first = a * cosine - b * sine, second = a * sine + b * cosine;
  const F rotated = reshape(concat({unsqueeze(first, along), unsqueeze(second, along)}, along), part.shape());
  const F y = turned == width ? rotated : F(concat({rotated, F(slice(x, 3, turned, width).eval())}, 3));
  call.give_like(is_flat ? F(reshape(y, given.shape())) : F(transpose(y, 1, 2)));
}

/// a - b cos(2 pi i / n) + c cos(4 pi i / n), with n one less for a window that is not periodic
template <class F>
void signal_window(const Call<F>& call, double a, double b, double c) {
  using R = compute_t<value_of<F>>;
  const std::int64_t size = call.host_integer(0);
  if (size < 0) call.fail_here({"a window of ", size, " elements"});
  const double step = 6.283185307179586 / static_cast<double>(call.flag("periodic", true) ? size : size - 1);
  const auto turn = (arange<std::int64_t>(0, size, 1, call.device()).template as<R>() * static_cast<R>(step)).eval();
  const auto window = static_cast<R>(a) - cos(turn) * static_cast<R>(b) + cos(turn * R(2)) * static_cast<R>(c);
  const auto type = static_cast<DataType>(call.integer("output_datatype", 1));
  if (!is_floating(type)) call.fail_here({"output_datatype ", to_string(type), "; expected floating-point numbers"});
  call.give_as(type, window.eval().template as<value_of<F>>());
}

/// The first elements of each sequence along the time, as many as input 1 says, in reverse.
template <class F>
void reverse_sequences(const Call<F>& call) {
  const Shape& shape = call.shape(0);
  const int batch = call.axis_of(call.integer("batch_axis", 1), shape.rank()),
            time = call.axis_of(call.integer("time_axis", 0), shape.rank());
  if (batch == time) call.fail_here({"axis ", batch, " for batch and time"});
  call.visit(0, [&](const auto& x) {
    const auto along = [&](const auto& list, int axis) {
      Shape alone = Dims::filled(shape.rank(), 1);
      alone[axis] = shape[axis];
      return reshape(list, alone);
    };
    const auto lengths = along(call.at(call.integers(1), x.device()), batch);
    const auto t = along(arange<std::int64_t>(0, shape[time], 1, x.device()), time);
    const auto from_end = where(t < lengths, lengths - 1 - t, t).eval();
    call.give_like(gather(x, time, expand(from_end, shape).contiguous()));
  });
}
/// Cut or padded at both ends to the extents of input 1; of an odd difference, one more at the end.
template <class F>
void crop_or_pad(const Call<F>& call) {
  const int rank = call.shape(0).rank();
  const Integers wanted = call.host_list(1);
  Integers axes = call.list("axes");
  if (axes.empty())
    for (int d = 0; d < rank; ++d) axes.push_back(d);
  if (axes.size() != wanted.size()) call.fail_here({wanted.size(), " extents for ", axes.size(), " axes"});
  Integers amounts(2 * axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t extent = call.shape(0)[call.axis_of(axes[i], rank)];
    if (wanted[i] < 0) call.fail_here({"an extent of ", wanted[i]});
    amounts[i] = wanted[i] < extent ? -((extent - wanted[i]) / 2) : (wanted[i] - extent) / 2;
    amounts[i + axes.size()] = wanted[i] - extent - amounts[i];
  }
  const PadAmounts around = pad_amounts(call, amounts, axes, rank);
  reshape_by(call, [&]<class X>(const X& x) { return pad(x, around, PadMode::constant, compute_t<value_of<X>>{}); });
}

template <class F>
inline constexpr Operation<F> sequences[] = {
    {"BlackmanWindow", [](const Call<F>& c) { signal_window(c, 0.42, 0.5, 0.08); }},
    {"CenterCropPad", &crop_or_pad<F>},
    {"HammingWindow", [](const Call<F>& c) { signal_window(c, 25.0 / 46, 21.0 / 46, 0); }},
    {"HannWindow", [](const Call<F>& c) { signal_window(c, 0.5, 0.5, 0); }},
    {"ReverseSequence", &reverse_sequences<F>},
    {"RotaryEmbedding", &rotate_pairs<F>},
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
