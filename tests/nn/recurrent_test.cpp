// Runs on: host, cuda (layers); counting.
// Recurrent layers, their cells and packed sequences against PyTorch; launches; refusals of shapes and lengths.

#include <locus/autograd/gradcheck.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/locus.hpp>
#include <locus/nn/recurrent.hpp>
#include <locus/nn/recurrent_cells.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus_test::Counting
#endif
#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/launches.hpp>
#include <support/reference.hpp>
#include <support/thrown.hpp>

#include <cmath>
#include <string>
#include <vector>

using namespace locus;
using locus_test::reference;
using locus_test::sample;

namespace {

template <class D>
Traced<double, D> leaf(const std::string& name) {
  return variable(golden::tensor<double, D>(name));
}
/// The layer with the parameters NAME_PARAMETER.
template <class L>
L filled(const std::string& name, const L& layer) {
  for (const auto& [its_name, parameter] : layer.named_parameters())
    parameter.value().copy_(golden::tensor<double, device_of<L>>(name + "_" + its_name));
  return layer;
}

/// Parts of results and their sum, weighted by cotangents.
template <class D>
struct Checked {
  std::string name;
  Tensor<double, D> none{};
  void part(const char* which, const Traced<double, D>& y) const {
    CAPTURE(name);
    CAPTURE(which);
    CHECK_CLOSE(y.value(), golden::reference(name + "_" + which), 1e-10);
  }
  [[nodiscard]] auto weighted(const char* which, const Traced<double, D>& y) const {
    part(which, y);
    return sum(y * golden::tensor<double, D>(name + "_" + which + "_cotangent")).eval();
  }
  void gradient(const std::string& of, const Tensor<double, D>& found) const {
    CAPTURE(name);
    CAPTURE(of);
    CHECK_CLOSE(found, golden::reference(name + "_d" + of), 1e-10);
  }
  template <class L>
  void gradients(const L& layer) const {
    for (const auto& [of, parameter] : layer.named_parameters()) gradient(of, parameter.grad());
  }
  /// The sum over a state: h, or h and c.
  [[nodiscard]] auto weighted(const Traced<double, D>& h) const { return weighted("h", h); }
  [[nodiscard]] auto weighted(const nn::LSTMState<Traced<double, D>>& s) const {
    return (weighted("h", s.h) + weighted("c", s.c)).eval();
  }
};

/// h0, or h0 and c0.
template <class D, bool has_cell>
auto initial_state(const std::string& name) {
  if constexpr (has_cell) return nn::LSTMState{leaf<D>(name + "_h0"), leaf<D>(name + "_c0")};
  else return leaf<D>(name + "_h0");
}
template <class D>
void check_state(const Checked<D>& checked, const Traced<double, D>& h) {
  checked.gradient("h0", h.grad());
}
template <class D>
void check_state(const Checked<D>& checked, const nn::LSTMState<Traced<double, D>>& s) {
  checked.gradient("h0", s.h.grad()), checked.gradient("c0", s.c.grad());
}

/// Compares values and all gradients of a layer of (width 2, hidden_size 3) with PyTorch's.
template <bool has_cell, class L>
void check_layer(const std::string& name, const L& unfilled, bool starts_at_zero = false, bool is_packed = false,
                 bool batch_first = false) {
  using D = device_of<L>;
  const L layer = filled(name, unfilled);
  const Checked<D> checked{name};
  const auto x = leaf<D>(name + "_x");
  const auto run = [&](const auto&... state) {
    if (!is_packed) {
      const auto [y, last] = layer(x, state...);
      (checked.weighted("y", y) + checked.weighted(last)).eval().backward();
      return;
    }
    const auto packed = nn::pack_padded_sequence(x, {2, 4, 3}, {.batch_first = batch_first, .enforce_sorted = false});
    const auto [y, last] = layer(packed, state...);
    const auto [padded, lengths] = nn::pad_packed_sequence(y, {.batch_first = batch_first, .padding_value = 0.5});
    CHECK(lengths == std::vector<std::int64_t>{2, 4, 3});
    (checked.weighted("y", padded) + checked.weighted(last)).eval().backward();
  };
  if (starts_at_zero) {
    run();
  } else {
    const auto state = initial_state<D, has_cell>(name);
    run(state);
    check_state(checked, state);
  }
  checked.gradient("x", x.grad());
  checked.gradients(layer);
  if (!starts_at_zero || is_packed) return;
  const auto plain = layer(x.value());
  CHECK_CLOSE(plain.output, golden::reference(name + "_y"), 1e-10);
  if constexpr (has_cell) CHECK_CLOSE(plain.state.c, golden::reference(name + "_c"), 1e-10);
}

template <bool has_cell, class L>
void check_cell(const std::string& name, const L& unfilled, bool starts_at_zero = false) {
  using D = device_of<L>;
  const L layer = filled(name, unfilled);
  const Checked<D> checked{name};
  const auto x = leaf<D>(name + "_x");
  if (starts_at_zero) {
    checked.weighted(layer(x)).backward();
  } else {
    const auto state = initial_state<D, has_cell>(name);
    checked.weighted(layer(x, state)).backward();
    check_state(checked, state);
  }
  checked.gradient("x", x.grad());
  checked.gradients(layer);
}

}  // namespace

