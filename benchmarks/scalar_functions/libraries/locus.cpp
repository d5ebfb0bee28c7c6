// Locus: expressions of tensors, on each instruction set of this processor. -DTYPE=half or bfloat16 chooses another
// type than float, -DNAME another name than locus.

#include "../library.hpp"

#include <locus/locus.hpp>

#include <cstring>

namespace {

using namespace locus;
#if !defined(TYPE)
#define TYPE float
#endif
#if !defined(NAME)
#define NAME locus
#endif
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

using Numbers = Tensor<TYPE, Cpu>;

/// The program's instruction set, as the last call left it: choosing it takes longer than a loop.
void choose(cpu::Isa isa) {
  if (cpu::isa() != isa) cpu::set_isa(isa);
}

/// Tensors for n floats, which are kept from call to call.
struct Operands {
  explicit Operands(std::size_t n) : x(zeros<TYPE>({static_cast<std::int64_t>(n)})), y(x.clone()), z(x.clone()) {}
  Numbers x, y, z;
};
Operands& operands(std::size_t n) {
  static Operands kept(n);
  if (kept.x.elements() != static_cast<std::int64_t>(n)) kept = Operands(n);
  return kept;
}

template <cpu::Isa isa, class F>
void run(const void* x, const void* y, void* z, std::size_t n) {
  choose(isa);
  Operands& o = operands(n);
  std::memcpy(o.x.data(), x, n * sizeof(TYPE));
  if constexpr (std::is_invocable_v<F, Numbers, Numbers>) {
    std::memcpy(o.y.data(), y, n * sizeof(TYPE));
    o.z = F{}(o.x, o.y);
  } else {
    o.z = F{}(o.x);
  }
  std::memcpy(z, o.z.data(), n * sizeof(TYPE));
}

// clang-format off
#define NAMED(X) \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) \
  X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(sqrt) X(rsqrt) X(cbrt) X(reciprocal) X(erf) X(erfc) X(erfinv) \
  X(lgamma) X(digamma) X(sigmoid) X(logit) X(silu) X(softplus) X(mish) X(elu) X(gelu) X(round) X(floor) X(ceil) \
  X(trunc)
// clang-format on
#define NAMED_OF_TWO(X) X(pow) X(atan2) X(hypot) X(fmod) X(xlogy) X(maximum) X(minimum)
#define DEFINE(name)                                                   \
  struct Of_##name {                                                   \
    auto operator()(const Numbers& x) const { return locus::name(x); } \
  };
#define DEFINE_OF_TWO(name)                                                                 \
  struct Of_##name {                                                                        \
    auto operator()(const Numbers& x, const Numbers& y) const { return locus::name(x, y); } \
  };
NAMED(DEFINE)
NAMED_OF_TWO(DEFINE_OF_TWO)
struct Of_gelu_exact {
  auto operator()(const Numbers& x) const { return gelu<GeluForm::exact>(x); }
};
struct Of_gelu_tanh {
  auto operator()(const Numbers& x) const { return gelu<GeluForm::tanh>(x); }
};
struct Of_add {
  auto operator()(const Numbers& x, const Numbers& y) const { return x + y; }
};
struct Of_multiply {
  auto operator()(const Numbers& x, const Numbers& y) const { return x * y; }
};
struct Of_divide {
  auto operator()(const Numbers& x, const Numbers& y) const { return x / y; }
};
struct Of_remainder {
  auto operator()(const Numbers& x, const Numbers& y) const { return x % y; }
};

#define ENTRY(name) {#name, &run<isa, Of_##name>},
template <cpu::Isa isa>
constexpr accuracy::Function functions[] = {NAMED(ENTRY) NAMED_OF_TWO(ENTRY) ENTRY(gelu_exact) ENTRY(gelu_tanh)
                                                ENTRY(remainder) ENTRY(add) ENTRY(multiply) ENTRY(divide)};

template <cpu::Isa isa>
accuracy::Library library(const char* name) {
  return {name, LOCUS_VERSION, TEXT(TYPE), functions<isa>, std::size(functions<isa>)};
}

}  // namespace

#if defined(__aarch64__)
#define LOWEST "-neon"
#else
#define LOWEST "-generic"
#endif

extern "C" accuracy::Libraries accuracy_libraries() {
  using cpu::Isa;
  static const accuracy::Library all[] = {library<Isa::generic>(TEXT(NAME) LOWEST),
                                          library<Isa::avx2>(TEXT(NAME) "-avx2"),
                                          library<Isa::avx512>(TEXT(NAME) "-avx512")};
  std::size_t count = 0;
  for (const Isa isa : {Isa::generic, Isa::avx2, Isa::avx512}) count += cpu::has_isa(isa);
  return {all, count};
}
