// Runs on: host.
// Values that are spread over ranks: collectives against their adjoints, and training against one process.

#include <locus/distributed/distributed.hpp>
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>
#include <locus/ops/cumulative.hpp>
#include <locus/ops/einsum.hpp>
#include <locus/ops/histogram.hpp>
#include <locus/ops/masked_select.hpp>
#include <locus/ops/norm_moments.hpp>
#include <locus/ops/order_statistics.hpp>
#include <locus/ops/rotary.hpp>
#include <locus/ops/sort.hpp>
#include <locus/ops/unique.hpp>

#include <doctest/doctest.h>

#include <support/spread_training.hpp>

#include <cmath>
#include <string>

using namespace locus;
using namespace locus_test;

namespace {

using Line = dist::Mesh<Cpu, Data>;
using Square = dist::Mesh<Cpu, Data, Model>;

static_assert(sizeof(Over<Tensor<float>, Varying<Data>>) == sizeof(Tensor<float>));
static_assert(sizeof(Over<Traced<float>, Varying<Data>, Partial<Model>>) == sizeof(Traced<float>));
static_assert(sizeof(Over<Parameter<float>, Replicated<Model>>) == sizeof(Parameter<float>));

bool is_same(Spread s) { return s == Spread::invariant || s == Spread::replicated; }

/// Elements with a state along Data: the same on all ranks where it says so.
template <class S>
Tensor<float> drawn(int rank, const Shape& shape, std::uint64_t seed) {
  Generator<Cpu> numbers{10 * seed + (is_same(S::spread) ? 9 : static_cast<std::uint64_t>(rank))};
  return randn<float>(shape, numbers);
}
/// <x, g>, as one process has it.
template <class X, class G>
double pairing(const Line& mesh, const X& x, const G& g) {
  const Tensor<double> local = sum(x.local().eval().value().template as<double>() * g.local().template as<double>());
  if (spread_of<X, Data> == Spread::invariant) return local.item();
  return mesh.communicator().all_reduced(local).item();
}
/// <f x, g> = <x, f* g>, where the gradient is f* g: x has the state S along Data, f(ranks, x) the state To.
template <class S, class To, class F>
void check_adjoint(const Line& mesh, const Shape& shape, const F& f) {
  const auto& ranks = mesh.along<Data>();
  const auto x = variable(mesh.label<S>(drawn<S>(ranks.rank(), shape, 1)));
  const auto y = f(ranks, x).eval();
  static_assert(spread_of<decltype(y), Data> == To::spread);
  using G = typename dist::detail::StateOf<Data, dist::detail::dual(To::spread)>::type;
  const auto g = mesh.label<G>(drawn<G>(ranks.rank(), y.shape(), 2));
  y.backward(g);
  static_assert(spread_of<decltype(x.grad()), Data> == dist::detail::dual(S::spread));
  const double there = pairing(mesh, y, g), back = pairing(mesh, x, x.grad());
  if (!(std::fabs(there - back) < 1e-4 * (1 + std::fabs(there))))
    wrong(join("the adjoint gives ", back, ", expected ", there));
  if (is_same(dist::detail::dual(S::spread))) require_same_bits("a gradient", mesh.communicator(), x.grad().local());
  if (is_same(To::spread)) require_same_bits("a result", mesh.communicator(), y.local().value());
}

template <class F>
void on_line(int ranks, const F& f) {
  CHECK_NOTHROW(dist::spawn<Cpu>(ranks, [&](const dist::Communicator<Cpu>& comm) { f(Line(comm, {ranks})); }));
}
template <class F>
void on_square(int rows, int columns, const F& f) {
  CHECK_NOTHROW(dist::spawn<Cpu>(rows * columns, [&](const dist::Communicator<Cpu>& comm) {
    f(Square(comm, {rows, columns}));
  }));
}

}  // namespace

