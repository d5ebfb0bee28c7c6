#pragma once
// One product by cuBLASLt with any epilogue, and its expected result in float64. Column-major, in cuBLASLt's own terms.

#include <locus/cuda/backend.hpp>
#include <locus/tensor/random.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace first_run {

/// c(m, n) = epilogue(op(a) op(b)), op(a) of (m, k), op(b) of (k, n).
struct Form {
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  std::int64_t m = 64, n = 48, k = 40;
  bool a_transposed = false, b_transposed = false;
  std::int64_t padding = 0;  ///< elements between the end of a column and the next one
  std::int64_t offset = 0;   ///< elements from an aligned address to the first one
  bool tf32 = false;

  [[nodiscard]] bool adds_bias() const { return epilogue & CUBLASLT_EPILOGUE_BIAS; }
  [[nodiscard]] bool derives() const {
    return (epilogue & CUBLASLT_EPILOGUE_DRELU) == CUBLASLT_EPILOGUE_DRELU || derives_gelu();
  }
  [[nodiscard]] bool derives_gelu() const { return (epilogue & CUBLASLT_EPILOGUE_DGELU) == CUBLASLT_EPILOGUE_DGELU; }
  [[nodiscard]] bool is_gelu() const { return epilogue & CUBLASLT_EPILOGUE_GELU; }
  [[nodiscard]] bool is_relu() const { return epilogue & CUBLASLT_EPILOGUE_RELU; }
  [[nodiscard]] bool has_kept() const { return epilogue & 128; }  ///< the auxiliary matrix
  [[nodiscard]] bool sums_c() const { return epilogue & 16; }
  [[nodiscard]] bool sums_a() const { return epilogue == CUBLASLT_EPILOGUE_BGRADA; }
  [[nodiscard]] bool sums_b() const { return epilogue == CUBLASLT_EPILOGUE_BGRADB; }
  [[nodiscard]] bool sums() const { return sums_a() || sums_b() || sums_c(); }
  /// Distance between columns of the auxiliary matrix: in bits after relu, in elements after gelu.
  [[nodiscard]] std::int64_t kept_ld() const {
    const std::int64_t multiple = is_gelu() || derives_gelu() ? 8 : 128;
    return (m + multiple - 1) / multiple * multiple;
  }
};

/// cuBLASLt's statuses, and the errors of its results against float64, as fractions of the largest expected value.
struct Answer {
  cublasStatus_t asked = CUBLAS_STATUS_SUCCESS, ran = CUBLAS_STATUS_NOT_INITIALIZED;
  int candidates = 0;
  double error = NAN, kept_error = NAN, sums_error = NAN;
};

template <class T>
constexpr cudaDataType_t type_of() {
  if constexpr (std::is_same_v<T, float>) return CUDA_R_32F;
  else if constexpr (std::is_same_v<T, double>) return CUDA_R_64F;
  else if constexpr (std::is_same_v<T, locus::half>) return CUDA_R_16F;
  else return CUDA_R_16BF;
}

/// Bytes on the GPU, and the same on the host.
class Memory {
 public:
  explicit Memory(std::size_t bytes)
      : bytes_(bytes), device_(locus::Backend<locus::Cuda>::allocate({}, bytes)), host_(bytes) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { locus::Backend<locus::Cuda>::deallocate({}, device_, bytes_); }
  void upload() { locus::Transfer<locus::Cpu, locus::Cuda>::copy({}, host_.data(), {}, device_, bytes_); }
  void download() { locus::Transfer<locus::Cuda, locus::Cpu>::copy({}, device_, {}, host_.data(), bytes_); }
  template <class T> [[nodiscard]] T* host() { return reinterpret_cast<T*>(host_.data()); }
  template <class T> [[nodiscard]] T* device() const { return static_cast<T*>(device_); }

 private:
  std::size_t bytes_;
  void* device_;
  std::vector<unsigned char> host_;
};