LOCUS_DEVICE_TEST("an LSTM has PyTorch's values and gradients", D) {
  using Lstm = nn::LSTM<double, D>;
  check_layer<true>("lstm", Lstm{2, 3});
  check_layer<true>("lstm_deep",
                    Lstm{2, 3, {.num_layers = 2, .batch_first = true, .bidirectional = true, .proj_size = 2}});
  check_layer<true>("lstm_bare", Lstm{2, 3, {.bias = false}}, true);
  check_layer<true>("lstm_packed", Lstm{2, 3, {.num_layers = 2, .bidirectional = true}}, false, true);
  check_layer<true>("lstm_projected_packed", Lstm{2, 3, {.batch_first = true, .bidirectional = true, .proj_size = 1}},
                    true, true, true);
  check_layer<true>("lstm_unbatched", Lstm{2, 3, {.bidirectional = true}}, true);
  check_cell<true>("lstm_cell", nn::LSTMCell<double, D>{2, 3});
}

LOCUS_DEVICE_TEST("a GRU has PyTorch's values and gradients", D) {
  using Gru = nn::GRU<double, D>;
  check_layer<false>("gru", Gru{2, 3});
  check_layer<false>("gru_deep", Gru{2, 3, {.num_layers = 2, .batch_first = true, .bidirectional = true}});
  check_layer<false>("gru_bare", Gru{2, 3, {.bias = false}}, true);
  check_layer<false>("gru_packed", Gru{2, 3, {.bidirectional = true}}, false, true);
  check_cell<false>("gru_cell", nn::GRUCell<double, D>{2, 3});
  check_cell<false>("gru_cell_bare", nn::GRUCell<double, D>{2, 3, {.bias = false}}, true);
}

LOCUS_DEVICE_TEST("an RNN has PyTorch's values and gradients", D) {
  check_layer<false>("rnn", nn::RNN<double, D>{2, 3, {.num_layers = 2, .bidirectional = true}});
  const nn::RNNOptions bare{.nonlinearity = nn::init::Nonlinearity::relu, .bias = false, .batch_first = true};
  check_layer<false>("rnn_relu", nn::RNN<double, D>{2, 3, bare}, true);
  check_cell<false>("rnn_cell", nn::RNNCell<double, D>{2, 3});
  check_cell<false>("rnn_cell_relu", nn::RNNCell<double, D>{2, 3, {.nonlinearity = nn::init::Nonlinearity::relu}});
}

namespace {
/// A model as a user writes it: the last state of a recurrent layer, and a score for each class.
template <class D>
struct Reader : nn::Layer<Reader<D>, double, D> {
  nn::LSTM<double, D> lstm{2, 3, {.num_layers = 2, .dropout = 0.5}};
  nn::Linear<double, D> head{3, 2};
  auto forward(const auto& x) const { return head(lstm(x).output); }
  void members(const auto& visit) const {
    visit("lstm", lstm);
    visit("head", head);
  }
};
}  // namespace

