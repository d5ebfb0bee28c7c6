// Runs on: host, cuda (products).
// einsum and its kin against PyTorch and against sums written as loops; refused equations.

#include <locus/autograd/gradcheck.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/ops/einsum.hpp>
#include <locus/tensor/factory.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/launches.hpp>
#include <support/reference.hpp>

#include <random>

using namespace locus;
using locus_test::reference;
using locus_test::sample;

namespace {
template <class D>
auto operand(const std::string& name, const char* letter) {
  return variable(golden::tensor<double, D>("einsum_" + name + "_" + letter));
}

/// The sum of products as the definition says it: over every value of every letter, in double.
locus_test::Reference loops(const EinsumEquation& equation, const std::vector<locus_test::Reference>& operands) {
  std::vector<Shape> shapes;
  for (const auto& each : operands) shapes.push_back(*each.shape);
  const detail::BoundEinsum bound(equation, shapes);
  std::vector<std::int64_t> labels;
  for (std::int64_t label = 0; label < detail::einsum_letters + max_rank; ++label) {
    bool is_named = false;
    for (int i = 0; i < equation.operands(); ++i)
      for (const auto each : bound.operands[i]) is_named = is_named || each == label;
    if (is_named) labels.push_back(label);
  }
  Shape shape;
  for (const auto label : bound.result) shape.push_back(bound.extents[label]);
  locus_test::Reference result(shape, std::vector<double>(static_cast<std::size_t>(elements(shape))));
  std::int64_t value[detail::einsum_letters + max_rank] = {};
  const auto offset = [&](const Dims& names, const Shape& extents) {
    std::int64_t at = 0;
    for (int d = 0; d < names.rank(); ++d) at = at * extents[d] + (extents[d] == 1 ? 0 : value[names[d]]);
    return static_cast<std::size_t>(at);
  };
  const auto add = [&](const auto& next, std::size_t depth) -> void {
    if (depth < labels.size()) {
      for (value[labels[depth]] = 0; value[labels[depth]] < bound.extents[labels[depth]]; ++value[labels[depth]])
        next(next, depth + 1);
      return;
    }
    double product = 1;
    for (std::size_t i = 0; i < operands.size(); ++i)
      product *= operands[i].values[offset(bound.operands[i], shapes[i])];
    result.values[offset(bound.result, shape)] += product;
  };
  add(add, 0);
  return result;
}

template <class T, class D, class... S>
void check_loops(const char* equation, double allowed, const S&... shapes) {
  CAPTURE(equation);
  std::uint64_t seed = 1;
  const Tensor<T, D> operands[] = {sample<T, D>(shapes, seed++)...};
  std::vector<locus_test::Reference> numbers;
  for (const auto& each : operands) numbers.push_back(reference(each));
  const auto result = [&]<std::size_t... i>(std::index_sequence<i...>) {
    return einsum(equation, operands[i]...);
  }(std::make_index_sequence<sizeof...(S)>{});
  CHECK_CLOSE(result, loops(equation, numbers), allowed);
}

/// The message of the error that an equation of two matrices gives.
std::string refused(const char* equation) {
  try {
    (void)einsum(equation, Tensor<float>({2, 3}), Tensor<float>({3, 4}));
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return {};
}
}  // namespace

LOCUS_DEVICE_TEST("einsum and its gradients agree with PyTorch", D) {
  const auto one = [](const std::string& name, const char* equation) {
    const auto a = operand<D>(name, "a");
    CHECK_GOLDEN("einsum_" + name, einsum(equation, a), ({"a"}), a);
  };
  const auto two = [](const std::string& name, const char* equation) {
    const auto a = operand<D>(name, "a"), b = operand<D>(name, "b");
    CHECK_GOLDEN("einsum_" + name, einsum(equation, a, b), ({"a", "b"}), a, b);
  };
  two("matrices", "ij,jk->ik");
  two("turned", "ij,jk->ki");
  two("scores", "blhd,bshd->bhls");
  two("dot_products", "bi,bi->b");
  two("own_letters", "iaj,jbk->ki");
  one("diagonal", "iij->ji");
  one("trace", "ii");
  two("repeated", "...i,ij->...j");
  two("ellipses", " i..., j... -> ij... ");
  const auto a = operand<D>("chain", "a"), b = operand<D>("chain", "b"), c = operand<D>("chain", "c"),
             d = operand<D>("chain", "d");
  CHECK_GOLDEN("einsum_chain", einsum("ab,bc,cd,d->a", a, b, c, d), ({"a", "b", "c", "d"}), a, b, c, d);
}

LOCUS_DEVICE_TEST("bilinear, tensordot, kron and outer agree with PyTorch", D) {
  const auto x = operand<D>("bilinear", "a"), y = operand<D>("bilinear", "b"), w = operand<D>("bilinear", "c");
  CHECK_GOLDEN("einsum_bilinear", bilinear(x, y, w), ({"a", "b", "c"}), x, y, w);
  const auto a = operand<D>("tensordot", "a"), b = operand<D>("tensordot", "b");
  CHECK_GOLDEN("einsum_tensordot", tensordot(a, b, {2, -3}, {0, 1}), ({"a", "b"}), a, b);
  const auto p = operand<D>("kron", "a"), q = operand<D>("kron", "b");
  CHECK_GOLDEN("einsum_kron", kron(p, q), ({"a", "b"}), p, q);
  CHECK_CLOSE(outer(locus_test::tensor<float, D>({2}, {1, 2}), locus_test::tensor<float, D>({3}, {3, 4, 5})),
              {{2, 3}, {3, 4, 5, 6, 8, 10}});
  CHECK(tensordot(Tensor<float, D>({2, 3, 4}), Tensor<float, D>({3, 4, 5})).shape() == Shape{2, 5});
}

LOCUS_DEVICE_TEST("einsum is the sum that its letters say", D) {
  check_loops<float, D>("ij->i", 1e-6, Shape{3, 4});
  check_loops<float, D>("ba", 1e-6, Shape{3, 4});
  check_loops<float, D>("ij,ij->", 1e-6, Shape{3, 4}, Shape{3, 4});
  check_loops<float, D>("i,j->ji", 1e-6, Shape{3}, Shape{4});
  check_loops<float, D>("i,i->i", 1e-6, Shape{3}, Shape{3});
  check_loops<float, D>("i,ij,j", 1e-5, Shape{3}, Shape{3, 4}, Shape{4});
  check_loops<float, D>("ii,ij,jj->j", 1e-5, Shape{3, 3}, Shape{3, 4}, Shape{4, 4});
  check_loops<float, D>("iji,ikk->", 1e-5, Shape{3, 2, 3}, Shape{3, 2, 2});
  check_loops<float, D>("ijk,ilk->jil", 1e-5, Shape{1, 3, 4}, Shape{2, 3, 1});
  check_loops<float, D>("aX,Xb", 1e-5, Shape{2, 3}, Shape{3, 2});
  check_loops<float, D>("a...b,b...", 1e-5, Shape{2, 3, 2, 4}, Shape{4, 1, 2});
  check_loops<float, D>("...->", 1e-5, Shape{2, 3});
  check_loops<float, D>("abcdefgi,abcdefih->abcdefgh", 1e-5, Shape{1, 2, 1, 2, 1, 2, 2, 3},
                        Shape{1, 2, 1, 2, 1, 2, 3, 2});
  check_loops<float, D>("abcdefgi,abcdefgi->abcdefg", 1e-5, Shape{1, 2, 1, 2, 1, 2, 2, 3},
                        Shape{1, 2, 1, 2, 1, 2, 2, 3});
  check_loops<float, D>("abcdefgi,i->abcdefg", 1e-5, Shape{1, 2, 1, 2, 1, 2, 2, 3}, Shape{3});
  check_loops<float, D>("ij,jk->ik", 1e-6, Shape{2, 0}, Shape{0, 3});
  check_loops<float, D>("ij,kj->jik", 1e-6, Shape{0, 2}, Shape{3, 2});
  check_loops<std::int64_t, D>("ij,ij->j", 0, Shape{3, 4}, Shape{3, 4});
  check_loops<std::int32_t, D>("ij,ik->j", 0, Shape{3, 4}, Shape{3, 2});
  check_loops<bfloat16, D>("ij,ij->i", 1e-2, Shape{3, 40}, Shape{3, 40});
}

LOCUS_DEVICE_TEST("operands of an einsum may be permuted, traced, parameters or pending", D) {
  const auto a = sample<double, D>({4, 3}, 1).transpose(), b = sample<double, D>({5, 8}, 2).slice(1, 0, 8, 2);
  const auto expected = loops("ij,kj->ik", {reference(a), reference(b)});
  CHECK_CLOSE(einsum("ij,kj->ik", a, b), expected, 1e-12);
  CHECK_CLOSE(einsum("ij,kj->ik", a + 0, 1 * b), expected, 1e-12);
  const Parameter<double, D> w(b.clone());
  static_assert(std::is_same_v<decltype(einsum("ij,kj->ik", a, w)), Tensor<double, D>>);
  einsum("ij,kj->ik", trace(a), w).backward(ones<double, D>({3, 5}));
  CHECK_CLOSE(w.grad(), loops("ij,k->kj", {reference(a), reference(ones<double, D>({5}))}), 1e-12);
  const auto f = [&](const auto& x) { return einsum("...i,...j,kj,ki->...", x, x, a.transpose(), a.transpose()); };
  CHECK(gradcheck(f, sample<double, D>({2, 3}, 3)));
}

TEST_CASE("an equation is parsed where it is constant, and says what it says") {
  constexpr EinsumEquation scores = "bhld,bhsd";
  static_assert(scores.operands() == 2);
  CHECK(to_string(scores) == "bhld,bhsd->ls");
  CHECK(to_string(EinsumEquation(" z...a , Za ")) == "z...a,Za->...Zz");
  CHECK(to_string(EinsumEquation(std::string("ii->"))) == "ii->");
}

TEST_CASE("an equation that does not parse is refused, naming the place") {
  CHECK(refused("ij;jk") ==
        "einsum(\"ij;jk\"): at character 3, ';': expected a letter for each dimension, \"...\", "
        "\",\" between operands or \"->\" before the result");
  CHECK(refused("ij,jk->il").find("at character 9, 'l': no operand has this letter") != std::string::npos);
  CHECK(refused("ij,jk->ii").find("at character 9, 'i': the result has this letter twice") != std::string::npos);
  CHECK(refused("ij,jk-ik").find("at character 6, '-'") != std::string::npos);
  CHECK(refused("ij,jk->i->k").find("one arrow") != std::string::npos);
  CHECK(refused("ij,jk->i,k").find("one result") != std::string::npos);
  CHECK(refused("i......,jk").find("one ellipsis") != std::string::npos);
  CHECK(refused("ij,jk->...").find("no operand has an ellipsis") != std::string::npos);
  CHECK(refused("i..,jk").find("at character 2, '.'") != std::string::npos);
  CHECK(refused("abcdefghi,jk").find("at most 8 letters") != std::string::npos);
  CHECK(refused("abcde,fghij").find("at character 12, the end: the result would have 10 letters") != std::string::npos);
  CHECK(refused("a,a,a,a,a,a,a,a,a,a,a").find("at most 10 operands") != std::string::npos);
  CHECK(refused("ij") == "einsum(\"ij->ij\"): given 2 operands; expected 1");
}

TEST_CASE("shapes that do not fit an equation are refused, naming operand and letter") {
  const Tensor<float> a({2, 3}), b({4, 5});
  CHECK_THROWS_WITH_AS((void)einsum("ij,jk->ik", a, b),
                       doctest::Contains("operand 1 has shape (4, 5): dimension 0 has extent 4, but 'j' is 3"),
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)einsum("ijk,jk->i", a, b), doctest::Contains("expected 3 dimensions"), ShapeError);
  CHECK_THROWS_WITH_AS((void)einsum("ijk...,jk->i", a, b), doctest::Contains("expected 3 or more"), ShapeError);
  CHECK_THROWS_WITH_AS((void)einsum("ii,jk->i", a, b), doctest::Contains("a letter is repeated"), ShapeError);
  CHECK_THROWS_AS((void)tensordot(a, b, {1}, {0}), ShapeError);
  const Tensor<float> five(Dims::filled(5, 1));
  CHECK_THROWS_WITH_AS((void)tensordot(five, five, 0),
                       doctest::Contains("tensordot: shapes (1, 1, 1, 1, 1) and (1, 1, 1, 1, 1), summed over 0"),
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)einsum("...a,bcdef->...abcdef", five, five),
                       doctest::Contains("einsum(\"...a,bcdef->...abcdef\"): the result would have 10 dimensions"),
                       ShapeError);
  CHECK_THROWS_AS((void)tensordot(a, a, {0, 0}, {0, 0}), ArgumentError);
  CHECK_THROWS_AS((void)tensordot(Tensor<float>({2, 2}), a, {0, 1}, {0, 0}), ArgumentError);
  CHECK_THROWS_AS((void)tensordot(a, a, {0, 1}, {0}), ArgumentError);
  CHECK_THROWS_AS((void)tensordot(a, a, {2}, {0}), IndexError);
  CHECK_THROWS_AS((void)tensordot(a, a, 3), ArgumentError);
  CHECK_THROWS_AS((void)outer(a, a), ShapeError);
  CHECK_THROWS_AS((void)kron(Tensor<float>({1, 1, 1, 1, 1}), a), ShapeError);
}

