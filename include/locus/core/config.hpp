#pragma once
// Compiler detection, and the macros that follow from it. The only header that tests __CUDACC__.

#if __cplusplus < 202002L
#error "Locus needs C++20: compile with -std=c++20 or newer"
#endif
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 12
#error "Locus needs g++ 12 or newer, also as the host compiler of nvcc: nvcc -ccbin=g++-12"
#endif

/// The version of Locus, as in meson.build.
#define LOCUS_VERSION "0.1.0"

/// LOCUS_CUDA: 1 in a program whose Cuda tensors can run. nvcc sets it by itself; a plain .cpp of the same program is
/// compiled with -DLOCUS_CUDA=1 (and with the toolkit's include path), or the link fails naming the difference.
#ifndef LOCUS_CUDA
#if defined(__CUDACC__)
#define LOCUS_CUDA 1
#else
#define LOCUS_CUDA 0
#endif
#endif

/// LOCUS_NVCC: 1 where kernels can be launched, that is, in files compiled by nvcc.
#if defined(__CUDACC__)
#define LOCUS_NVCC 1
#define LOCUS_HD __host__ __device__
#else
#define LOCUS_NVCC 0
#define LOCUS_HD
#endif

/// LOCUS_ZLIB: 1 to read .gz files, with -lz on the link line; by default where <zlib.h> is found.
#ifndef LOCUS_ZLIB
#if __has_include(<zlib.h>)
#define LOCUS_ZLIB 1
#else
#define LOCUS_ZLIB 0
#endif
#endif

/// 1 in nvcc's device pass, which discards host code.
#if defined(__CUDA_ARCH__)
#define LOCUS_DEVICE_PASS 1
#else
#define LOCUS_DEVICE_PASS 0
#endif

/// 1 in code for the GPU, where host library functions do not exist.
#define LOCUS_ON_DEVICE LOCUS_DEVICE_PASS

/// At -O0 the host's calls stay calls. Inlined copies, instrumented by the address sanitizer, took two fifths of
/// clang's time. Without a sanitizer it is a tenth, and a program runs about an eighth longer, but a debugger sees the
/// calls.
#if defined(__OPTIMIZE__) || LOCUS_DEVICE_PASS
#define LOCUS_ALWAYS_INLINE __attribute__((always_inline))
#else
#define LOCUS_ALWAYS_INLINE
#endif

/// A small function, always inlined into its caller, on every device.
#define LOCUS_FN LOCUS_HD inline LOCUS_ALWAYS_INLINE

/// LOCUS_FN for a function with a loop over elements: at -O0 not even inlined on a device, where a call per loop costs
/// little.
#if defined(__OPTIMIZE__)
#define LOCUS_LOOP_FN LOCUS_FN
#else
#define LOCUS_LOOP_FN LOCUS_HD inline
#endif

/// Written after the parameters of a lambda that a loop calls for every element. Without it, g++ does not inline the
/// lambda into loops compiled with their own options (LOCUS_VECTORIZED), and these loops do not vectorize.
#define LOCUS_INLINED LOCUS_ALWAYS_INLINE

/// A host function that is called once per operation, never once per element: compilers keep it out of its callers,
/// where at -O2 they would copy and optimize it once for each. (Together these functions took a seventh off the time in
/// which g++ compiles a training program.)
#define LOCUS_OUT_OF_LINE [[gnu::noinline]]
/// LOCUS_OUT_OF_LINE for code that hardly ever runs: optimized for size.
#define LOCUS_COLD [[gnu::noinline, gnu::cold]]

/// Loops that must vectorize at -O2 too. (g++ 12 vectorizes only the cheapest loops there; clang needs no help.) Not
/// all of -O3: it unrolls short inner loops before they can be vectorized, which made softmax up to twice as slow, and
/// costs compile time. If comparisons may trap, g++ keeps branches, and the loop stays scalar; if a square root may set
/// errno, g++ keeps a call. Partial redundancy elimination copies the code after a select with a constant into both
/// branches, such as the logarithm in pow(abs(x), y): 13 ns an element instead of 2.
#if defined(__clang__)
#define LOCUS_VECTORIZED
#define LOCUS_IVDEP _Pragma("clang loop vectorize(enable) interleave(enable)")
#else
#define LOCUS_VECTORIZED                                                                                      \
  __attribute__((optimize("tree-vectorize", "no-tree-slp-vectorize", "vect-cost-model=dynamic", "peel-loops", \
                          "unswitch-loops", "no-tree-pre", "no-trapping-math", "no-math-errno")))