LOCUS_DEVICE_TEST("recurrent layers in models: names, dropout in training alone, freezing, copies, element types", D) {
  manual_seed(5);
  const Reader<D> reader;
  std::string names;
  for (const auto& [name, parameter] : reader.lstm.named_parameters())
    names += name + " " + to_string(parameter.shape()) + "; ";
  CHECK(names ==
        "weight_ih_l0 (12, 2); weight_hh_l0 (12, 3); bias_ih_l0 (12,); bias_hh_l0 (12,); "
        "weight_ih_l1 (12, 3); weight_hh_l1 (12, 3); bias_ih_l1 (12,); bias_hh_l1 (12,); ");
  const double largest = reference(max(abs(reader.lstm.weights[1].weight_ih.value()))).values[0];
  CHECK(largest <= 1 / std::sqrt(3.0));
  CHECK(largest > 0.8 / std::sqrt(3.0));

  const auto x = sample<double, D>({4, 3, 2}, 1);
  const auto plain = reference(reader(x));
  CHECK_CLOSE(reader(x), plain, 0);
  CHECK(reference(reader(trace(x))).values != plain.values);
  CHECK_CLOSE(reader(frozen(trace(x))), plain, 1e-12);
  const auto calm = nn::Frozen{reader.lstm}(trace(x));
  CHECK_CLOSE(reader.head(calm.output), plain, 1e-12);
  CHECK(!calm.output.is_frozen());
  CHECK(!calm.state.c.is_frozen());
  const nn::Sequential<double, D> model{reader.lstm, reader.head};
  CHECK_CLOSE(model(x), plain, 0);
  const auto copy = reader.clone();
  reader.lstm.weights[0].weight_ih.value().fill_(0);
  CHECK_CLOSE(copy(x), plain, 0);
  CHECK_CLOSE(copy.lstm.template as<float>()(x.template as<float>().eval()).output, reference(copy.lstm(x).output),
              1e-6);
  CHECK(to_string(nn::LSTM<double, D>{2, 3, {.bias = false, .bidirectional = true, .proj_size = 2}}) ==
        "LSTM(2, 3, bias=false, bidirectional=true, proj_size=2)");
}

LOCUS_DEVICE_TEST("a sequence goes on from the state where it stopped, and parts have the whole's gradient", D) {
  const nn::LSTM<double, D> lstm{2, 3};
  const auto x = sample<double, D>({5, 2, 2}, 2);
  const auto whole = lstm(x);
  const auto first = lstm(x.slice(0, 0, 2)), second = lstm(x.slice(0, 2), first.state);
  CHECK_CLOSE(concat({first.output, second.output}), reference(whole.output), 1e-12);
  CHECK_CLOSE(second.state.c, reference(whole.state.c), 1e-12);
  CHECK_CLOSE(lstm(x.slice(0, 2), {first.state.h, first.state.c}).output, reference(second.output), 0);
  const auto packed = nn::pack_padded_sequence(x, {5, 2});
  const nn::LSTM<double, D> both{2, 3, {.bidirectional = true}};
  const nn::LSTMState start{sample<double, D>({2, 2, 3}, 5), sample<double, D>({2, 2, 3}, 6)};
  const auto unrecorded = both(packed, start);
  const auto recorded = both(packed.with_data(trace(packed.data)), start);
  CHECK_CLOSE(unrecorded.output.data, reference(recorded.output.data), 0);
  CHECK_CLOSE(unrecorded.state.c, reference(recorded.state.c), 0);
  const nn::LSTMCell<double, D> cell{2, 3};
  const auto step = cell(x.select(0, 0));
  CHECK_CLOSE(cell(x.select(0, 1), {step.h, step.c}).h, reference(cell(x.select(0, 1), step).h), 0);

  // Each end is used, and by several later operations; a state that is a parameter learns.
  const Parameter<double, D> h0(sample<double, D>({1, 2, 3}, 3)), c0(sample<double, D>({1, 2, 3}, 4));
  const auto agrees = gradcheck(
      [&](const auto& in) {
        const auto begin = lstm(in.slice(0, 0, 2), nn::LSTMState{h0, c0});
        const auto [y, last] = lstm(in.slice(0, 2), begin.state);
        return sum(y * y) + sum(last.h) * 2. + sum(sin(begin.state.c) * last.c) + sum(begin.output);
      },
      x);
  CHECK_MESSAGE(agrees, agrees.what());
  lstm(trace(x), nn::LSTMState{h0, c0}).output.backward(ones<double>({5, 2, 3}, x.device()));
  CHECK(reference(max(abs(h0.grad()))).values[0] > 0);
}

