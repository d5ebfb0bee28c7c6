#pragma once
// The cells of recurrent layers: a step from the sums of its gates to the state, one launch, and its derivative, one
// launch. Formulas and the order of gates are PyTorch's.

#include <locus/core/math.hpp>
#include <locus/expr/functors.hpp>
#include <locus/ops/reduction.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// outputs = f(inputs) over matrices of one shape. Empty inputs read as 0, empty outputs are discarded. One launch.
template <class F, class T, class D, std::size_t n, std::size_t m>
void map_states(const F& f, const Shape& shape, D device, const Tensor<T, D> (&in)[n], const Tensor<T, D> (&out)[m]) {
  [&]<std::size_t... i, std::size_t... o>(std::index_sequence<i...>, std::index_sequence<o...>) {
    const auto plan = make_plan<static_cast<int>(n + m)>(shape, {operand_of(in[i])..., operand_of(out[o])...});
    const auto input = [](const T* data) { return data; };
    Backend<D>::map(device, plan, f, Pack<decltype(input(in[i].data()))...>(in[i].data()...),
                    Pack<decltype(out[o].data())...>(out[o].data()...));
  }(std::make_index_sequence<n>(), std::make_index_sequence<m>());
}

/// Columns [gate * width, (gate + 1) * width).
template <class T, class D>
[[nodiscard]] Tensor<T, D> gate_columns(const Tensor<T, D>& sums, std::int64_t gate, std::int64_t width) {
  return sums.buffer() ? sums.slice(1, gate * width, (gate + 1) * width) : Tensor<T, D>();
}

template <class T, class D>
[[nodiscard]] Tensor<T, D> sum_of_biases(const Tensor<T, D>& b_ih, const Tensor<T, D>& b_hh) {
  if (!b_ih.buffer()) return {};
  const Tensor<T, D> sum(b_ih.shape(), b_ih.device());
  map_into(sum, functor::Add{}, b_ih, b_hh);
  return sum;
}

/// The matrices of one step that its forward launch reads and writes.
template <class T, class D>
struct CellStep {
  Tensor<T, D> sums;          ///< (batch, gates * width): of the input, and of the state unless the cell keeps it apart
  Tensor<T, D> hidden_sums;   ///< of the state, if the cell keeps it apart; empty: 0
  Tensor<T, D> bias;          ///< as joint_bias returns it, for each row; empty: 0
  Tensor<T, D> gates;         ///< receives the gates for backward, in place of `sums`; empty: not kept
  Tensor<T, D> kept;          ///< receives what backward needs of `hidden_sums`; empty: not kept
  Tensor<T, D> before;        ///< the hidden state before the step; empty: 0
  Tensor<T, D> cell_before;   ///< the cell before the step; empty: 0
  Tensor<T, D> cell, hidden;  ///< receive the new state
};
/// The matrices of one step of the backward pass.
template <class T, class D>
struct CellAdjoint {
  Tensor<T, D> gates, kept;            ///< as forward kept them
  Tensor<T, D> before, cell_before;    ///< the state before the step; empty: 0
  Tensor<T, D> cell, hidden;           ///< the state after it
  Tensor<T, D> d_output;               ///< the adjoint of the output; empty: 0
  Tensor<T, D> d_hidden, d_cell;       ///< the adjoint of the state after the step; of `before`, in part, afterwards
  Tensor<T, D> d_sums, d_hidden_sums;  ///< receive the adjoints of both sums
};

/// h = f(sum).
template <class F>
struct RnnCell {
  static constexpr const char* name = "rnn";
  static constexpr std::int64_t gates = 1;
  static constexpr bool has_cell = false;      ///< whether the state has a cell besides h
  static constexpr bool keeps_gates = false;   ///< whether backward reads the gates
  static constexpr bool sums_apart = false;    ///< whether the sums of input and state stay apart
  static constexpr bool passes_state = false;  ///< whether the state enters the next one without weights