/// A matrix whose columns may be padded, and which may begin behind an aligned address.
template <class T>
class Matrix {
 public:
  Matrix(std::int64_t height, std::int64_t width, std::int64_t padding, std::int64_t offset)
      : rows(height),
        cols(width),
        ld(height + padding),
        offset_(offset),
        memory_(sizeof(T) * static_cast<std::size_t>(offset + ld * width)) {}
  [[nodiscard]] T& operator()(std::int64_t i, std::int64_t j) {
    return memory_.template host<T>()[offset_ + i + j * ld];
  }
  [[nodiscard]] T* device() const { return memory_.template device<T>() + offset_; }
  [[nodiscard]] std::uint32_t alignment() const {
    const auto address = reinterpret_cast<std::uintptr_t>(device()) | 256u;
    return static_cast<std::uint32_t>(address & (~address + 1));
  }
  void upload() { memory_.upload(); }
  void download() { memory_.download(); }

  const std::int64_t rows, cols, ld;

 private:
  std::int64_t offset_;
  Memory memory_;
};

/// A product whose inputs may be changed before it runs, and whose results may be read after.
template <class T>
class Product {
 public:
  static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

  explicit Product(const Form& of)
      : form(of),
        a(form.a_transposed ? form.k : form.m, form.a_transposed ? form.m : form.k, form.padding, form.offset),
        b(form.b_transposed ? form.n : form.k, form.b_transposed ? form.k : form.n, form.padding, form.offset),
        c(form.m, form.n, form.padding, form.offset),
        vector(form.sums_b() ? form.n : form.m, 1, 0, 0),
        kept(static_cast<std::size_t>(form.kept_ld() * form.n) * sizeof(T)) {
    locus::Generator<locus::Cpu> generator{1};
    const auto draw = [&](Matrix<T>& matrix) {
      const auto numbers = locus::randn<float>({matrix.rows, matrix.cols}, generator);
      for (std::int64_t i = 0; i < matrix.rows; ++i)
        for (std::int64_t j = 0; j < matrix.cols; ++j) matrix(i, j) = T(numbers.data()[i * matrix.cols + j]);
    };
    draw(a), draw(b), draw(vector);
    const auto numbers = locus::randn<float>({form.n, form.m}, generator);
    for (std::int64_t j = 0; j < form.n; ++j)
      for (std::int64_t i = 0; i < form.m; ++i) keep(i, j, static_cast<double>(numbers.data()[j * form.m + i]));
  }

  [[nodiscard]] T& op_a(std::int64_t i, std::int64_t l) { return form.a_transposed ? a(l, i) : a(i, l); }
  [[nodiscard]] T& op_b(std::int64_t l, std::int64_t j) { return form.b_transposed ? b(j, l) : b(l, j); }

  /// The auxiliary matrix: a bit after relu, a value after gelu.
  void keep(std::int64_t i, std::int64_t j, double z) {
    if (form.is_gelu() || form.derives_gelu()) {
      kept.template host<T>()[i + j * form.kept_ld()] = T(z);
      return;
    }
    unsigned char& byte = kept.template host<unsigned char>()[(i + j * form.kept_ld()) / 8];
    byte = static_cast<unsigned char>(z > 0 ? byte | 1 << i % 8 : byte & ~(1 << i % 8));
  }
  [[nodiscard]] double kept_at(std::int64_t i, std::int64_t j) {
    if (form.is_gelu() || form.derives_gelu())
      return static_cast<double>(kept.template host<T>()[i + j * form.kept_ld()]);
    return kept.template host<unsigned char>()[(i + j * form.kept_ld()) / 8] >> i % 8 & 1;
  }

  /// Asks for algorithms, and runs the first. throws CudaError where the GPU fails in it
  [[nodiscard]] Answer run();

  const Form form;
  Matrix<T> a, b, c, vector;  ///< vector: the bias, or the sums
  Memory kept;
};

/// The same, compared with float64.
template <class T>
[[nodiscard]] Answer measure(const Form& form);

}  // namespace first_run
