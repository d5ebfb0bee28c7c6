// cuBLASLt's answers for each epilogue, and its results for special values and extents.

#include "blas_product.hpp"
#include "experiment.hpp"

namespace first_run {

using namespace locus;

namespace {

void require(cublasStatus_t status, const char* call) { locus::cuda::check(status, call); }

struct Handle {
  cublasLtHandle_t handle = nullptr;
  Handle() { require(cublasLtCreate(&handle), "cublasLtCreate"); }
  ~Handle() { (void)cublasLtDestroy(handle); }
};

template <class Value>
void set(cublasLtMatmulDescOpaque_t& description, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  require(cublasLtMatmulDescSetAttribute(&description, attribute, &value, sizeof value),
          "cublasLtMatmulDescSetAttribute");
}
template <class Value>
void set(cublasLtMatmulPreferenceOpaque_t& preference, cublasLtMatmulPreferenceAttributes_t attribute,
         const Value& value) {
  require(cublasLtMatmulPreferenceSetAttribute(&preference, attribute, &value, sizeof value),
          "cublasLtMatmulPreferenceSetAttribute");
}
template <class T>
cublasLtMatrixLayoutOpaque_t layout_of(const Matrix<T>& x) {
  cublasLtMatrixLayoutOpaque_t layout{};
  require(cublasLtMatrixLayoutInit(&layout, type_of<T>(), static_cast<std::uint64_t>(x.rows),
                                   static_cast<std::uint64_t>(x.cols), x.ld),
          "cublasLtMatrixLayoutInit");
  return layout;
}

double gelu_slope(double z) {
  constexpr double scale = 0.7978845608028654, cubic = 0.044715;
  const double t = std::tanh(scale * (z + cubic * z * z * z));
  return (1 + t) / 2 + z / 2 * (1 - t * t) * scale * (1 + 3 * cubic * z * z);
}
double gelu(double z) { return z / 2 * (1 + std::tanh(0.7978845608028654 * (z + 0.044715 * z * z * z))); }

/// The largest distance between two lists, as a fraction of the largest expected value.
class Distance {
 public:
  void add(double got, double expected) {
    const double distance = std::abs(got - expected);
    if (!(distance <= largest_)) largest_ = distance;
    if (std::abs(expected) > scale_) scale_ = std::abs(expected);
  }
  [[nodiscard]] double value() const { return scale_ > 0 ? largest_ / scale_ : largest_; }

 private:
  double largest_ = 0, scale_ = 0;
};

std::string short_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", number);
  return text;
}
std::string text_of(const Answer& answer) {
  if (answer.asked != CUBLAS_STATUS_SUCCESS) return join("heuristic ", cublasLtGetStatusName(answer.asked));
  if (answer.candidates == 0) return "0 candidates";
  std::string text = join(answer.candidates, " candidates, first ", cublasLtGetStatusName(answer.ran));
  if (answer.ran != CUBLAS_STATUS_SUCCESS) return text;
  text += ", error " + short_text(answer.error);
  if (!std::isnan(answer.kept_error)) text += ", kept " + short_text(answer.kept_error);
  if (!std::isnan(answer.sums_error)) text += ", sums " + short_text(answer.sums_error);
  return text;
}

}  // namespace