TEST_CASE("products of many operands are made in the cheapest order") {
  const auto steps = [](const EinsumEquation& equation, const std::vector<Shape>& shapes) {
    std::string text;
    const detail::BoundEinsum bound(equation, shapes);
    const detail::CheapestPath path(bound, equation.operands());
    for (const auto& step : path.steps()) text += std::to_string(step.left) + "*" + std::to_string(step.right) + " ";
    return text;
  };
  CHECK(steps("ab,bc,cd->ad", {{10, 10}, {10, 10}, {10, 1}}) == "1*2 0*1 ");  // the vector first
  CHECK(steps("ab,bc,cd->ad", {{1, 10}, {10, 10}, {10, 10}}) == "0*1 0*2 ");
  CHECK(steps("a,b,ab->", {{100}, {100}, {100, 100}}) == "0*2 0*1 ");  // not the outer product
  CHECK(steps("a->a", {{3}}).empty());
  // Not the product of ten dimensions, though it costs no more.
  const Shape five = Dims::filled(5, 1), six = Dims::filled(6, 1);
  CHECK(steps("abcde,cdehij,fghij->abfg", {five, six, five}) == "0*1 0*2 ");
}

LOCUS_DEVICE_TEST("an einsum of matrices is the launches of its products", D) {
  const auto a = sample<float, D>({2, 3, 4}, 1), b = sample<float, D>({2, 5, 4}, 2);
  const auto launched = [](const char* what, std::int64_t expected, const auto& compute) {
    const LaunchLog log;
    (void)compute();
    locus_test::check_launches<D>(what, log.launches(), expected, expected * locus_test::most_of_product);
  };
  launched("batched", 1, [&] { return einsum("bld,bsd->bls", a, b); });
  launched("turned", 1, [&] { return einsum("bld,bsd->bsl", a, b); });
  launched("dot products", 1, [&] { return einsum("bld,bld->bl", a, a); });
  launched("a view", 0, [&] { return einsum("bld->dlb", a); });
}