TEST_CASE("each collective's backward pass is its adjoint, and results are the same where states say so") {
  using I = Invariant<Data>;
  using R = Replicated<Data>;
  using V = Varying<Data>;
  using P = Partial<Data>;
  for (const int ranks : {1, 2, 4})
    on_line(ranks, [](const Line& mesh) {
      const Shape s{4, 8};
      for (const int dim : {0, 1, -1}) {
        check_adjoint<P, V>(mesh, s, [&](auto& a, auto& x) { return a.reduce_scatter(x, dim); });
        check_adjoint<V, R>(mesh, s, [&](auto& a, auto& x) { return a.all_gather(x, dim); });
        check_adjoint<V, I>(mesh, s, [&](auto& a, auto& x) { return a.template all_gather<Invariant>(x, dim); });
        check_adjoint<I, V>(mesh, s, [&](auto& a, auto& x) { return a.part(x, dim); });
        check_adjoint<R, V>(mesh, s, [&](auto& a, auto& x) { return a.part(x, dim); });
      }
      check_adjoint<P, R>(mesh, s, [](auto& a, auto& x) { return a.all_reduce(x); });
      check_adjoint<P, I>(mesh, s, [](auto& a, auto& x) { return a.template all_reduce<Invariant>(x); });
      check_adjoint<V, V>(mesh, s, [](auto& a, auto& x) { return a.all_to_all(x, 1, 0); });
      check_adjoint<V, V>(mesh, {4, 3, 8}, [](auto& a, auto& x) { return a.all_to_all(x, 0, -1); });
      check_adjoint<I, R>(mesh, s, [](auto& a, auto& x) { return a.replicated(x); });
      check_adjoint<R, P>(mesh, s, [](auto& a, auto& x) { return a.share(x); });
      check_adjoint<V, P>(mesh, s, [](auto& a, auto& x) { return a.partial(x); });
      check_adjoint<R, V>(mesh, s, [](auto& a, auto& x) { return a.varying(x); });
    });
}

TEST_CASE("collectives change states, not the value that is meant") {
  on_line(3, [](const Line& mesh) {
    const auto& ranks = mesh.along<Data>();
    const auto& comm = mesh.communicator();
    const Shape s{6, 4};
    const Tensor<float> own = drawn<Varying<Data>>(ranks.rank(), s, 1), same = drawn<Replicated<Data>>(0, s, 1),
                        sum_of_own = comm.all_reduced(own);
    const auto parts = mesh.label<Partial<Data>>(own);
    const auto whole = mesh.label<Replicated<Data>>(same);
    require_close("all_reduce", distance(ranks.all_reduce(parts).local(), sum_of_own), 0);
    require_close("all_reduce<Invariant>", distance(ranks.all_reduce<Invariant>(parts).local(), sum_of_own), 0);
    require_close("reduce_scatter", distance(ranks.all_gather(ranks.reduce_scatter(parts, 0), 0).local(), sum_of_own),
                  0);
    require_close("share", distance(ranks.all_reduce(ranks.share(whole)).local(), same), 0);
    require_close("part", distance(ranks.all_gather(ranks.part(whole, 0), 0).local(), same), 0);
    require_close("replicated", distance(ranks.replicated(mesh.label<Invariant<Data>>(same)).local(), same), 0);
    // The gradient of a part is zero around it: the sum over ranks is the gradient of the whole.
    const auto x = variable(whole);
    ranks.partial(sum(ranks.part(x, 0) * 2.f)).eval().backward();
    require_close("the gradient of parts", distance(ranks.all_reduce(x.grad()).local(), full(s, 2.f)), 0);
  });
}