LOCUS_DEVICE_TEST("a long sequence, whose input a host multiplies in blocks, is the sum of its parts", D) {
  const nn::GRU<double, D> wide{2, 256, {.bidirectional = true}};
  nn::GRU<double, D> back{2, 256};
  back.weights[0] = wide.weights[1];
  const auto x = sample<double, D>({40, 6, 2}, 9), reversed = flip(x, 0).eval();
  std::vector<Tensor<double, D>> parts;
  auto state = zeros<double>({1, 6, 256}, x.device());
  for (std::int64_t begin = 0; begin < 40; begin += 10) {
    const auto part = back(reversed.slice(0, begin, begin + 10), state);
    parts.push_back(part.output), state = part.state;
  }
  const auto expected = reference(flip(concat(parts), 0).eval());
  CHECK_CLOSE(wide(x).output.slice(2, 256), expected, 1e-12);
  CHECK_CLOSE(wide(trace(x)).output.value().slice(2, 256), expected, 1e-12);
}

LOCUS_DEVICE_TEST("sequences of unequal lengths, packed, are those that run alone", D) {
  const nn::GRU<double, D> gru{2, 3, {.bidirectional = true}};
  const std::vector<Tensor<double, D>> sequences{sample<double, D>({2, 2}, 5), sample<double, D>({4, 2}, 6),
                                                 sample<double, D>({1, 2}, 7)};
  const auto packed = nn::pack_sequence(sequences, {.enforce_sorted = false});
  CHECK(packed.batch_sizes == std::vector<std::int64_t>{3, 2, 1, 1});
  CHECK(packed.order == std::vector<std::int64_t>{1, 0, 2});
  const auto [output, state] = gru(packed);
  const auto [padded, lengths] = nn::pad_packed_sequence(output, {.batch_first = true, .total_length = 5});
  CHECK(padded.shape() == Shape{3, 5, 6});
  CHECK(lengths == std::vector<std::int64_t>{2, 4, 1});
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto alone = gru(sequences[static_cast<std::size_t>(i)]);
    CHECK_CLOSE(padded.select(0, i).slice(0, 0, lengths[static_cast<std::size_t>(i)]), reference(alone.output), 1e-12);
    CHECK_CLOSE(state.select(1, i), reference(alone.state), 1e-12);
  }
  CHECK_CLOSE(padded.select(0, 2).slice(0, 1), reference(zeros<double>({4, 6}, padded.device())), 0);
  const nn::PackedSequence<Tensor<double, D>> by_hand{packed.data, packed.batch_sizes, packed.order};
  CHECK_CLOSE(gru(by_hand).state, reference(state), 0);

  const auto beside = nn::pad_sequence(sequences, {.batch_first = true, .padding_value = -1});
  CHECK(beside.shape() == Shape{3, 4, 2});
  CHECK_CLOSE(beside.select(0, 0).slice(0, 2).flatten(), {-1, -1, -1, -1});
  const auto again = nn::pack_padded_sequence(beside, {2, 4, 1}, {.batch_first = true, .enforce_sorted = false});
  CHECK_CLOSE(again.data, reference(packed.data), 0);
  const auto agrees = gradcheck(
      [](const auto& a, const auto& b) {
        const auto rows = nn::pack_sequence(std::vector{a, b}).data, side = nn::pad_sequence(std::vector{a, b});
        return sum(rows * rows) + sum(side * side * side);
      },
      sequences[1], sequences[0]);
  CHECK_MESSAGE(agrees, agrees.what());
}