  template <class R>
  struct Step {
    LOCUS_FN void operator()(R sum, R bias, R& h) const { h = F{}(sum + bias); }
  };
  template <class R>
  struct Adjoint {
    LOCUS_FN void operator()(R h, R d_output, R d_hidden, R& d_sum) const {
      d_sum = (d_output + d_hidden) * F{}.by_output(h);
    }
  };
  /// b_ih + b_hh, in one launch; empty without biases.
  template <class T, class D>
  [[nodiscard]] static Tensor<T, D> joint_bias(const Tensor<T, D>& b_ih, const Tensor<T, D>& b_hh) {
    return sum_of_biases(b_ih, b_hh);
  }
  template <class T, class D>
  static void step(const CellStep<T, D>& s) {
    map_states(Step<compute_t<T>>{}, s.hidden.shape(), s.hidden.device(), {s.sums, s.bias}, {s.hidden});
  }
  template <class T, class D>
  static void backward(const CellAdjoint<T, D>& s) {
    map_states(Adjoint<compute_t<T>>{}, s.hidden.shape(), s.hidden.device(), {s.hidden, s.d_output, s.d_hidden},
               {s.d_sums});
  }
};

/// Gates: input i, forget f, cell g, output o.
///     c' = f c + i g     h' = o tanh(c')
struct LstmCell {
  static constexpr const char* name = "lstm";
  static constexpr std::int64_t gates = 4;
  static constexpr bool has_cell = true, keeps_gates = true, sums_apart = false, passes_state = false;

  template <class R>
  struct Step {
    LOCUS_FN void operator()(R sum_i, R sum_f, R sum_g, R sum_o, R bi, R bf, R bg, R bo, R c, R& i, R& f, R& g, R& o,
                             R& cell, R& h) const {
      i = math::sigmoid(sum_i + bi), f = math::sigmoid(sum_f + bf), g = math::tanh(sum_g + bg);
      o = math::sigmoid(sum_o + bo);
      cell = f * c + i * g;
      h = o * math::tanh(cell);
    }
  };
  template <class R>
  struct Adjoint {
    LOCUS_FN void operator()(R i, R f, R g, R o, R c, R cell, R d_output, R d_hidden, R d_cell, R& di, R& df, R& dg,
                             R& dout, R& dc) const {
      const R squashed = math::tanh(cell), dh = d_output + d_hidden;
      const R d = d_cell + dh * o * (R(1) - squashed * squashed);
      di = d * g * i * (R(1) - i);
      df = d * c * f * (R(1) - f);
      dg = d * i * (R(1) - g * g);
      dout = dh * squashed * o * (R(1) - o);
      dc = d * f;
    }
  };
  /// b_ih + b_hh, in one launch; empty without biases.
  template <class T, class D>
  [[nodiscard]] static Tensor<T, D> joint_bias(const Tensor<T, D>& b_ih, const Tensor<T, D>& b_hh) {
    return sum_of_biases(b_ih, b_hh);
  }
  template <class T, class D>
  static void step(const CellStep<T, D>& s) {
    const std::int64_t w = s.hidden.size(1);
    const auto of = [&](const Tensor<T, D>& sums, std::int64_t gate) { return gate_columns(sums, gate, w); };
    map_states(Step<compute_t<T>>{}, s.hidden.shape(), s.hidden.device(),
               {of(s.sums, 0), of(s.sums, 1), of(s.sums, 2), of(s.sums, 3), of(s.bias, 0), of(s.bias, 1), of(s.bias, 2),
                of(s.bias, 3), s.cell_before},
               {of(s.gates, 0), of(s.gates, 1), of(s.gates, 2), of(s.gates, 3), s.cell, s.hidden});
  }
  template <class T, class D>
  static void backward(const CellAdjoint<T, D>& s) {
    const std::int64_t w = s.hidden.size(1);
    const auto gate = [&](std::int64_t which) { return gate_columns(s.gates, which, w); };
    const auto to = [&](std::int64_t which) { return gate_columns(s.d_sums, which, w); };
    map_states(Adjoint<compute_t<T>>{}, s.hidden.shape(), s.hidden.device(),
               {gate(0), gate(1), gate(2), gate(3), s.cell_before, s.cell, s.d_output, s.d_hidden, s.d_cell},
               {to(0), to(1), to(2), to(3), s.d_cell});
  }
};