TEST_CASE("gathered parts are in rank order, and a part of them is this rank's") {
  on_line(4, [](const Line& mesh) {
    const auto& ranks = mesh.along<Data>();
    for (const int dim : {0, 1}) {
      const Tensor<float> mine = full({2, 3}, static_cast<float>(ranks.rank()));
      const Tensor<float> all = ranks.all_gather(mesh.label<Varying<Data>>(mine), dim).local();
      if (!(all.shape() == (dim == 0 ? Shape{8, 3} : Shape{2, 12}))) wrong(to_string(all.shape()));
      for (int r = 0; r < 4; ++r)
        if (max(abs(all.slice(dim, (dim == 0 ? 2 : 3) * r, (dim == 0 ? 2 : 3) * (r + 1)) - static_cast<float>(r)))
                .item() != 0)
          wrong("another order");
      const auto part = ranks.part(mesh.label<Replicated<Data>>(all), dim);
      if (distance(part.local(), mine) != 0) wrong("another part");
    }
    // Rank r's row of columns j becomes rank j's column of rows r.
    const Tensor<float> x = full({1, 4}, static_cast<float>(ranks.rank()));
    const Tensor<float> y = ranks.all_to_all(mesh.label<Varying<Data>>(x), 1, 0).local();
    if (!(y.shape() == Shape{4, 1}) || y(2, 0) != 2) wrong("all_to_all");
    const auto most = ranks.reduced(mesh.label<Varying<Data>>(x), dist::max);
    static_assert(spread_of<decltype(most), Data> == Spread::replicated);
    if (most.local()(0, 0) != 3) wrong("reduced");
  });
}

TEST_CASE("functions of operands in several states") {
  using R = Replicated<Data>;
  using P = Partial<Data>;
  using V = Varying<Data>;
  on_line(3, [](const Line& mesh) {
    const auto other = [&]<class S>(std::type_identity<S>, const auto& ranks, const Shape& shape) {
      return mesh.label<S>(drawn<S>(ranks.rank(), shape, 3));
    };
    const Shape s{4, 6};
    check_adjoint<R, V>(mesh, s, [&](auto& a, auto& x) { return x * other(std::type_identity<V>(), a, s); });
    check_adjoint<P, P>(mesh, s, [&](auto& a, auto& x) { return x * other(std::type_identity<R>(), a, s); });
    check_adjoint<P, P>(mesh, s, [](auto&, auto& x) { return x - 3.f * x; });
    check_adjoint<P, P>(mesh, s, [&](auto& a, auto& x) {
      return matmul(x, other(std::type_identity<R>(), a, {6, 3}));
    });
    check_adjoint<R, P>(mesh, s, [&](auto& a, auto& x) {
      return matmul(other(std::type_identity<P>(), a, {3, 4}), x);
    });
    check_adjoint<P, P>(mesh, s, [&](auto& a, auto& x) {
      return linear(x, other(std::type_identity<R>(), a, {3, 6}));
    });
    check_adjoint<P, P>(mesh, s, [](auto&, auto& x) { return concat(0, x, x * 2.f); });
    check_adjoint<P, P>(mesh, s, [&](auto& a, auto& x) {
      return einsum("ij,jk->ki", x, other(std::type_identity<R>(), a, {6, 3}));
    });
    check_adjoint<P, P>(mesh, s, [](auto&, auto& x) { return sum(x, {0, 1}) / 2.f; });
    check_adjoint<R, R>(mesh, s, [](auto&, auto& x) { return x.reshape({6, 4}).transpose(); });
    check_adjoint<Invariant<Data>, Invariant<Data>>(mesh, s, [](auto&, auto& x) { return sum(x, 1); });
  });
}