LOCUS_DEVICE_TEST("a step of a recurrent layer is a product and a launch, forward and backward", D) {
  if constexpr (std::is_same_v<D, locus_test::Counting>) {
    const nn::LSTM<double, D> lstm{2, 3};
    const nn::GRU<double, D> gru{2, 3};
    const auto launches = [](const auto& run) {
      const locus_test::RequestLog log;
      run();
      return log.launches();
    };
    const auto forward = [&](const auto& layer, std::int64_t steps) {
      const auto x = sample<double, D>({steps, 2, 2}, 8);
      return launches([&] { (void)layer(x); });
    };
    CHECK(forward(lstm, 9) - forward(lstm, 6) == 3 * 2);
    // Biases, input, first cells, steps of which the first has no hidden state, last hidden states.
    CHECK(forward(lstm, 6) == 1 + 1 + 1 + (1 + 5 * 2) + 1);
    CHECK(forward(gru, 9) - forward(gru, 6) == 3 * 2);
    const auto backward = [&](const auto& layer, std::int64_t steps) {
      const auto x = variable(sample<double, D>({steps, 2, 2}, 8));
      const auto loss = sum(layer(x).output);
      return launches([&] { loss.backward(); });
    };
    (void)backward(lstm, 2);  // makes the adjoint of a loss, which is kept
    CHECK(backward(lstm, 9) - backward(lstm, 6) == 3 * 2);
    CHECK(backward(gru, 9) - backward(gru, 6) == 3 * 2);
  }
}

LOCUS_DEVICE_TEST("a captured step of packed sequences computes what launches compute", D) {
  const nn::GRU<double, D> gru{2, 3, {.bidirectional = true}}, copy = gru.clone();
  const Tensor<double, D> rows({7, 2}, D{});
  const auto packed = nn::pack_padded_sequence(zeros<double>({4, 3, 2}, D{}), {2, 4, 1}, {.enforce_sorted = false});
  const auto loss_of = [](const nn::GRU<double, D>& layer, const auto& sequences) {
    const auto [output, state] = layer(sequences.with_data(trace(sequences.data)));
    layer.zero_grad();
    const auto loss = (sum(output.data * output.data) + sum(state)).eval();
    loss.backward();
    return loss.value();
  };
  auto step = capture([&] { return loss_of(gru, packed.with_data(rows)); }, D{});
  for (std::uint64_t i = 0; i < 4; ++i) {
    rows.copy_(sample<double, D>({7, 2}, 20 + i));
    CHECK_CLOSE(step(), reference(loss_of(copy, packed.with_data(rows))), 1e-12);
    CHECK_CLOSE(gru.weights[1].weight_hh.grad(), reference(copy.weights[1].weight_hh.grad()), 1e-12);
  }
}

