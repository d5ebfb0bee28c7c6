#pragma once
// A recurrent layer, in one direction over all steps, as one operation.

#include <locus/ops/linear.hpp>
#include <locus/ops/recurrent/recurrent_cells.hpp>
#include <locus/ops/recurrent/recurrent_steps.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// Extents of a recurrent layer in one direction.
struct RecurrentExtents {
  std::int64_t rows = 0;    ///< of all steps
  std::int64_t batch = 0;   ///< sequences
  std::int64_t width = 0;   ///< of a gate, and of the cell
  std::int64_t hidden = 0;  ///< width of the hidden state: `width`, or of its projection
};

/// The parts of a layer's result, which is one tensor: outputs (rows, hidden), last hidden states (batch, hidden), and
/// last cells (batch, width) if it has cells.
template <class X>
struct RecurrentParts {
  X output, hidden, cell;
};
template <class X>
[[nodiscard]] RecurrentParts<X> recurrent_parts(const X& all, const RecurrentExtents& e) {
  const std::int64_t outputs = e.rows * e.hidden, states = outputs + e.batch * e.hidden;
  const auto part = [&](std::int64_t begin, std::int64_t end, const Shape& shape) {
    return all.slice(0, begin, end).reshape(shape);
  };
  RecurrentParts<X> parts{part(0, outputs, {e.rows, e.hidden}), part(outputs, states, {e.batch, e.hidden}), {}};
  if (all.size(0) > states) parts.cell = part(states, all.size(0), {e.batch, e.width});
  return parts;
}

/// The right factor of the products of all steps. On a host a copy with dense rows, which each product reads where it
/// lies; rows of a power of two would evict each other from the cache, so they lie a vector further apart.
template <class T, class D>
[[nodiscard]] Tensor<T, D> factor_of_steps(const Tensor<T, D>& weights) {
  if constexpr (HostAccessible<D>) {
    constexpr std::int64_t vector = 64 / static_cast<std::int64_t>(sizeof(T));
    const Tensor<T, D> room({weights.size(0), weights.size(1) + vector}, weights.device());
    const Tensor<T, D> rows = room.slice(1, 0, weights.size(1));
    copy_elements(weights, rows);
    return rows;
  } else {
    return weights;
  }
}

/// The products of the input and its weights: of all steps at once; on a host of so many steps that the sums are still
/// in the cache where each step adds to them.
template <class T, class D>
class InputSums {
 public:
  /// The sums are written to `kept` unless it is empty.
  InputSums(const RecurrentSteps& steps, const Tensor<T, D>& x, const Tensor<T, D>& weights, const Tensor<T, D>& kept)
      : steps_(steps), x_(x), kept_(kept), columns_(weights.size(0)) {
    constexpr std::int64_t cached = 1 << 20;  // bytes
    if constexpr (HostAccessible<D>)
      most_rows_ = larger<std::int64_t>(cached / (columns_ * static_cast<std::int64_t>(sizeof(T))), 128);
    weights_ = most_rows_ < x.size(0) ? factor_of_steps(weights.transpose()) : weights.transpose();
  }
  /// The sums of step k. Steps are asked for in order.
  [[nodiscard]] Tensor<T, D> of_step(std::int64_t k) {
    if (k == end_) multiply(k);
    return rows_of_step(sums_, {steps_[k].first - first_, steps_[k].batch});
  }

 private:
  void multiply(std::int64_t k) {
    std::int64_t rows = steps_[k].batch;
    for (end_ = k + 1; end_ < steps_.size() && rows + steps_[end_].batch <= most_rows_; ++end_)
      rows += steps_[end_].batch;
    first_ = smaller(steps_[k].first, steps_[end_ - 1].first);
    if (kept_.buffer()) sums_ = kept_.slice(0, first_, first_ + rows);
    else if (!sums_.buffer() || sums_.size(0) != rows) sums_ = Tensor<T, D>({rows, columns_}, x_.device());
    multiply_into(sums_, x_.slice(0, first_, first_ + rows), weights_, plain_epilogue<T>());
  }