namespace {

/// Checks f(x), one of several results, of x in each state: spread as x, and the adjoint of its gradient. Of a function
/// that is linear in x, Partial operands, too.
template <bool is_linear, class F>
void check_result(const Line& mesh, const Shape& shape, const F& f) {
  const auto of = [&](const auto&, const auto& x) { return f(x); };
  check_adjoint<Invariant<Data>, Invariant<Data>>(mesh, shape, of);
  check_adjoint<Replicated<Data>, Replicated<Data>>(mesh, shape, of);
  check_adjoint<Varying<Data>, Varying<Data>>(mesh, shape, of);
  if constexpr (is_linear) check_adjoint<Partial<Data>, Partial<Data>>(mesh, shape, of);
}
template <class X, class F>
concept Takes = requires(const X& x, const F& f) { f(x); };
template <class... S>
using Plain = Over<Tensor<float>, S...>;

/// Functions whose results are several tensors, of which they pick one.
constexpr auto sorted = [](const auto& x)
  requires requires { sort(x, 0); }
{
  return sort(x, 0).values;
};
constexpr auto largest = [](const auto& x)
  requires requires { topk(x, 2, 1); }
{
  return topk(x, 2, 1).values;
};
constexpr auto runner_up = [](const auto& x)
  requires requires { kthvalue(x, 2, 0); }
{
  return kthvalue(x, 2, 0).values;
};
constexpr auto middle = [](const auto& x)
  requires requires { median(x, 1); }
{
  return median(x, 1).values;
};
constexpr auto extreme = [](const auto& x)
  requires requires { max_with_indices(x, 1); }
{
  return max_with_indices(x, 1).values;
};
constexpr auto summit = [](const auto& x)
  requires requires { cummax(x, 0); }
{
  return cummax(x, 0).values;
};
constexpr auto moments = [](const auto& x)
  requires requires { var_mean(x, 0); }
{
  return var_mean(x, 0).mean;
};
constexpr auto one_part = [](const auto& x)
  requires requires { split(x, 3, 1); }
{
  return split(x, 3, 1)[1];
};
constexpr auto unequal = [](const auto& x)
  requires requires {
    split(x, std::vector<std::int64_t>{1, 3}, 0);
  }
{
  return split(x, std::vector<std::int64_t>{1, 3}, 0)[1];
};
constexpr auto piece = [](const auto& x)
  requires requires { chunk(x, 2, 0); }
{
  return chunk(x, 2, 0)[0];
};
constexpr auto row = [](const auto& x)
  requires requires { unbind(x, 0); }
{
  return unbind(x, 0)[2];
};

static_assert(Takes<Plain<Partial<Data>>, decltype(one_part)> && Takes<Plain<Partial<Data>>, decltype(row)>);
static_assert(!Takes<Plain<Partial<Data>>, decltype(sorted)> && !Takes<Plain<Partial<Data>>, decltype(largest)> &&
              !Takes<Plain<Partial<Data>>, decltype(moments)> && !Takes<Plain<Partial<Data>>, decltype(middle)>);

// Linear in x, with the same tables on all ranks.
template <class X, class Table>
concept Turns = requires(const X& x, const Table& table) {
  { rotary(x, table, table) } -> std::same_as<X>;
};
static_assert(Turns<Plain<Partial<Data>>, Plain<Replicated<Data>>> &&
              Turns<Plain<Varying<Data>>, Plain<Varying<Data>>>);
static_assert(!Turns<Plain<Partial<Data>>, Plain<Varying<Data>>>);

}  // namespace

TEST_CASE("each of several results is spread as the function's kind says, and has its gradient") {
  on_line(3, [](const Line& mesh) {
    const Shape s{4, 6};
    check_result<false>(mesh, s, sorted), check_result<false>(mesh, s, largest),
        check_result<false>(mesh, s, runner_up);
    check_result<false>(mesh, s, middle), check_result<false>(mesh, s, extreme), check_result<false>(mesh, s, summit);
    check_result<false>(mesh, s, moments);
    check_result<true>(mesh, s, one_part), check_result<true>(mesh, s, unequal), check_result<true>(mesh, s, piece);
    check_result<true>(mesh, s, row);
    const auto mask = mesh.label<Replicated<Data>>((arange<float>(0, 6) < 3.f).eval());
    check_result<true>(mesh, s, [&](const auto& x) {
      // A mask that collects no gradient counts as Replicated, beside Invariant operands as Invariant.
      if constexpr (spread_of<decltype(x), Data> == Spread::invariant)
        return masked_select(x, mesh.label<Invariant<Data>>(mask.local()));
      else return masked_select(x, mask);
    });
  });
}