template <class T>
Answer Product<T>::run() {
  const Handle blas;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  constexpr bool is_double = std::is_same_v<T, double>;
  if (is_double) compute = CUBLAS_COMPUTE_64F;
  if (form.tf32) compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  cublasLtMatmulDescOpaque_t description{};
  require(cublasLtMatmulDescInit(&description, compute, is_double ? CUDA_R_64F : CUDA_R_32F), "cublasLtMatmulDescInit");
  set(description, CUBLASLT_MATMUL_DESC_TRANSA, form.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(description, CUBLASLT_MATMUL_DESC_TRANSB, form.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, form.epilogue);
  if (form.adds_bias() || form.sums()) set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector.device());
  if (form.has_kept()) {
    set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, kept.template device<void>());
    set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, form.kept_ld());
  }
  auto a_layout = layout_of(a), b_layout = layout_of(b), c_layout = layout_of(c);
  cublasLtMatmulPreferenceOpaque_t preference{};
  require(cublasLtMatmulPreferenceInit(&preference), "cublasLtMatmulPreferenceInit");
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, a.alignment());
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, b.alignment());
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c.alignment());
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, c.alignment());

  Answer answer;
  constexpr int most = 8;
  cublasLtMatmulHeuristicResult_t results[most]{};
  answer.asked = cublasLtMatmulAlgoGetHeuristic(blas.handle, &description, &a_layout, &b_layout, &c_layout, &c_layout,
                                                &preference, most, results, &answer.candidates);
  if (answer.asked != CUBLAS_STATUS_SUCCESS || answer.candidates == 0) return answer;
  for (Matrix<T>* const matrix : {&a, &b, &c, &vector}) matrix->upload();
  kept.upload();
  const Memory workspace(workspace_bytes);
  const float one = 1, zero = 0;
  const double double_one = 1, double_zero = 0;
  const void* const alpha = is_double ? static_cast<const void*>(&double_one) : &one;
  const void* const beta = is_double ? static_cast<const void*>(&double_zero) : &zero;
  answer.ran = cublasLtMatmul(blas.handle, &description, alpha, a.device(), &a_layout, b.device(), &b_layout, beta,
                              c.device(), &c_layout, c.device(), &c_layout, &results[0].algo, workspace.device<void>(),
                              workspace_bytes, locus::cuda::stream());
  Backend<Cuda>::synchronize({});
  if (answer.ran == CUBLAS_STATUS_SUCCESS) c.download(), vector.download(), kept.download();
  return answer;
}

template <class T>
Answer measure(const Form& form) {
  Product<T> expected(form), product(form);  // of the same numbers
  Answer answer = product.run();
  if (answer.ran != CUBLAS_STATUS_SUCCESS) return answer;
  Distance c, kept, sums;
  std::vector<double> column_sums(static_cast<std::size_t>(form.m));
  for (std::int64_t j = 0; j < form.n; ++j) {
    for (std::int64_t i = 0; i < form.m; ++i) {
      double z = 0;
      for (std::int64_t l = 0; l < form.k; ++l)
        z += static_cast<double>(expected.op_a(i, l)) * static_cast<double>(expected.op_b(l, j));
      if (form.adds_bias()) z += static_cast<double>(expected.vector(i, 0));
      if (form.has_kept() && !form.derives()) {
        const double near_zero = 1e-2;  // where rounding decides
        if (form.is_gelu()) kept.add(product.kept_at(i, j), z);
        else if (std::abs(z) > near_zero) kept.add(product.kept_at(i, j), z > 0);
      }
      const double slope = expected.kept_at(i, j);
      if (form.derives()) z *= form.derives_gelu() ? gelu_slope(slope) : slope;
      else if (form.is_gelu()) z = gelu(z);
      else if (form.is_relu()) z = z > 0 ? z : 0;
      column_sums[static_cast<std::size_t>(i)] += z;
      c.add(static_cast<double>(product.c(i, j)), z);
    }
  }
  for (std::int64_t i = 0; form.sums() && i < product.vector.rows; ++i) {
    double sum = form.sums_c() ? column_sums[static_cast<std::size_t>(i)] : 0;
    for (std::int64_t l = 0; !form.sums_c() && l < form.k; ++l)
      sum += static_cast<double>(form.sums_a() ? expected.op_a(i, l) : expected.op_b(l, i));
    sums.add(static_cast<double>(product.vector(i, 0)), sum);
  }
  answer.error = c.value();
  if (form.has_kept() && !form.derives()) answer.kept_error = kept.value();
  if (form.sums()) answer.sums_error = sums.value();
  return answer;
}