  const RecurrentSteps& steps_;
  const Tensor<T, D>&x_, &kept_;
  std::int64_t columns_;
  Tensor<T, D> weights_, sums_;
  std::int64_t end_ = 0, first_ = 0;  ///< the first step without sums, and the first row of `sums_`
  std::int64_t most_rows_ = std::numeric_limits<std::int64_t>::max();
};

/// Room for n rows of `width` elements, for a wanted tensor; else an empty one.
template <class T, class D>
[[nodiscard]] Tensor<T, D> room_if(bool wanted, std::int64_t rows, std::int64_t width, D device) {
  return wanted ? Tensor<T, D>({rows, width}, device) : Tensor<T, D>();
}

}  // namespace detail

namespace operation {

/// Operands: rows of the input (rows, in); w_ih (gates * width, in), w_hh (gates * width, hidden), b_ih and b_hh
/// (gates * width), w_hr (hidden, width); h0 (batch, hidden), c0 (batch, width). Empty: no biases, no projection,
/// zeros. Result: see detail::RecurrentParts.
template <class Cell>
struct Recurrence {
  static constexpr const char* name = Cell::name;
  static constexpr bool runs_on_duals = true;
  detail::RecurrentSteps steps;
  bool is_traced = false;

  /// The operands of a layer, and the values that forward keeps for backward.
  template <class X>
  struct Layer {
    X x, w_ih, w_hh, w_hr, h0, c0;
    X gates;  ///< (rows, gates * width)
    X kept;   ///< (rows, width), of cells whose sums stay apart
    X cells;  ///< (rows, width), of cells that have one, if it is recorded
    X raw;    ///< (rows, width): the hidden states before their projection
    X all;    ///< the result
  };
  template <class X>
  using Saved = Tuple<X, X, X, X, X, X, X, X, X, X, X>;
  template <class X>
  using Result = Forwarded<X, X, X, X, X, X, X, X, X, X, X, X>;

  template <class T, class D>
  Result<Tensor<T, D>> forward(const Tensor<T, D>& x, const Tensor<T, D>& w_ih, const Tensor<T, D>& w_hh,
                               const Tensor<T, D>& b_ih, const Tensor<T, D>& b_hh, const Tensor<T, D>& w_hr,
                               const Tensor<T, D>& h0, const Tensor<T, D>& c0) const;

  template <class T, class D>
  void backward(const Saved<Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx, Gradient<T, D>& dw_ih,
                Gradient<T, D>& dw_hh, Gradient<T, D>& db_ih, Gradient<T, D>& db_hh, Gradient<T, D>& dw_hr,
                Gradient<T, D>& dh0, Gradient<T, D>& dc0) const;

 private:
  template <class X>
  [[nodiscard]] detail::RecurrentExtents extents(const Layer<X>& layer) const {
    return {steps.rows(), steps.batch(), layer.w_hh.size(0) / Cell::gates, layer.w_hh.size(1)};
  }
  /// The adjoints of the sums, and of the states so far; in the end, of the state before step 0.
  template <class X>
  struct Adjoints {
    X sums, hidden_sums;  ///< (rows, gates * width); one tensor unless the cell keeps them apart
    X projected;          ///< (rows, hidden): of the projected states
    X raw;                ///< (batch, width): of the states of a step before their projection
    X hidden, cell;       ///< (batch, hidden) and (batch, width)
  };

  template <class X>
  void run(const Layer<X>& layer, const X& bias) const;
  template <class X>
  [[nodiscard]] Adjoints<X> run_back(const Layer<X>& layer, const X& output, const X& g, bool needs_initial) const;
  /// Room for all adjoints; those of the states are the last states' own, from the parts `d` of the result's gradient.
  template <class X>
  [[nodiscard]] Adjoints<X> adjoints_of_end(const Layer<X>& layer, const detail::RecurrentParts<X>& d) const;
  /// The adjoints of the sums of step k, and of the state before it as far as it enters without weights.
  template <class X>
  void step_back(const Layer<X>& layer, const X& output, const X& d_output, const Adjoints<X>& to,
                 std::int64_t k) const;