TEST_CASE("several results have the values of the untyped function") {
  on_line(2, [](const Line& mesh) {
    const Tensor<float> own = floor(drawn<Varying<Data>>(mesh.along<Data>().rank(), {4, 6}, 1) * 2.f);
    const auto x = mesh.label<Varying<Data>>(own);
    const auto check = [](const auto& found, const auto& expected) {
      static_assert(spread_of<decltype(found), Data> == Spread::varying);
      if (!(found.shape() == expected.shape()) || !all(found.local() == expected).item()) wrong("other values");
    };
    check(sort(x, 1, true).indices, sort(own, 1, true).indices);
    check(topk(x, 2).indices, topk(own, 2).indices);
    check(mode(x, 1).values, mode(own, 1).values), check(kthvalue(x, 1).indices, kthvalue(own, 1).indices);
    check(min_with_indices(x, 0).indices, min_with_indices(own, 0).indices);
    check(var_mean(x, 0, {.correction = 0}).variance, var_mean(own, 0, {.correction = 0}).variance);
    check(var(x, 0, {.correction = 0}), var(own, 0, {.correction = 0}));
    const auto found = unique(x, {.return_inverse = true, .return_counts = true});
    const auto expected = unique(own, {.return_inverse = true, .return_counts = true});
    check(found.values, expected.values), check(found.inverse, expected.inverse), check(found.counts, expected.counts);
    check(histogram(x, 4, -3., 3.), histogram(own, 4, -3., 3.)), check(nonzero(x), nonzero(own));
    check(quantile(x, 0.25, 1), quantile(own, 0.25, 1));
    check(layer_norm_and_moments(x, Shape{6}).rstd, layer_norm_and_moments(own, Shape{6}).rstd);
    check(group_norm_and_moments(x, 2).mean, group_norm_and_moments(own, 2).mean);
    const auto grid = meshgrid(x.select(0, 0), mesh.label<Replicated<Data>>(arange<float>(0, 2).eval()));
    check(grid[1], meshgrid(own.select(0, 0), arange<float>(0, 2).eval())[1]);
  });
}

namespace {

/// Parameters that are the same on all ranks, and whose gradients step() sums.
struct Replica {
  template <class X>
  using Whole = Over<X, Replicated<Data>>;
  Whole<Parameter<float>> w1, b1, w2, b2;
  void members(const auto& visit) const { visit("w1", w1), visit("b1", b1), visit("w2", w2), visit("b2", b2); }
};

}  // namespace

TEST_CASE("data-parallel training has the losses and weights of one process") {
  const Wanted<Cpu> expected = trained<Cpu>(10);
  on_line(4, [&](const Line& mesh) {
    const auto& data = mesh.along<Data>();
    const Problem<Cpu> problem;
    const auto part = [&](const Tensor<float>& of) {
      return mesh.label<Varying<Data>>(of.slice(0, 6 * data.rank(), 6 * data.rank() + 6));
    };
    const auto x = part(problem.x), y = part(problem.y);
    const auto whole = [&](const Parameter<float>& p) { return mesh.label<Replicated<Data>>(p); };
    const Replica net{whole(problem.first.weight), whole(problem.first.bias), whole(problem.second.weight),
                      whole(problem.second.bias)};
    dist::Optimizer<optim::Sgd<float, Cpu>, Data> sgd(net, optim::SgdOptions{.lr = 0.1, .momentum = 0.9});
    for (std::size_t i = 0; i < 10; ++i) {
      const auto loss = mean(square(linear(linear(trace(x), net.w1, net.b1, functor::Relu{}), net.w2, net.b2) - y));
      static_assert(spread_of<decltype(loss), Data> == Spread::varying);
      const auto total = data.partial(loss / static_cast<float>(data.size())).eval();
      sgd.zero_grad();
      total.backward();
      const float norm = sgd.clip_and_step(0.5, data).item();
      const float shown = data.all_reduce(total.value()).item();
      if (std::fabs(shown - expected.losses[i]) > 1e-6f) wrong(join("loss ", shown, ", expected ", expected.losses[i]));
      if (i == 0 && std::fabs(norm - expected.norm) > 1e-6f) wrong(join("norm ", norm, ", expected ", expected.norm));
    }
    const auto parameters = problem.parameters();
    for (std::size_t i = 0; i < 4; ++i) {
      if (const double d = distance(parameters[i].value(), expected.weights[i]); d > 1e-6)
        wrong(join("weights differ by ", d));
      require_same_bits("weights", mesh.communicator(), parameters[i].value());
    }
  });
}

