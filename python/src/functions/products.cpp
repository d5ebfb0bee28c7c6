// Products: of matrices, Einstein sums, distances, attention.

#include "../call.hpp"
#include "../functions.hpp"

#include <locus/ops/attention.hpp>
#include <locus/ops/cdist.hpp>
#include <locus/ops/cross.hpp>
#include <locus/ops/einsum.hpp>
#include <locus/ops/linear.hpp>
#include <locus/ops/matmul.hpp>

namespace locus::python {

using namespace nb::literals;

namespace {
void add_matrices(nb::module_& m) {
  const auto product = [](Operand a, Operand b) {
    return differentiable(
        "matmul(a, b)", Numbers{}, [](const auto& a, const auto& b) { return matmul(a, b); }, Main{a}, Main{b});
  };
  m.def("matmul", product, "a"_a, "b"_a, "The matrix product; dimensions before the last two broadcast.");
  tensor_class()
      .def(
          "__matmul__", [product](nb::handle a, Operand b) { return product({a}, b); }, "b"_a, nb::is_operator())
      .def(
          "__rmatmul__", [product](nb::handle b, Operand a) { return product(a, {b}); }, "a"_a, nb::is_operator());
  m.def(
      "linear",
      [](Operand x, Operand weight, std::optional<Operand> bias) {
        return differentiable(
            "linear(x, weight, bias)", Floats{},
            [=](const auto& x, const auto& weight, const auto& bias_given) {
              return bias ? linear(x, weight, bias_given) : linear(x, weight);
            },
            Main{x}, Main{weight}, Optional{bias});
      },
      "x"_a, "weight"_a, "bias"_a = nb::none(), "x weight^T + bias, for a weight of shape (out, in).");
  m.def(
      "outer",
      [](Operand a, Operand b) {
        return differentiable(
            "outer(a, b)", Floats{}, [](const auto& a, const auto& b) { return outer(a, b); }, Main{a}, Main{b});
      },
      "a"_a, "b"_a, "Every element of one vector times every element of another.");
  m.def(
      "kron",
      [](Operand a, Operand b) {
        return differentiable(
            "kron(a, b)", Floats{}, [](const auto& a, const auto& b) { return kron(a, b); }, Main{a}, Main{b});
      },
      "a"_a, "b"_a, "The Kronecker product.");
  m.def(
      "tensordot",
      [](Operand a, Operand b, int count) {
        return differentiable(
            "tensordot(a, b)", Floats{}, [=](const auto& a, const auto& b) { return tensordot(a, b, count); }, Main{a},
            Main{b});
      },
      "a"_a, "b"_a, "count"_a = 2, "The sum of products over the last dimensions of a and the first of b.");
  m.def(
      "cross",
      [](Operand a, Operand b, int axis) {
        return differentiable(
            "cross(a, b)", Floats{}, [=](const auto& a, const auto& b) { return cross(a, b, axis); }, Main{a}, Main{b});
      },
      "a"_a, "b"_a, "axis"_a = -1, "The cross product of vectors of three elements along an axis.");
  m.def(
      "cdist",
      [](Operand x, Operand y, double p) {
        return differentiable(
            "cdist(x, y)", Floats{}, [=](const auto& x, const auto& y) { return cdist(x, y, p); }, Main{x}, Main{y});
      },
      "x"_a, "y"_a, "p"_a = 2.0, "The distance between each vector of x and each of y, without cancellation.");
}

void add_einsum(nb::module_& m) {
  m.def(
      "einsum",
      [](const std::string& equation, const nb::args& operands) {
        std::vector<Operand> given;
        for (const nb::handle operand : operands) given.push_back({operand});
        if (given.empty() || given.size() > 3)
          fail<ArgumentError>({"einsum: ", given.size(), " operands; expected 1 to 3"});
        return differentiable(
            "einsum", Floats{},
            [&](const auto& x) {
              const EinsumEquation parsed(equation);
              if (x.size() == 1) return einsum(parsed, x[0]);
              if (x.size() == 2) return einsum(parsed, x[0], x[1]);
              return einsum(parsed, x[0], x[1], x[2]);
            },
            List{given});
      },
      "equation"_a, "operands"_a, "A sum of products by letters of dimensions, of up to three operands.");
}

void add_attention(nb::module_& m) {
  m.def(
      "scaled_dot_product_attention",
      [](Operand query, Operand key, Operand value, std::optional<Operand> mask, bool is_causal,
         std::optional<double> scale) {
        constexpr const char* caller = "scaled_dot_product_attention(query, key, value)";
        std::optional<Array> given;
        if (mask) given = array_of(caller, *mask);
        if (given && given->is_recorded())
          fail<ArgumentError>(
              {"scaled_dot_product_attention: the mask is recorded, and gets no gradient; give it "
               ".detach()"});
        return differentiable(
            caller, Floats{},
            [&]<class Q>(const Q& q, const auto& k, const auto& v) {
              using T = value_of<Q>;
              AttentionOptions<T, Here> options{.is_causal = is_causal, .scale = scale};
              if (given) {
                if (const auto* marks = std::get_if<Tensor<bool, Here>>(&given->plain)) options.mask = *marks;
                else if (const auto* added = std::get_if<Tensor<T, Here>>(&given->plain)) options.mask = *added;
                else
                  fail<ArgumentError>({"scaled_dot_product_attention: the mask holds ", name_of(given->type()),
                                       "; expected bool or ", name_of(element_type<T>)});
              }
              return scaled_dot_product_attention(q, k, v, options);
            },
            Main{query}, Main{key}, Main{value});
      },
      "query"_a, "key"_a, "value"_a, "mask"_a = nb::none(), nb::kw_only(), "is_causal"_a = false,
      "scale"_a = nb::none(),
      "softmax(scale query key^T + mask) value; scores are never stored whole. The mask is of bool, or is added.");
}
}  // namespace

void add_products(nb::module_& m) {
  add_matrices(m);
  add_einsum(m);
  add_attention(m);
}

}  // namespace locus::python