  /// The sums of all rows. Both biases share one, unless the cell keeps the sums apart.
  template <class T, class D>
  static void give_biases(const Tensor<T, D>& d_sums, const Tensor<T, D>& d_hidden_sums, Gradient<T, D>& db_ih,
                          Gradient<T, D>& db_hh);
  /// dw (+)= the sum over all steps of d_rows^T (the hidden states before the step). A product for each run of steps
  /// with as many sequences, and one for its first step.
  template <class T, class D>
  void multiply_states(const Tensor<T, D>& d_rows, const Tensor<T, D>& output, const Tensor<T, D>& initial,
                       Gradient<T, D>& dw) const;
};

template <class Cell>
template <class T, class D>
auto Recurrence<Cell>::forward(const Tensor<T, D>& x, const Tensor<T, D>& w_ih, const Tensor<T, D>& w_hh,
                               const Tensor<T, D>& b_ih, const Tensor<T, D>& b_hh, const Tensor<T, D>& w_hr,
                               const Tensor<T, D>& h0, const Tensor<T, D>& c0) const -> Result<Tensor<T, D>> {
  using X = Tensor<T, D>;
  const D device = x.device();
  Layer<X> layer{x, w_ih, w_hh, w_hr, h0, c0, {}, {}, {}, {}, {}};
  const auto e = extents(layer);
  layer.gates = detail::room_if<T>(Cell::keeps_gates && is_traced, e.rows, w_hh.size(0), device);
  layer.kept = detail::room_if<T>(Cell::sums_apart && is_traced, e.rows, e.width, device);
  layer.cells = detail::room_if<T>(Cell::has_cell && is_traced, e.rows, e.width, device);
  layer.raw = detail::room_if<T>(static_cast<bool>(w_hr.buffer()), e.rows, e.width, device);
  layer.all = X({(e.rows + e.batch) * e.hidden + (Cell::has_cell ? e.batch * e.width : 0)}, device);
  run(layer, Cell::joint_bias(b_ih, b_hh));
  return {layer.all, Tuple(layer.x, layer.w_ih, layer.w_hh, layer.w_hr, layer.h0, layer.c0, layer.gates, layer.kept,
                           layer.cells, layer.raw, layer.all)};
}

template <class Cell>
template <class X>
void Recurrence<Cell>::run(const Layer<X>& layer, const X& bias) const {
  using T = value_of<X>;
  const auto parts = detail::recurrent_parts(layer.all, extents(layer));
  const X weights = detail::factor_of_steps(layer.w_hh.transpose());
  detail::InputSums<T, device_of<X>> input(steps, layer.x, layer.w_ih, layer.gates);
  const X apart = detail::room_if<T>(Cell::sums_apart, steps.batch(), weights.size(1), layer.x.device());
  const X& states = layer.raw.buffer() ? layer.raw : parts.output;
  const bool keeps_cells = static_cast<bool>(layer.cells.buffer());
  if (Cell::has_cell && !keeps_cells) detail::start_states(layer.c0, parts.cell);  // steps update them in place
  const auto at = [](const X& x, const detail::RecurrentStep& step) {
    return x.buffer() ? detail::rows_of_step(x, step) : X();
  };
  for (std::int64_t k = 0; k < steps.size(); ++k) {
    const auto& step = steps[k];
    detail::CellStep<T, device_of<X>> cell;
    cell.sums = input.of_step(k);
    cell.before = detail::states_before(steps, k, parts.output, layer.h0);
    if constexpr (Cell::sums_apart) cell.hidden_sums = apart.slice(0, 0, step.batch);
    const X& sums = Cell::sums_apart ? cell.hidden_sums : cell.sums;
    if (cell.before.buffer())
      detail::multiply_into(sums, cell.before, weights, detail::plain_epilogue<T>(!Cell::sums_apart));
    else cell.hidden_sums = {};
    if (bias.buffer()) cell.bias = bias.expand({step.batch, bias.size(0)});
    if (is_traced && Cell::keeps_gates) cell.gates = cell.sums;
    cell.kept = at(layer.kept, step);
    if constexpr (Cell::has_cell) {
      cell.cell = keeps_cells ? at(layer.cells, step) : parts.cell.slice(0, 0, step.batch);
      cell.cell_before = keeps_cells ? detail::states_before(steps, k, layer.cells, layer.c0) : cell.cell;
    }
    cell.hidden = at(states, step);
    Cell::step(cell);
    if (layer.raw.buffer())
      detail::multiply_into(at(parts.output, step), cell.hidden, layer.w_hr.transpose(), detail::plain_epilogue<T>());
  }
  detail::copy_last_states(steps, parts.output, parts.hidden);
  if (keeps_cells) detail::copy_last_states(steps, layer.cells, parts.cell);
}

template <class Cell>
template <class X>
auto Recurrence<Cell>::adjoints_of_end(const Layer<X>& layer, const detail::RecurrentParts<X>& d) const -> Adjoints<X> {
  using T = value_of<X>;
  const auto e = extents(layer);
  const auto device = layer.x.device();
  const bool projects = static_cast<bool>(layer.raw.buffer());
  const auto copied = [&](const X& x) {
    const X copy(x.shape(), device);
    detail::copy_elements(x, copy);
    return copy;
  };
  Adjoints<X> to;
  to.sums = X({e.rows, layer.w_hh.size(0)}, device);
  to.hidden_sums = Cell::sums_apart ? X(to.sums.shape(), device) : to.sums;
  to.projected = detail::room_if<T>(projects, e.rows, e.hidden, device);
  to.raw = detail::room_if<T>(projects, e.batch, e.width, device);
  to.hidden = copied(d.hidden);
  if constexpr (Cell::has_cell) to.cell = copied(d.cell);
  return to;
}

template <class Cell>
template <class X>
void Recurrence<Cell>::step_back(const Layer<X>& layer, const X& output, const X& d_output, const Adjoints<X>& to,
                                 std::int64_t k) const {
  using T = value_of<X>;
  const auto& step = steps[k];
  const auto at = [&](const X& x) { return x.buffer() ? detail::rows_of_step(x, step) : X(); };
  detail::CellAdjoint<T, device_of<X>> cell;
  cell.gates = at(layer.gates), cell.kept = at(layer.kept), cell.cell = at(layer.cells);
  cell.hidden = at(layer.raw.buffer() ? layer.raw : output);
  cell.d_output = at(d_output), cell.d_hidden = to.hidden.slice(0, 0, step.batch);
  cell.d_sums = at(to.sums), cell.d_hidden_sums = at(to.hidden_sums);
  if constexpr (Cell::passes_state) cell.before = detail::states_before(steps, k, output, layer.h0);
  if constexpr (Cell::has_cell) {
    cell.cell_before = detail::states_before(steps, k, layer.cells, layer.c0);
    cell.d_cell = to.cell.slice(0, 0, step.batch);
  }
  if (layer.raw.buffer()) {
    const X projected = at(to.projected);
    detail::map_into(projected, functor::Add{}, cell.d_output, cell.d_hidden);
    cell.d_output = {}, cell.d_hidden = to.raw.slice(0, 0, step.batch);
    detail::multiply_into(cell.d_hidden, projected, layer.w_hr, detail::plain_epilogue<T>());
  }
  Cell::backward(cell);
}

template <class Cell>
template <class X>
auto Recurrence<Cell>::run_back(const Layer<X>& layer, const X& output, const X& g, bool needs_initial) const
    -> Adjoints<X> {
  const auto d = detail::recurrent_parts(g, extents(layer));
  const Adjoints<X> to = adjoints_of_end(layer, d);
  for (std::int64_t k = steps.size() - 1; k >= 0; --k) {
    step_back(layer, output, d.output, to, k);
    if (k == 0 && !needs_initial) break;
    detail::multiply_into(to.hidden.slice(0, 0, steps[k].batch), detail::rows_of_step(to.hidden_sums, steps[k]),
                          layer.w_hh, detail::plain_epilogue<value_of<X>>(Cell::passes_state));
  }
  return to;
}

template <class Cell>
template <class T, class D>
void Recurrence<Cell>::multiply_states(const Tensor<T, D>& d_rows, const Tensor<T, D>& output,
                                       const Tensor<T, D>& initial, Gradient<T, D>& dw) const {
  const auto target = dw.open();
  bool accumulate = target.accumulate;
  const auto add = [&](std::int64_t from, std::int64_t to, const Tensor<T, D>& states) {
    detail::multiply_into(target.out, d_rows.slice(0, from, to).transpose(), states,
                          detail::plain_epilogue<T>(accumulate));
    accumulate = true;
  };
  for (std::int64_t k = 0, end = 0; k < steps.size(); k = end) {
    end = steps.run_end(k);
    const auto first = detail::states_before(steps, k, output, initial);
    if (first.buffer()) add(steps[k].first, steps[k].end(), first);
    if (end - k < 2) continue;
    const auto &second = steps[k + 1], &last = steps[end - 1];  // in memory, the last one is first if they are reversed
    const std::int64_t batch = second.batch, shift = steps[k].first - second.first;
    const std::int64_t from = second.first < last.first ? second.first : last.first, rows = (end - k - 1) * batch;
    add(from, from + rows, output.slice(0, from + shift, from + shift + rows));
  }
  if (!accumulate) target.out.fill_(T(0));
}

template <class Cell>
template <class T, class D>
void Recurrence<Cell>::give_biases(const Tensor<T, D>& d_sums, const Tensor<T, D>& d_hidden_sums, Gradient<T, D>& db_ih,
                                   Gradient<T, D>& db_hh) {
  if (!Cell::sums_apart && db_ih && db_hh) {
    const Tensor<T, D> sum(db_ih.shape(), d_sums.device());
    detail::reduce_into(sum, false, d_sums.shape(), detail::FoldedAxes(name, d_sums.shape(), 0), Symbol<0>{},
                        fold::Sum<T>{}, d_sums);
    db_ih.give(sum), db_hh.give(sum);
  } else {
    if (db_ih) detail::sum_to(d_sums, db_ih);
    if (db_hh) detail::sum_to(d_hidden_sums, db_hh);
  }
}

template <class Cell>
template <class T, class D>
void Recurrence<Cell>::backward(const Saved<Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx,
                                Gradient<T, D>& dw_ih, Gradient<T, D>& dw_hh, Gradient<T, D>& db_ih,
                                Gradient<T, D>& db_hh, Gradient<T, D>& dw_hr, Gradient<T, D>& dh0,
                                Gradient<T, D>& dc0) const {
  using X = Tensor<T, D>;
  const auto layer = detail::unpack(saved, [](const auto&... value) { return Layer<X>{value...}; });
  const auto output = detail::recurrent_parts(layer.all, extents(layer)).output;
  const auto d = run_back(layer, output, g, static_cast<bool>(dh0));
  give_biases(d.sums, d.hidden_sums, db_ih, db_hh);
  const auto product = [&](Gradient<T, D>& to, const X& a, const X& b) {
    if (!to) return;
    const auto target = to.open();
    detail::multiply_into(target.out, a, b, detail::plain_epilogue<T>(target.accumulate));
  };
  product(dw_ih, d.sums.transpose(), layer.x);
  if (dw_hh) multiply_states(d.hidden_sums, output, layer.h0, dw_hh);
  product(dw_hr, d.projected.buffer() ? d.projected.transpose() : X(), layer.raw);
  if (dx) dx.give(detail::PendingProduct(d.sums, layer.w_ih));
  if (dh0) dh0.give(d.hidden);
  if (dc0) dc0.give(d.cell);
}

}  // namespace operation

}}  // namespace locus::LOCUS_ABI