TEST_CASE("parameters that are Invariant get whole gradients, which any optimizer steps") {
  on_line(2, [](const Line& mesh) {
    const auto& data = mesh.along<Data>();
    const Problem<Cpu> problem, reference;
    reference.loss().backward();
    const auto w1 = mesh.same(problem.first.weight), b1 = mesh.same(problem.first.bias),
               w2 = mesh.same(problem.second.weight), b2 = mesh.same(problem.second.bias);
    const auto part = [&](const Tensor<float>& of) {
      return mesh.label<Varying<Data>>(of.slice(0, 12 * data.rank(), 12 * data.rank() + 12));
    };
    const auto x = trace(part(problem.x));
    const auto h = linear(x, mesh.seen_by(x, w1), mesh.seen_by(x, b1), functor::Relu{});
    const auto out = linear(h, mesh.seen_by(h, w2), mesh.seen_by(h, b2));
    data.partial(mean(square(out - part(problem.y))) / 2.f).eval().backward();
    static_assert(spread_of<decltype(w1.grad()), Data> == Spread::invariant);
    optim::Sgd sgd{std::vector{dist::stepped(w1), dist::stepped(b1), dist::stepped(w2), dist::stepped(b2)},
                   {.lr = 0.1}};
    const auto parameters = problem.parameters(), expected = reference.parameters();
    for (std::size_t i = 0; i < 4; ++i)
      if (const double d = distance(parameters[i].grad(), expected[i].grad()); d > 1e-6)
        wrong(join("a gradient differs by ", d));
    sgd.step();
    for (const auto& p : parameters) require_same_bits("weights", mesh.communicator(), p.value());
    // Beside a plain operand, a parameter is plain: nothing is recorded.
    const auto plain = part(problem.x);
    static_assert(dist::detail::local_t<decltype(matmul(plain, transpose(mesh.seen_by(plain, w1))))>::role ==
                  Role::plain);
  });
}

TEST_CASE("a Replicated parameter that is called Varying collects a gradient and cannot be stepped by each rank") {
  on_line(3, [](const Line& mesh) {
    const auto& ranks = mesh.along<Data>();
    const auto w = mesh.label<Replicated<Data>>(Parameter<float>(ones({2})));
    const auto other = ranks.varying(w);
    static_assert(std::is_same_v<decltype(other), const Over<Traced<float>, Varying<Data>>>);
    ranks.partial(sum(other * static_cast<float>(ranks.rank() + 1))).backward();
    if (w.grad().local()(0) != static_cast<float>(ranks.rank() + 1)) wrong("the gradient of a part of the sum");
  });
}

TEST_CASE("a penalty of weights that are the same on all ranks counts once") {
  on_line(3, [](const Line& mesh) {
    const auto& ranks = mesh.along<Data>();
    const auto w = mesh.same(Parameter<float>(full({2}, 3.0f)));
    const auto x = mesh.label<Varying<Data>>(full({2}, static_cast<float>(ranks.rank())));
    const auto fit = ranks.all_reduce<Invariant>(ranks.partial(sum(trace(x) * ranks.replicated(w))));
    (fit + sum(square(trace(w)))).eval().backward();  // gradients of 0 + 1 + 2, and of 2 * 3
    if (w.grad().local()(1) != 9) wrong(join("the gradient is ", w.grad().local()(1)));
  });
}

