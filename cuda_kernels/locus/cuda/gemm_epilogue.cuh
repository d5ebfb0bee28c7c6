#pragma once
// Epilogues of products: cuBLASLt fuses some, and a map computes the others.

#include <locus/cuda/gemm_product.hpp>
#include <locus/cuda/map.cuh>
#include <locus/device/linear_fusion.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// The fused form of an activation functor, from its static member `is_identity`, `is_relu` or `is_gelu_tanh`;
/// specialize it for third-party functors.
template <class Activation>
inline constexpr FusedActivation epilogue_of = [] {
  if constexpr (requires { Activation::is_identity; }) {
    if (Activation::is_identity) return FusedActivation::identity;
  }
  if constexpr (requires { Activation::is_relu; }) {
    if (Activation::is_relu) return FusedActivation::relu;
  }
  if constexpr (requires { Activation::is_gelu_tanh; }) {
    if (Activation::is_gelu_tanh) return FusedActivation::gelu;
  }
  return FusedActivation::none;
}();

namespace detail {
struct AskActivation {
  FusedActivation* answer;
  template <class Activation> void operator()(const Activation&) const { *answer = epilogue_of<Activation>; }
};
/// The same for a functor that may hold one of several, chosen at run time: its visit(use) then calls use(chosen).
template <class Activation>
[[nodiscard]] FusedActivation fused_activation(const Activation& activation) {
  FusedActivation answer = epilogue_of<Activation>;
  if constexpr (requires { activation.visit(AskActivation{&answer}); }) activation.visit(AskActivation{&answer});
  return answer;
}

/// c = activation(product + bias) + previous
template <class T, class Activation>
struct EndOfProduct {
  Activation activation;
  LOCUS_FN void operator()(compute_t<T> product, compute_t<T> bias, compute_t<T> previous, compute_t<T>& out) const {
    out = static_cast<compute_t<T>>(activation(static_cast<compute_t<T>>(product + bias)) + previous);
  }
};
/// c = product * activation', computed from y or z
template <class T, class Activation>
struct Derivative {
  Activation activation;
  LOCUS_FN void operator()(compute_t<T> product, compute_t<T> value, compute_t<T>& out) const {
    out = locus::detail::times_derivative(product, activation, value);
  }
};
/// The same for any other epilogue, which receives row and column.
template <class T, class E>
struct AnyEndOfProduct {
  E epilogue;
  int64_t rows, cols;
  LOCUS_FN void operator()(compute_t<T> product, compute_t<T> previous, int64_t index, compute_t<T>& out) const {
    out = epilogue(product, previous, index / cols % rows, index % cols);
  }
};

/// c = epilogue(product) for every element; a null product is zero.
template <class T, class Activation>
void end_product(Context& context, const Shape& shape, const T* product, const Strides& product_strides,
                 const MatrixRef<T>& c, int64_t batch_stride, const Epilogue<T, Activation>& epilogue) {
  const Strides c_strides{batch_stride, c.row_stride, c.col_stride};
  const Strides bias_strides{0, 0, 1};
  const auto plan = make_plan<4>(shape, std::array<Strides, 4>{product_strides, bias_strides, c_strides, c_strides});
  map(context, plan, EndOfProduct<T, Activation>{epilogue.activation},
      Pack<const T*, const T*, const T*>{product, epilogue.bias, epilogue.accumulate ? c.data : nullptr},
      Pack<T*>{c.data});
}
template <class T, class Activation>
void end_product(Context& context, const Shape& shape, const T* product, const Strides& product_strides,
                 const MatrixRef<T>& c, int64_t batch_stride, const DerivativeEpilogue<T, Activation>& epilogue) {
  const Strides c_strides{batch_stride, c.row_stride, c.col_stride}, value_strides{0, epilogue.row_stride, 1};
  const auto plan = make_plan<3>(shape, std::array<Strides, 3>{product_strides, value_strides, c_strides});
  map(context, plan, Derivative<T, Activation>{epilogue.activation}, Pack<const T*, const T*>{product, epilogue.value},
      Pack<T*>{c.data});
}
template <class T, class E>
void end_product(Context& context, const Shape& shape, const T* product, const Strides& product_strides,
                 const MatrixRef<T>& c, int64_t batch_stride, const E& epilogue) {
  const Strides c_strides{batch_stride, c.row_stride, c.col_stride};
  const auto plan =
      make_plan<4>(shape, std::array<Strides, 4>{product_strides, c_strides, row_major(shape), c_strides});
  map(context, plan, AnyEndOfProduct<T, E>{epilogue, c.rows, c.cols},
      Pack<const T*, const T*, LinearIndex>{product, epilogue.accumulates() ? c.data : nullptr, LinearIndex{}},
      Pack<T*>{c.data});
}

/// How cuBLASLt fuses an epilogue into a product that it writes straight to c.
struct FusedEpilogue {
  bool complete = false;  ///< no launch is needed afterwards
  cublasLtEpilogue_t kind = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  bool accumulate = false;
  const void* kept = nullptr;
};
/// cuBLASLt's GELU is the tanh form. It may approximate tanh, also in the derivative: within rounding for 16-bit types
/// only.
template <class T>
inline constexpr bool has_gelu = sizeof(T) == 2;

/// Whether cuBLASLt has an epilogue that applies the activation's derivative.
template <class T>
[[nodiscard]] constexpr bool has_derivative(FusedActivation activation) {
  return activation == FusedActivation::relu || (activation == FusedActivation::gelu && has_gelu<T>);
}

/// For KeepsForDerivatives.
template <class T>
[[nodiscard]] int64_t kept_columns(FusedActivation activation, int64_t cols) {
  constexpr int64_t bits = 8 * static_cast<int64_t>(sizeof(T));
  if (!has_derivative<T>(activation)) return 0;
  if (activation == FusedActivation::gelu) return kept_ld(activation, cols);
  return fused_relu_allowed() ? kept_ld(activation, cols) / bits : 0;
}

template <class T, class Activation>
[[nodiscard]] FusedEpilogue fuse(const Epilogue<T, Activation>& epilogue) {
  const FusedActivation activation = fused_activation(epilogue.activation);
  const bool bias_fits = reinterpret_cast<std::uintptr_t>(epilogue.bias) % 16 == 0;
  const bool is_linear = activation == FusedActivation::identity;
  if (activation == FusedActivation::none || !bias_fits) return {};
  if (activation == FusedActivation::gelu && !has_gelu<T>) return {};
  if (activation == FusedActivation::relu && !fused_relu_allowed()) return {};
  if (epilogue.accumulate && !is_linear) return {};  // cuBLASLt would add first
  if (is_linear) {
    return {true, epilogue.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT, epilogue.bias,
            epilogue.accumulate};
  }
  const int kind = activation == FusedActivation::relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_GELU;
  return {true, static_cast<cublasLtEpilogue_t>(epilogue.bias ? kind | CUBLASLT_EPILOGUE_BIAS : kind), epilogue.bias,
          false};
}
template <class T, class Activation>
[[nodiscard]] FusedEpilogue fuse(const DerivativeEpilogue<T, Activation>& epilogue) {
  const FusedActivation activation = fused_activation(epilogue.activation);
  if (!epilogue.kept || !has_derivative<T>(activation)) return {};
  return {true, activation == FusedActivation::relu ? CUBLASLT_EPILOGUE_DRELU : CUBLASLT_EPILOGUE_DGELU, nullptr, false,
          epilogue.kept};
}
template <class T, class E>
[[nodiscard]] FusedEpilogue fuse(const E&) {
  return {};
}

/// Whether an epilogue treats rows and columns alike.
template <class T, class Activation>
[[nodiscard]] bool is_symmetric(const Epilogue<T, Activation>& epilogue) {
  return epilogue.bias == nullptr;
}
template <class T, class E>
[[nodiscard]] bool is_symmetric(const E&) {
  return false;
}
}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::cuda