namespace {

struct NamedEpilogue {
  const char* name;
  cublasLtEpilogue_t epilogue;
};
constexpr NamedEpilogue epilogues[] = {
    {"DEFAULT", CUBLASLT_EPILOGUE_DEFAULT},   {"BIAS", CUBLASLT_EPILOGUE_BIAS},
    {"RELU", CUBLASLT_EPILOGUE_RELU},         {"RELU_BIAS", CUBLASLT_EPILOGUE_RELU_BIAS},
    {"RELU_AUX", CUBLASLT_EPILOGUE_RELU_AUX}, {"RELU_AUX_BIAS", CUBLASLT_EPILOGUE_RELU_AUX_BIAS},
    {"GELU", CUBLASLT_EPILOGUE_GELU},         {"GELU_BIAS", CUBLASLT_EPILOGUE_GELU_BIAS},
    {"GELU_AUX", CUBLASLT_EPILOGUE_GELU_AUX}, {"GELU_AUX_BIAS", CUBLASLT_EPILOGUE_GELU_AUX_BIAS},
    {"DRELU", CUBLASLT_EPILOGUE_DRELU},       {"DRELU_BGRAD", CUBLASLT_EPILOGUE_DRELU_BGRAD},
    {"DGELU", CUBLASLT_EPILOGUE_DGELU},       {"DGELU_BGRAD", CUBLASLT_EPILOGUE_DGELU_BGRAD},
    {"BGRADA", CUBLASLT_EPILOGUE_BGRADA},     {"BGRADB", CUBLASLT_EPILOGUE_BGRADB},
};

/// Every epilogue with matrices that are aligned, whose columns are not, and that are not at all.
template <class T>
void tabulate(bool tf32) {
  Rows rows;
  for (const auto& [name, epilogue] : epilogues) {
    Form form{.epilogue = epilogue, .tf32 = tf32};
    form.b_transposed = form.sums_b();  // as the documentation wants it
    rows.add(join(name, ", aligned"), [&] { return text_of(measure<T>(form)); });
    form.padding = 1;
    rows.add(join(name, ", odd columns"), [&] { return text_of(measure<T>(form)); });
    form.offset = 1;
    rows.add(join(name, ", odd address"), [&] { return text_of(measure<T>(form)); });
  }
}

/// Tries relu on special values: its result, the bits that it keeps, and the slope that its derivative takes.
template <class T>
void try_special_values() {
  // z = value * 1 + small * -tiny + 0 * -0 + ...: a sum that begins at 0 is -0 only after a term that underflows from
  // below, and stays it only where all others are -0. Terms of half do not underflow in a sum of float32.
  constexpr float tiny = -1e-30f;
  struct Row {
    const char* name;
    float value, small;
  };
  std::vector<Row> rows = {{"NaN", NAN, 0}, {"inf", INFINITY, 0}, {"-inf", -INFINITY, 0},
                           {"0", 0, 0},     {"1", 1, 0},          {"-1", -1, 0}};
  if (!std::is_same_v<T, half>) rows.push_back({"-0", -0.f, tiny});
  const Form forms[] = {{.epilogue = CUBLASLT_EPILOGUE_DEFAULT},
                        {.epilogue = CUBLASLT_EPILOGUE_RELU},
                        {.epilogue = CUBLASLT_EPILOGUE_RELU_AUX},
                        {.epilogue = CUBLASLT_EPILOGUE_DRELU}};
  const char* const names[] = {"product", "RELU", "RELU_AUX", "DRELU of those bits"};
  Product<T> with_bits(forms[2]);
  bool has_bits = false;
  for (int which = 0; which < 4; ++which) {
    if (which == 3 && !has_bits) {
      note(names[which], "not asked: RELU_AUX left none");
      continue;
    }
    Product<T> product(forms[which]);
    for (std::int64_t l = 0; l < product.form.k; ++l) {
      for (std::int64_t i = 0; i < product.form.m; ++i) {
        const Row& row = rows[static_cast<std::size_t>(i % std::ssize(rows))];
        product.op_a(i, l) = T(which == 3 ? (l == 0 ? 1.f : 0.f) : l == 0 ? row.value : l == 1 ? row.small : 0.f);
      }
      for (std::int64_t j = 0; j < product.form.n; ++j)
        product.op_b(l, j) = T(l == 0 ? 1.f : which == 3 ? 0.f : l == 1 ? -tiny : -0.f);
    }
    if (which == 3)
      for (std::int64_t i = 0; i < product.form.m; ++i)
        for (std::int64_t j = 0; j < product.form.n; ++j) product.keep(i, j, with_bits.kept_at(i, j));
    Product<T>& ran = which == 2 ? with_bits : product;
    if (which == 2)
      for (std::int64_t l = 0; l < product.form.k; ++l) {
        for (std::int64_t i = 0; i < product.form.m; ++i) ran.op_a(i, l) = product.op_a(i, l);
        for (std::int64_t j = 0; j < product.form.n; ++j) ran.op_b(l, j) = product.op_b(l, j);
      }
    const Answer answer = ran.run();
    if (answer.ran != CUBLAS_STATUS_SUCCESS) {
      note(names[which], text_of(answer));
      continue;
    }
    has_bits = has_bits || which == 2;
    for (std::int64_t i = 0; i < std::ssize(rows); ++i) {
      std::string text = join(static_cast<double>(ran.c(i, 0)));
      if (which == 2) text += join(", bit ", ran.kept_at(i, 0));
      note(join(names[which], ", ", rows[static_cast<std::size_t>(i)].name), text);
    }
  }
}

/// Sums of a factor beside the product, where it has one row or column and where it has many.
template <class T>
void try_bias_gradients() {
  const struct {
    const char* name;
    std::int64_t m, n, k;
  } shapes[] = {
      {"many", 64, 48, 40}, {"one row of c", 1, 48, 40}, {"one column of c", 64, 1, 40}, {"k of one", 64, 48, 1}};
  Rows rows;
  for (const auto& [epilogue_name, epilogue] : {epilogues[14], epilogues[15]})
    for (const auto& [name, m, n, k] : shapes)
      for (const bool a : {false, true})
        for (const bool b : {false, true}) {
          const Form form{.epilogue = epilogue, .m = m, .n = n, .k = k, .a_transposed = a, .b_transposed = b};
          rows.add(join(epilogue_name, ", op(A) ", a ? "T" : "N", ", op(B) ", b ? "T" : "N", ", ", name),
                   [&] { return text_of(measure<T>(form)); });
        }
}

template <class T>
void add_experiments(std::vector<Experiment>& all) {
  const std::string type(dtype_name<T>());
  all.push_back({"blas_" + type, "which epilogues does cuBLASLt have for " + type + ", and how exact are they?",
                 [] { tabulate<T>(false); }, true});
  if constexpr (std::is_same_v<T, float>)
    all.push_back({"blas_tf32", "and for float32 by TF32?", [] { tabulate<T>(true); }, true});
  all.push_back({"bias_gradients_" + type, "does BGRADA or BGRADB need a transposed factor, or more than one row?",
                 [] { try_bias_gradients<T>(); }, true});
  if constexpr (std::is_same_v<T, double>) return;
  all.push_back({"relu_values_" + type, "what does fused relu make of NaN, 0 and -0, and which slope does it keep?",
                 [] { try_special_values<T>(); }, true});
  for (const auto& [name, epilogue] :
       {epilogues[4], epilogues[8], epilogues[10], epilogues[11], epilogues[12], epilogues[13]}) {
    all.push_back({join("k1_", name, "_", type), join("is ", name, " with k = 1 an illegal memory access?"),
                   [name = name, epilogue = epilogue] {
                     note(join(name, ", k = 1"), text_of(measure<T>({.epilogue = epilogue, .k = 1})));
                   },
                   true});
  }
}

}  // namespace

std::vector<Experiment> blas_experiments() {
  std::vector<Experiment> all;
  add_experiments<float>(all);
  add_experiments<half>(all);
  add_experiments<bfloat16>(all);
  add_experiments<double>(all);
  return all;
}

}  // namespace first_run