TEST_CASE("a copy on another device is spread as its source") {
  on_line(2, [](const Line& mesh) {
    const auto x = mesh.label<Varying<Data>>(full({2}, 3.0f));
    static_assert(std::is_same_v<decltype(x.to<Cpu>()), Over<Tensor<float>, Varying<Data>>>);
    static_assert(std::is_same_v<decltype(trace(x).to(Cuda{})), Over<Traced<float, Cuda>, Varying<Data>>>);
    if (sum(x.to(Cpu{})).local().item() != 6) wrong("the copy");
  });
}

TEST_CASE("layers divided among ranks, on meshes of several forms, train as one process does") {
  for (const auto& [rows, columns] : std::vector<std::pair<int, int>>{{1, 4}, {2, 2}, {4, 1}, {1, 3}})
    CHECK_NOTHROW(
        dist::spawn<Cpu>(rows * columns, [rows = rows, columns = columns](const dist::Communicator<Cpu>& comm) {
          check_divided_training(comm, rows, columns);
        }));
}

TEST_CASE("generators draw alike along axes that they do not vary along") {
  on_square(2, 2, [](const Square& mesh) {
    const auto& data = mesh.along<Data>();
    const auto& model = mesh.along<Model>();
    const auto x = variable(mesh.label<Varying<Data>, Replicated<Model>>(ones({1000})));
    auto numbers = mesh.generator<Varying<Data>, Invariant<Model>>(7);
    const auto first = dropout(x, 0.5, numbers).eval(), second = dropout(x, 0.5, numbers).eval();
    static_assert(spread_of<decltype(first), Data> == Spread::varying &&
                  spread_of<decltype(first), Model> == Spread::replicated);
    require_same_bits("a mask along Model", model.communicator(), first.local().value());
    const auto of_data = data.communicator().all_gather(first.local().value());
    if (distance(of_data.select(0, 0), of_data.select(0, 1)) == 0) wrong("ranks along Data drew the same numbers");
    if (distance(first.local().value(), second.local().value()) == 0) wrong("two draws are the same");
    auto alike = mesh.generator<Replicated<Data>, Replicated<Model>>(7);
    const auto parts = trace(mesh.label<Partial<Data>, Invariant<Model>>(ones({1000})));
    const auto dropped = dropout(parts, 0.5, alike).eval();  // linear: of parts of a sum, with one mask
    static_assert(spread_of<decltype(dropped), Data> == Spread::partial);
    require_same_bits("a mask of all", mesh.communicator(), dropped.local().value());
  });
}

TEST_CASE("typed code makes the launches of untyped code, as many as the table of docs/spread.md has") {
  on_line(2, [](const Line& mesh) {
    const Tensor<float> a = randn<float>({8, 8}), b = randn<float>({8, 8});
    const auto ta = mesh.label<Varying<Data>>(a);
    const auto tb = mesh.label<Replicated<Data>>(b);
    const auto total = [&](const auto& x) {
      if constexpr (dist::detail::IsOver<decltype(x)>) return mesh.along<Data>().partial(sum(x)).eval();
      else return sum(x).eval();
    };
    const auto check = [&](const char* what, std::int64_t expected, const auto& f) {
      const auto launches = [&](const auto& x, const auto& w) {
        const auto y = variable(x);
        const LaunchLog log;
        total(f(y, w)).backward();
        return log.launches();
      };
      const auto untyped = launches(a, b), typed = launches(ta, tb);
      if (typed != untyped || typed != expected)
        wrong(join(what, ": ", typed, " launches, untyped ", untyped, ", expected ", expected));
    };
    check("a fused expression and a product", 5, [](auto& y, auto& w) { return relu(y * w + matmul(y, w)); });
    check("a normalization and a view", 4, [](auto& y, auto&) { return layer_norm(y.transpose(), Shape{8}); });
    check("sort", 4, [](auto& y, auto&) { return sort(y, 1).values; });
    check("split and softmax", 5, [](auto& y, auto&) { return softmax(split(y, 4, 1)[0], 1); });
  });
}

