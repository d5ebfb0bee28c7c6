// Runs on: host.
// Random programs of all operations against PyTorch: golden/programs.txt, which make_programs.py writes and explains.
//
// LOCUS_FUZZ_PROGRAMS names another such file: make_programs.py --seed 2 --each 100 --out FILE makes a long run.

#include <locus/locus.hpp>
#include <locus/ops/cdist.hpp>
#include <locus/ops/cov.hpp>
#include <locus/ops/cross.hpp>
#include <locus/ops/cumulative.hpp>
#include <locus/ops/einsum.hpp>
#include <locus/ops/masked_select.hpp>
#include <locus/ops/order_statistics.hpp>
#include <locus/ops/sort.hpp>

#include <support/golden_programs.hpp>

#include <array>

namespace {
using namespace locus;

using namespace locus_test::programs;

Value positive(const Value& x) { return x * x + 0.5; }
Value within_unit(const Value& x) { return x / (1 + x * x); }

const Steps& operations() {
  using G = const Given&;
  static const Steps table{
      {"negative", [](G g) { return Value(-g.x()); }},
      {"abs", [](G g) { return Value(abs(g.x())); }},
      {"square", [](G g) { return Value(square(g.x())); }},
      {"exp", [](G g) { return Value(exp(g.x())); }},
      {"expm1", [](G g) { return Value(expm1(g.x())); }},
      {"exp2", [](G g) { return Value(exp2(g.x())); }},
      {"sin", [](G g) { return Value(sin(g.x())); }},
      {"cos", [](G g) { return Value(cos(g.x())); }},
      {"tanh", [](G g) { return Value(tanh(g.x())); }},
      {"sinh", [](G g) { return Value(sinh(g.x())); }},
      {"cosh", [](G g) { return Value(cosh(g.x())); }},
      {"asinh", [](G g) { return Value(asinh(g.x())); }},
      {"atan", [](G g) { return Value(atan(g.x())); }},
      {"erf", [](G g) { return Value(erf(g.x())); }},
      {"erfc", [](G g) { return Value(erfc(g.x())); }},
      {"sigmoid", [](G g) { return Value(sigmoid(g.x())); }},
      {"relu", [](G g) { return Value(relu(g.x())); }},
      {"relu6", [](G g) { return Value(relu6(g.x())); }},
      {"selu", [](G g) { return Value(selu(g.x())); }},
      {"gelu", [](G g) { return Value(gelu(g.x())); }},
      {"gelu_tanh", [](G g) { return Value(gelu<GeluForm::tanh>(g.x())); }},
      {"silu", [](G g) { return Value(silu(g.x())); }},
      {"mish", [](G g) { return Value(mish(g.x())); }},
      {"softplus", [](G g) { return Value(softplus(g.x())); }},
      {"softsign", [](G g) { return Value(softsign(g.x())); }},
      {"hardsigmoid", [](G g) { return Value(hardsigmoid(g.x())); }},
      {"hardswish", [](G g) { return Value(hardswish(g.x())); }},
      {"hardtanh", [](G g) { return Value(hardtanh(g.x())); }},
      {"softshrink", [](G g) { return Value(softshrink(g.x())); }},
      {"hardshrink", [](G g) { return Value(hardshrink(g.x())); }},
      {"floor", [](G g) { return Value(floor(g.x())); }},
      {"ceil", [](G g) { return Value(ceil(g.x())); }},
      {"trunc", [](G g) { return Value(trunc(g.x())); }},
      {"round", [](G g) { return Value(round(g.x())); }},
      {"sign", [](G g) { return Value(sign(g.x())); }},
      {"log", [](G g) { return Value(log(positive(g.x()))); }},
      {"log2", [](G g) { return Value(log2(positive(g.x()))); }},
      {"log10", [](G g) { return Value(log10(positive(g.x()))); }},
      {"log1p", [](G g) { return Value(log1p(positive(g.x()))); }},
      {"sqrt", [](G g) { return Value(sqrt(positive(g.x()))); }},
      {"rsqrt", [](G g) { return Value(rsqrt(positive(g.x()))); }},
      {"reciprocal", [](G g) { return Value(reciprocal(positive(g.x()))); }},
      {"cbrt", [](G g) { return Value(cbrt(positive(g.x()))); }},
      {"acosh", [](G g) { return Value(acosh(positive(g.x()) + 0.75)); }},
      {"lgamma", [](G g) { return Value(lgamma(positive(g.x()))); }},
      {"digamma", [](G g) { return Value(digamma(positive(g.x()))); }},
      {"tan", [](G g) { return Value(tan(within_unit(g.x()))); }},
      {"asin", [](G g) { return Value(asin(within_unit(g.x()))); }},
      {"acos", [](G g) { return Value(acos(within_unit(g.x()))); }},
      {"atanh", [](G g) { return Value(atanh(within_unit(g.x()))); }},
      {"erfinv", [](G g) { return Value(erfinv(within_unit(g.x()))); }},
      {"logit", [](G g) { return Value(logit(within_unit(g.x()) / 2 + 0.5)); }},
      {"leaky_relu", [](G g) { return Value(leaky_relu(g.x(), g.a[0])); }},
      {"elu", [](G g) { return Value(elu(g.x(), g.a[0])); }},
      {"celu", [](G g) { return Value(celu(g.x(), g.a[0])); }},
      {"add", [](G g) { return Value(g.x() + g.y()); }},
      {"subtract", [](G g) { return Value(g.x() - g.y()); }},
      {"multiply", [](G g) { return Value(g.x() * g.y() / 2); }},
      {"maximum", [](G g) { return Value(maximum(g.x(), g.y())); }},
      {"minimum", [](G g) { return Value(minimum(g.x(), g.y())); }},
      {"hypot", [](G g) { return Value(hypot(g.x(), g.y())); }},
      {"atan2", [](G g) { return Value(atan2(g.x(), g.y())); }},
      {"copysign", [](G g) { return Value(copysign(g.x(), g.y())); }},
      {"divide", [](G g) { return Value(g.x() / positive(g.y())); }},
      {"power", [](G g) { return Value(pow(positive(g.x()), g.y() / 4)); }},
      {"xlogy", [](G g) { return Value(xlogy(g.x(), positive(g.y()))); }},
      {"fmod", [](G g) { return Value(fmod(g.x(), positive(g.y()).value())); }},
      {"remainder", [](G g) { return Value(g.x() % positive(g.y()).value()); }},
      {"where", [](G g) { return Value(where(g.x().value() > 0, g.x(), g.y())); }},
      {"pending", [](G g) { return Value(tanh(g.x() * g.y() / 2) * (g.x() - g.y()) / 2); }},
      {"clamp", [](G g) { return Value(clamp(g.x(), g.a[0], g.a[1])); }},
      {"threshold", [](G g) { return Value(threshold(g.x(), g.a[0], g.a[1])); }},
      {"lerp", [](G g) { return Value(lerp(g.x(), g.y(), g.a[0])); }},
      {"addcmul", [](G g) { return Value(addcmul(g.x(), g.y(), g.v[2], g.a[0])); }},
      {"addcdiv", [](G g) { return Value(addcdiv(g.x(), g.y(), positive(g.v[2]), g.a[0])); }},
      {"prelu", [](G g) { return prelu(g.x(), full<double>({1}, g.a[0])); }},
      {"glu", [](G g) { return Value(glu(g.x())); }},
      {"masked_fill", [](G g) { return Value(masked_fill(g.x(), g.x().value() > g.a[0], g.a[0])); }},

      {"sum", [](G g) { return Value(sum(g.x(), g.axes(1), g.flag(0)) / 2); }},
      {"mean", [](G g) { return mean(g.x(), g.axes(1), g.flag(0)); }},
      {"prod", [](G g) { return prod(g.x(), g.axes(1), g.flag(0)); }},
      {"max", [](G g) { return max(g.x(), g.axes(1), g.flag(0)); }},
      {"min", [](G g) { return min(g.x(), g.axes(1), g.flag(0)); }},
      {"norm1", [](G g) { return norm(g.x(), 1, g.axes(1), g.flag(0)); }},
      {"norm2", [](G g) { return norm(g.x(), 2, g.axes(1), g.flag(0)); }},
      {"norm3", [](G g) { return norm(g.x(), 3, g.axes(1), g.flag(0)); }},
      {"norm_infinity", [](G g) { return norm(g.x(), INFINITY, g.axes(1), g.flag(0)); }},
      {"var", [](G g) { return var(g.x(), g.axes(2), {.correction = g.a[0], .keepdim = g.flag(1)}); }},
      {"stddev", [](G g) { return stddev(g.x(), g.axes(2), {.correction = g.a[0], .keepdim = g.flag(1)}); }},
      {"softmax", [](G g) { return softmax(g.x(), g.i(0)); }},
      {"log_softmax", [](G g) { return log_softmax(g.x(), g.i(0)); }},
      {"logsumexp", [](G g) { return logsumexp(g.x(), g.i(0)); }},
      {"cumsum", [](G g) { return Value(cumsum(g.x(), g.i(0)) / 4); }},
      {"cumprod", [](G g) { return cumprod(g.x(), g.i(0)); }},
      {"logcumsumexp", [](G g) { return logcumsumexp(g.x(), g.i(0)); }},
      {"cummax", [](G g) { return cummax(g.x(), g.i(0)).values; }},
      {"cummin", [](G g) { return cummin(g.x(), g.i(0)).values; }},
      {"max_with_indices", [](G g) { return max_with_indices(g.x(), g.i(0)).values; }},
      {"min_with_indices", [](G g) { return min_with_indices(g.x(), g.i(0)).values; }},
      {"median", [](G g) { return median(g.x(), g.i(0)).values; }},
      {"quantile", [](G g) { return quantile(g.x(), 0.3, g.i(0)); }},
      {"kthvalue", [](G g) { return kthvalue(g.x(), g.i(0), g.i(1)).values; }},
      {"sort", [](G g) { return sort(g.x(), g.i(0)).values; }},
      {"sort_descending", [](G g) { return sort(g.x(), g.i(0), true).values; }},
      {"topk", [](G g) { return topk(g.x(), g.i(0), g.i(1), g.flag(2)).values; }},
      {"cov", [](G g) { return cov(g.x(), g.a[0]); }},
      {"corrcoef", [](G g) { return corrcoef(g.x()); }},

      {"reshape", [](G g) { return reshape(g.x(), g.shape(0, 2)); }},
      {"flatten", [](G g) { return flatten(g.x()); }},
      {"flip", [](G g) { return flip(g.x(), g.i(0)); }},
      {"unsqueeze", [](G g) { return unsqueeze(g.x(), g.i(0)); }},
      {"repeat_interleave", [](G g) { return repeat_interleave(g.x(), 2, g.i(0)); }},
      {"transpose", [](G g) { return transpose(g.x(), g.i(0), g.i(1)); }},
      {"permute", [](G g) { return permute(g.x(), g.axes(0)); }},
      {"movedim", [](G g) { return movedim(g.x(), g.i(0), g.i(1)); }},
      {"squeeze", [](G g) { return squeeze(g.x()); }},
      {"expand", [](G g) { return expand(g.x(), g.shape(0, g.a.size())); }},
      {"select", [](G g) { return select(g.x(), g.i(0), g.i(1)); }},
      {"slice", [](G g) { return slice(g.x(), g.i(0), g.i(1), g.i(2), g.i(3)); }},
      {"diagonal", [](G g) { return diagonal(g.x()); }},
      {"tril", [](G g) { return tril(g.x(), g.i(0)); }},
      {"triu", [](G g) { return triu(g.x(), g.i(0)); }},
      {"diag_embed", [](G g) { return diag_embed(g.x(), g.i(0)); }},
      {"roll", [](G g) { return roll(g.x(), g.i(0), g.i(1)); }},
      {"rot90", [](G g) { return rot90(g.x(), g.i(0)); }},
      {"unfold", [](G g) { return unfold(g.x(), g.i(0), g.i(1), g.i(2)); }},
      {"as_strided",
       [](G g) {
         return as_strided(Value(g.x().flatten() + 0), g.shape(1, 3), Strides{g.i(3), g.i(4)}, g.i(0));
       }},
      {"unbind", [](G g) { return unbind(g.x(), g.i(0))[static_cast<std::size_t>(g.i(1))]; }},
      {"split", [](G g) { return split(g.x(), g.i(0), g.i(1)).back(); }},
      {"chunk", [](G g) { return chunk(g.x(), g.i(0), g.i(1)).front(); }},
      {"concat", [](G g) { return concat(g.v, g.i(0)); }},
      {"stack", [](G g) { return stack(g.v, g.i(0)); }},
      {"tile", [](G g) { return tile(g.x(), g.shape(0, g.a.size())); }},
      {"pad",
       [](G g) {
         constexpr std::array modes{PadMode::constant, PadMode::reflect, PadMode::replicate, PadMode::circular};
         return pad(g.x(), {g.i(0), g.i(1)}, modes[static_cast<std::size_t>(g.i(2))]);
       }},

      {"index_select", [](G g) { return index_select(g.x(), g.i(0), g.indices(1)); }},
      {"gather", [](G g) { return gather(g.x(), g.i(0), g.indices(1).reshape(g.x().shape())); }},
      {"scatter_add", [](G g) { return scatter_add(g.x(), g.i(0), g.indices(1).reshape(g.x().shape()), g.y()); }},
      {"scatter", [](G g) { return scatter(g.x(), g.i(0), g.indices(1).reshape(g.x().shape()), g.y()); }},
      {"index_add", [](G g) { return index_add(g.x(), g.i(0), g.indices(1), g.y()); }},
      {"index_copy", [](G g) { return index_copy(g.x(), g.i(0), g.indices(1), g.y()); }},
      {"take", [](G g) { return take(g.x(), g.indices(0)); }},
      {"masked_select", [](G g) { return masked_select(g.x(), g.x().value() > 0); }},

      {"matmul", [](G g) { return Value(matmul(g.x(), g.y()) / 4); }},
      {"matmul_transposed", [](G g) { return Value(matmul(g.x(), g.x().transpose()) / 4); }},
      {"outer", [](G g) { return outer(g.x(), g.y()); }},
      {"einsum", [](G g) { return Value(einsum("ij,kj->ki", g.x(), g.y()) / 4); }},
      {"tensordot",
       [](G g) {
         return Value(tensordot(g.x(), g.y(), {0, 1}, {0, 1}) / 4);
       }},
      {"kron", [](G g) { return kron(g.x(), g.y()); }},
      {"cross", [](G g) { return cross(g.x(), g.y()); }},
      {"cdist", [](G g) { return cdist(g.x(), g.y() + 0.125, g.a[0]); }},
      {"linear", [](G g) { return linear(g.x(), g.y(), full<double>({g.y().shape()[0]}, 0.25), functor::Tanh{}); }},

      {"layer_norm", [](G g) { return layer_norm(g.x(), {g.x().shape()[-1]}, 0.5); }},
      {"rms_norm", [](G g) { return rms_norm(g.x(), {g.x().shape()[-1]}, 0.5); }},
      {"group_norm", [](G g) { return group_norm(g.x(), g.i(0), 0.5); }},
      {"instance_norm", [](G g) { return instance_norm(g.x(), 0.5); }},
      {"batch_norm",
       [](G g) {
         const std::int64_t channels = g.x().shape()[1];
         const RunningStatistics<double, Cpu> running{zeros<double>({channels}), ones<double>({channels}), {}};
         return batch_norm(g.x(), running, {.eps = 0.5});
       }},
      {"conv2d", [](G g) { return Value(conv2d(g.x(), g.y(), {.stride = g.i(0), .padding = g.i(1)}) / 4); }},
      {"conv1d", [](G g) { return Value(conv1d(g.x(), g.y(), {.padding = g.i(0)}) / 4); }},
      {"conv_transpose2d", [](G g) { return Value(conv_transpose2d(g.x(), g.y(), {.stride = g.i(0)}) / 4); }},
      {"max_pool2d", [](G g) { return max_pool2d(g.x(), 2, g.i(0), 1); }},
      {"avg_pool2d", [](G g) { return avg_pool2d(g.x(), 2, g.i(0), 1); }},
      {"adaptive_avg_pool2d",
       [](G g) {
         return adaptive_avg_pool2d(g.x(), {g.i(0), g.i(1)});
       }},
      {"im2col", [](G g) { return im2col(g.x(), 2, 1, g.i(0)); }},
      {"interpolate_nearest",
       [](G g) {
         return interpolate(g.x(), {.size = Size2d{g.i(0), g.i(1)}});
       }},
      {"interpolate_bilinear",
       [](G g) {
         return interpolate(
             g.x(), {.size = Size2d{g.i(0), g.i(1)}, .mode = InterpolateMode::bilinear, .align_corners = g.flag(2)});
       }},
      {"attention", [](G g) { return scaled_dot_product_attention(g.x(), g.y(), g.v[2], {.is_causal = g.flag(0)}); }},

      {"mse_loss", [](G g) { return Value(nn::mse_loss(g.x(), g.y().value(), g.reduction())); }},
      {"l1_loss", [](G g) { return Value(nn::l1_loss(g.x(), g.y().value(), g.reduction())); }},
      {"huber_loss", [](G g) { return Value(nn::huber_loss(g.x(), g.y().value(), 1., g.reduction())); }},
      {"smooth_l1_loss", [](G g) { return Value(nn::smooth_l1_loss(g.x(), g.y().value(), 1., g.reduction())); }},
      {"binary_cross_entropy_with_logits",
       [](G g) {
         return Value(nn::binary_cross_entropy_with_logits(g.x(), sigmoid(g.y().value()).eval(), g.reduction()));
       }},
      {"kl_div",
       [](G g) {
         constexpr std::array reductions{nn::DivergenceReduction::none, nn::DivergenceReduction::mean,
                                         nn::DivergenceReduction::sum};
         return Value(nn::kl_div(g.x(), sigmoid(g.y().value()).eval(),
                                 {.reduction = reductions[static_cast<std::size_t>(g.i(0))]}));
       }},
      {"cross_entropy", [](G g) { return nn::cross_entropy(g.x(), g.indices(1), {.reduction = g.reduction()}); }},
      {"cross_entropy_smooth",
       [](G g) {
         return nn::cross_entropy(g.x(), g.indices(1), {.reduction = g.reduction(), .label_smoothing = 0.2});
       }},
      {"nll_loss", [](G g) { return nn::nll_loss(g.x(), g.indices(1), {.reduction = g.reduction()}); }},
      {"linear_cross_entropy",
       [](G g) { return nn::linear_cross_entropy(g.x(), g.y(), g.indices(1), {.reduction = g.reduction()}); }},
  };
  return table;
}

TEST_CASE("random programs of all operations compute what PyTorch does, and so do their gradients") {
  check_programs(operations(), "programs.txt", 300);
}

}  // namespace