/// Gates: reset r, update z, new n. The sums of the state, a, stay apart from those of the input, x.
///     n = tanh(xn + r an)     h' = n + z (h - n)
struct GruCell {
  static constexpr const char* name = "gru";
  static constexpr std::int64_t gates = 3;
  static constexpr bool has_cell = false, keeps_gates = true, sums_apart = true, passes_state = true;

  template <class R>
  struct Step {
    LOCUS_FN void operator()(R xr, R xz, R xn, R ar, R az, R an, R br, R bz, R bn, R bn_of_state, R before, R& r, R& z,
                             R& n, R& kept, R& h) const {
      r = math::sigmoid(xr + ar + br), z = math::sigmoid(xz + az + bz);
      kept = an + bn_of_state;
      n = math::tanh(xn + bn + r * kept);
      h = n + z * (before - n);
    }
  };
  template <class R>
  struct Adjoint {
    LOCUS_FN void operator()(R r, R z, R n, R an, R before, R d_output, R d_hidden, R& dr, R& dz, R& dn, R& dr_again,
                             R& dz_again, R& d_an, R& d_before) const {
      const R dh = d_output + d_hidden;
      dn = dh * (R(1) - z) * (R(1) - n * n);
      dz = dz_again = dh * (before - n) * z * (R(1) - z);
      dr = dr_again = dn * an * r * (R(1) - r);
      d_an = dn * r;
      d_before = dh * z;
    }
  };
  /// Four parts: the sums of both biases of r and z, and the biases of n for the input and for the state. Three
  /// launches; empty without biases.
  template <class T, class D>
  [[nodiscard]] static Tensor<T, D> joint_bias(const Tensor<T, D>& b_ih, const Tensor<T, D>& b_hh) {
    if (!b_ih.buffer()) return {};
    const std::int64_t w = b_ih.size(0) / gates;
    const Tensor<T, D> bias({4 * w}, b_ih.device());
    map_into(bias.slice(0, 0, 2 * w), functor::Add{}, b_ih.slice(0, 0, 2 * w), b_hh.slice(0, 0, 2 * w));
    copy_elements(b_ih.slice(0, 2 * w, 3 * w), bias.slice(0, 2 * w, 3 * w));
    copy_elements(b_hh.slice(0, 2 * w, 3 * w), bias.slice(0, 3 * w, 4 * w));
    return bias;
  }
  template <class T, class D>
  static void step(const CellStep<T, D>& s) {
    const std::int64_t w = s.hidden.size(1);
    const auto of = [&](const Tensor<T, D>& sums, std::int64_t gate) { return gate_columns(sums, gate, w); };
    map_states(Step<compute_t<T>>{}, s.hidden.shape(), s.hidden.device(),
               {of(s.sums, 0), of(s.sums, 1), of(s.sums, 2), of(s.hidden_sums, 0), of(s.hidden_sums, 1),
                of(s.hidden_sums, 2), of(s.bias, 0), of(s.bias, 1), of(s.bias, 2), of(s.bias, 3), s.before},
               {of(s.gates, 0), of(s.gates, 1), of(s.gates, 2), s.kept, s.hidden});
  }
  template <class T, class D>
  static void backward(const CellAdjoint<T, D>& s) {
    const std::int64_t w = s.hidden.size(1);
    const auto of = [&](const Tensor<T, D>& sums, std::int64_t gate) { return gate_columns(sums, gate, w); };
    map_states(Adjoint<compute_t<T>>{}, s.hidden.shape(), s.hidden.device(),
               {of(s.gates, 0), of(s.gates, 1), of(s.gates, 2), s.kept, s.before, s.d_output, s.d_hidden},
               {of(s.d_sums, 0), of(s.d_sums, 1), of(s.d_sums, 2), of(s.d_hidden_sums, 0), of(s.d_hidden_sums, 1),
                of(s.d_hidden_sums, 2), s.d_hidden});
  }
};

}}}  // namespace locus::LOCUS_ABI::detail