TEST_CASE("extents that ranks do not divide, and meshes that do not cover the ranks, are refused on all ranks") {
  on_line(3, [](const Line& mesh) {
    const auto& ranks = mesh.along<Data>();
    const auto check = [](const auto& f, const char* text) {
      CHECK_THROWS_WITH_AS((void)f(), doctest::Contains(text), ShapeError);
    };
    check(
        [&] {
          return ranks.part(mesh.label<Replicated<Data>>(ones({4, 6})), 0);
        },
        "part: dimension 0 of shape (4, 6) does not divide into equal parts for 3 ranks");
    check(
        [&] {
          return ranks.reduce_scatter(mesh.label<Partial<Data>>(ones({4, 6})), 0);
        },
        "reduce_scatter: dimension 0 of shape (4, 6)");
    check([&] { return ranks.all_to_all(mesh.label<Varying<Data>>(ones({4, 6})), 0, 1); }, "all_to_all: dimension 0");
    check([&] { return ranks.all_gather(mesh.label<Varying<Data>>(ones({4, 6})), 2); }, "all_gather: dimension 2");
    check([&] { return ranks.all_gather(mesh.label<Varying<Data>>(ones({})), 0); },
          "all_gather: dimension 0 of shape (); a scalar has none, say x.unsqueeze(0) first");
    CHECK(ranks.all_gather(mesh.label<Varying<Data>>(ones({})).unsqueeze(0), 0).shape() == Shape{3});
    mesh.communicator().barrier();
  });
  dist::spawn<Cpu>(4, [](const dist::Communicator<Cpu>& comm) {
    CHECK_THROWS_WITH_AS(Square(comm, {2, 3}), doctest::Contains("mesh: 2 x 3 has 6 places for 4 ranks"),
                         ArgumentError);
    CHECK_THROWS_WITH_AS(Square(comm, {4, 0}), doctest::Contains("an extent of 0"), ArgumentError);
    comm.barrier();
  });
}

TEST_CASE("with Options::debug, labels that lie are found, and parameters that have drifted apart") {
  for (const bool debug : {false, true}) {
    CAPTURE(debug);
    dist::spawn<Cpu>(
        4,
        [&](const dist::Communicator<Cpu>& comm) {
          const Square mesh(comm, {2, 2});
          const auto& data = mesh.along<Data>();
          const Tensor<float> x = full({3}, static_cast<float>(data.rank()));  // the same along Model alone
          (void)mesh.label<Varying<Data>, Replicated<Model>>(x);
          const auto lie = [&] { (void)mesh.label<Invariant<Data>, Invariant<Model>>(x); };
          if (debug)
            CHECK_THROWS_WITH_AS(lie(),
                                 doctest::Contains("the same on all ranks along Data, and rank 1 of these has other"),
                                 ArgumentError);
          else CHECK_NOTHROW(lie());
        },
        {.debug = debug});
  }
  dist::spawn<Cpu>(2,
                   [](const dist::Communicator<Cpu>& comm) {
                     const Line mesh(comm, {2});
                     const Problem<Cpu> problem;
                     const auto whole = [&](const Parameter<float>& p) { return mesh.label<Replicated<Data>>(p); };
                     const Replica net{whole(problem.first.weight), whole(problem.first.bias),
                                       whole(problem.second.weight), whole(problem.second.bias)};
                     dist::Optimizer<optim::Sgd<float, Cpu>, Data> sgd(net, optim::SgdOptions{.lr = 0.1});
                     sgd.step(mesh.along<Data>());
                     if (comm.rank() == 1) problem.first.bias.value().fill_(0.25f);
                     CHECK_THROWS_WITH_AS(sgd.step(mesh.along<Data>()),
                                          doctest::Contains("optimizer.step(): a parameter is said to be"),
                                          ArgumentError);
                   },
                   {.debug = true});
}