#define LOCUS_IVDEP _Pragma("GCC ivdep")
#endif

/// A function of <math.h>; without nvcc, which includes that header anyway, the compiler's builtin, which saves every
/// file the 0.1 s of <cmath>. (Host-only code names __builtin_ itself.)
#if LOCUS_NVCC
#define LOCUS_MATH(function) ::function
#else
#define LOCUS_MATH(function) __builtin_##function
#endif

/// 1 if the program is compiled with the address sanitizer.
#if defined(__SANITIZE_ADDRESS__)
#define LOCUS_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LOCUS_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef LOCUS_ADDRESS_SANITIZER
#define LOCUS_ADDRESS_SANITIZER 0
#endif

/// Around loops that stay scalar for some functors: silences clang's warnings about them.
#if defined(__clang__)
#define LOCUS_LOOPS_BEGIN _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpass-failed\"")
#define LOCUS_LOOPS_END _Pragma("clang diagnostic pop")
#else
#define LOCUS_LOOPS_BEGIN
#define LOCUS_LOOPS_END
#endif

/// LOCUS_THREADS: 1 where loops on Cpu may use several threads: in programs compiled with -fopenmp or -pthread.
#if defined(_OPENMP) || defined(_REENTRANT)
#define LOCUS_THREADS 1
#else
#define LOCUS_THREADS 0
#endif

/// LOCUS_CBLAS: 1 to have large products on Cpu computed by a CBLAS, with -lopenblas, say, on the link line.
#ifndef LOCUS_CBLAS
#define LOCUS_CBLAS 0
#endif

/// LOCUS_CUDNN: 1 to have convolutions on Cuda computed by cuDNN 9, where that is faster, with -lcudnn on the link
/// line.
#ifndef LOCUS_CUDNN
#define LOCUS_CUDNN 0
#endif

/// LOCUS_DOUBLE_BACKWARD: 1 to let grad(loss, inputs, {.create_graph = true}) record its gradients, so that they can be
/// differentiated again. Each recorded operation then has the code for it, and keeps its operands.
#ifndef LOCUS_DOUBLE_BACKWARD
#define LOCUS_DOUBLE_BACKWARD 0
#endif

// One-definition rule: a template compiled with and without CUDA, cuDNN, threads, zlib, a CBLAS or gradients of
// gradients, or for another instruction set, gives different functions. All definitions live in an inline namespace
// named after the configuration, so that mixing configurations fails to link.
#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define LOCUS_ISA avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define LOCUS_ISA avx2
#elif defined(__ARM_NEON)
#define LOCUS_ISA neon
#else
#define LOCUS_ISA generic
#endif
#define LOCUS_JOIN_(a, b) a##_##b
#define LOCUS_TEXT_OF_(...) #__VA_ARGS__
#define LOCUS_TEXT_OF(...) LOCUS_TEXT_OF_(__VA_ARGS__)
#define LOCUS_JOIN(a, b) LOCUS_JOIN_(a, b)
#if LOCUS_CUDA && LOCUS_CUDNN
#define LOCUS_ABI_DEVICES LOCUS_JOIN(with_cudnn, LOCUS_ISA)
#elif LOCUS_CUDA
#define LOCUS_ABI_DEVICES LOCUS_JOIN(with_cuda, LOCUS_ISA)
#else
#define LOCUS_ABI_DEVICES LOCUS_JOIN(cpu_only, LOCUS_ISA)
#endif
#if LOCUS_THREADS
#define LOCUS_ABI_THREADS LOCUS_JOIN(LOCUS_ABI_DEVICES, threads)
#else
#define LOCUS_ABI_THREADS LOCUS_ABI_DEVICES
#endif
#if LOCUS_CBLAS
#define LOCUS_ABI_PRODUCTS LOCUS_JOIN(LOCUS_ABI_THREADS, cblas)
#else
#define LOCUS_ABI_PRODUCTS LOCUS_ABI_THREADS
#endif
#if LOCUS_DOUBLE_BACKWARD
#define LOCUS_ABI_GRADIENTS LOCUS_JOIN(LOCUS_ABI_PRODUCTS, double_backward)
#else
#define LOCUS_ABI_GRADIENTS LOCUS_ABI_PRODUCTS
#endif
#if LOCUS_ZLIB
#define LOCUS_ABI LOCUS_ABI_GRADIENTS
#else
#define LOCUS_ABI LOCUS_JOIN(LOCUS_ABI_GRADIENTS, without_zlib)
#endif

namespace locus { inline namespace LOCUS_ABI {
}}