LOCUS_DEVICE_TEST("wrong shapes, sizes and lengths are named", D) {
  using locus_test::message_of;
  const nn::LSTM<double, D> lstm{2, 3, {.batch_first = true, .proj_size = 2}};
  const auto x = zeros<double>({4, 5, 2}, D{});
  const auto state = [](const Shape& h, const Shape& c) {
    return nn::LSTMState{zeros<double>(h, D{}), zeros<double>(c, D{})};
  };
  const auto shape_error = [](const auto& f) { return message_of<ShapeError>(f); };
  const auto argument_error = [](const auto& f) { return message_of<ArgumentError>(f); };
  CHECK(shape_error([&] {
          (void)lstm(zeros<double>({4, 5, 3}, D{}));
        }) == "LSTM: input of shape (4, 5, 3); expected (batch, steps, 2) or (steps, 2)");
  CHECK(shape_error([&] {
          (void)lstm(zeros<double>({4, 0, 2}, D{}));
        }) == "LSTM: input of shape (4, 0, 2) has no steps; expected at least one");
  CHECK(shape_error([&] {
          (void)lstm(x, state({1, 4, 3}, {1, 4, 3}));
        }) == "LSTM: state h of shape (1, 4, 3); expected (1, 4, 2), (num_layers * directions, batch, width)");
  CHECK(shape_error([&] {
          (void)lstm(x, state({1, 4, 2}, {1, 5, 3}));
        }) == "LSTM: state c of shape (1, 5, 3); expected (1, 4, 3), (num_layers * directions, batch, width)");
  CHECK(argument_error([] { (void)nn::LSTM<double, D>(2, 3, {.proj_size = 3}); }) ==
        "LSTM: proj_size is 3; expected less than hidden_size, 3, or 0 for no projection");
  CHECK(argument_error([] { (void)nn::GRU<double, D>(2, 0); }) ==
        "GRU: input_size 2 and hidden_size 0; expected at least 1 of each");
  CHECK(argument_error([] { (void)nn::GRU<double, D>(2, 3, {.num_layers = 0}); }) ==
        "GRU: num_layers is 0; expected at least 1");
  CHECK(argument_error([] { (void)nn::RNN<double, D>(2, 3, {.dropout = 1.5}); }) != "");
  CHECK(argument_error([] { (void)nn::RNN<double, D>(2, 3, {.nonlinearity = nn::init::Nonlinearity::selu}); }) != "");
  CHECK(shape_error([&] {
          (void)nn::GRUCell<double, D>(2, 3)(x.select(0, 0), zeros<double>({5, 2}, D{}));
        }) == "GRUCell: state of shape (5, 2); expected (5, 3)");

  const auto pack = [&](const std::vector<std::int64_t>& lengths) {
    return argument_error([&] { (void)nn::pack_padded_sequence(x, lengths, {.batch_first = true}); });
  };
  CHECK(pack({5, 3, 4, 1}) ==
        "pack_padded_sequence: lengths {5, 3, 4, 1} increase; sort the sequences by length, longest first, or pass "
        "{.enforce_sorted = false}");
  CHECK(pack({6, 3, 2, 1}) == "pack_padded_sequence: sequence 0 has length 6; expected 1 to 5");
  CHECK(pack({5, 3, 2, 0}) == "pack_padded_sequence: sequence 3 has length 0; expected 1 to 5");
  CHECK(shape_error([&] {
          (void)nn::pack_padded_sequence(x, {4, 4, 4, 4});
        }) ==
        "pack_padded_sequence: input of shape (4, 5, 2) with 4 lengths; expected (steps, batch, ...) and a length for "
        "each sequence");
  const auto packed = nn::pack_padded_sequence(x, {5, 3, 2, 1}, {.batch_first = true});
  CHECK(argument_error([&] { (void)nn::pad_packed_sequence(packed, {.total_length = 4}); }) ==
        "pad_packed_sequence: total_length is 4; expected at least 5, the length of the longest sequence, or 0");
  CHECK(shape_error([&] {
          (void)packed.with_data(zeros<double>({10, 2}, D{}));
        }) == "with_data: rows of shape (10, 2); expected (11, ...)");
  CHECK(shape_error([&] {
          (void)lstm(packed.with_data(zeros<double>({11, 3}, D{})));
        }) == "LSTM: packed rows of shape (11, 3); expected (rows, 2)");
  auto wrong = packed;
  wrong.batch_sizes = {4, 3, 2, 1};
  CHECK(argument_error([&] { (void)nn::pad_packed_sequence(wrong); }) ==
        "pad_packed_sequence: packed sequences of 11 rows whose 4 batch_sizes begin with 4; expected positive sizes "
        "that do not increase, whose sum is the number of rows");
  wrong.batch_sizes = {2, 4, 3, 2};
  CHECK(argument_error([&] { (void)lstm(wrong); }) != "");
  wrong.batch_sizes = {};
  CHECK(argument_error([&] { (void)lstm(wrong); }) != "");
  wrong = packed, wrong.order = {0, 1, 1, 2};
  CHECK(argument_error([&] { (void)lstm(wrong); }) ==
        "LSTM: packed sequences whose order has 4 numbers for 4 sequences; expected each of 0 to 3 once, or none");
  wrong.order = {3, 2, 1, 0}, wrong.sorted_indices = wrong.unsorted_indices = zeros<std::int64_t>({3}, D{});
  CHECK(argument_error([&] { (void)lstm(wrong); }) ==
        "packed sequences: indices of shape (3,) beside an order of 4 sequences; expected as many, or none");
  CHECK(shape_error([&] {
          (void)nn::pack_padded_sequence(zeros<double>({5, 0, 2}, D{}), {});
        }) ==
        "pack_padded_sequence: input of shape (5, 0, 2) has no sequences; expected (steps, batch, ...) with at least "
        "one");
  CHECK(lstm(zeros<double>({0, 5, 2}, D{})).output.shape() == Shape{0, 5, 2});
  const std::vector<Tensor<double, D>> none, uneven{zeros<double>({2, 2}, D{}), zeros<double>({1, 3}, D{})};
  CHECK(argument_error([&] { (void)nn::pad_sequence(none); }) == "pad_sequence: no sequences; expected at least one");
  CHECK(shape_error([&] { (void)nn::pack_sequence(uneven); }) ==
        "pack_sequence: sequences of shapes (2, 2) and (1, 3); expected extents that agree after the first");
}
