#pragma once
// Timed choices of algorithms for products, and of engines for convolutions by cuDNN: shared by all threads of a
// process, and kept in a file if one is named.

#include <locus/core/system/environment.hpp>
#include <locus/cuda/plan_file.hpp>
#include <locus/cuda/stream.hpp>

#include <atomic>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

namespace detail {
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::atomic<bool>& gemm_is_autotuned() {
  static std::atomic<bool> tuned{locus::detail::switch_from_environment("LOCUS_AUTOTUNE", false)};
  return tuned;
}
}  // namespace detail

inline void autotune_gemm(bool tuned) { detail::gemm_is_autotuned().store(tuned, std::memory_order_relaxed); }
[[nodiscard]] inline bool gemm_is_autotuned() { return detail::gemm_is_autotuned().load(std::memory_order_relaxed); }

namespace detail {

/// Library and GPU, as one line: plans hold for both together.
[[nodiscard]] inline std::string machine_of(int ordinal, std::string_view library) {
  cudaDeviceProp gpu{};
  check(cudaGetDeviceProperties(&gpu, ordinal), "cudaGetDeviceProperties");
  std::string text =
      join(library, ", sm_", gpu.major, gpu.minor, ", ", gpu.multiProcessorCount, " multiprocessors, ", gpu.name);
  for (char& c : text)
    if (c < ' ') c = '?';
  return text;
}

/// cuBLASLt, for TunedGemmPlans. Another library has a class of its own, which gives its name and version.
struct BlasPlans {
  [[nodiscard]] static std::string library() { return join("cublasLt ", cublasLtGetVersion()); }
};

/// Choices of a library for one GPU model. When full, it learns no more: other forms take the library's first answer.
class TunedGemmPlans {
 public:
  TunedGemmPlans(std::string machine, GemmPlanFile& file) : machine_(std::move(machine)), file_(file) {
    for (const GemmPlanLine& line : file_.read())
      if (line.machine == machine_) learn(line.form, {line.choice, true});
  }

  /// The choices of a library for all GPUs of this model.
  template <class Library = BlasPlans>
  [[nodiscard]] static TunedGemmPlans& of(int ordinal) {
    static Mutex mutex;
    static std::array<TunedGemmPlans*, max_devices> plans{};
    const Lock lock(mutex);
    TunedGemmPlans*& mine = plans[static_cast<std::size_t>(ordinal)];
    if (mine) return *mine;
    std::string machine = machine_of(ordinal, Library::library());
    for (TunedGemmPlans* other : plans)
      if (other && other->machine_ == machine) mine = other;
    if (!mine) mine = new TunedGemmPlans(std::move(machine), file_of_process());
    return *mine;
  }
  /// The file named by LOCUS_PLANS in the environment, or none.
  [[nodiscard]] LOCUS_OUT_OF_LINE static GemmPlanFile& file_of_process() {
    static auto* const file = [] {
      const char* const path = std::getenv("LOCUS_PLANS");
      return new GemmPlanFile(path ? path : "");
    }();
    return *file;
  }

  /// Held while algorithms are timed: one thread at a time measures, for all threads.
  [[nodiscard]] Mutex& timing() { return timing_; }

  /// False where nothing was chosen.
  [[nodiscard]] bool find(const GemmPlanKey& form, GemmPlanChoice& choice) {
    const Lock lock(mutex_);
    const Known* const known = table_.find(form);
    if (known) choice = known->choice;
    return known != nullptr;
  }
  [[nodiscard]] bool is_full() {
    const Lock lock(mutex_);
    return table_.is_full();
  }

  /// A choice for the life of the process; one that `is_timed` is kept in the file, too.
  void choose(const GemmPlanKey& form, const GemmPlanChoice& choice, bool is_timed) {
    const Lock lock(mutex_);
    learn(form, {choice, is_timed});
    if (is_timed && file_.is_named()) write();
  }

 private:
  struct Known {
    GemmPlanChoice choice;
    bool is_timed;
  };

  void learn(const GemmPlanKey& form, const Known& choice) {
    if (Known* const known = table_.find(form)) *known = choice;
    else if (!table_.is_full()) table_.add(form, choice);
  }
  void write() {
    std::vector<GemmPlanLine> lines;
    for (const auto& [form, known] : table_.entries())
      if (known.is_timed) lines.push_back({machine_, form, known.choice});
    file_.update(lines, [&](const GemmPlanLine& line) {
      const Known* const known = line.machine == machine_ ? table_.find(line.form) : nullptr;
      return known && known->is_timed;
    });
  }

  std::string machine_;
  GemmPlanFile& file_;
  Mutex mutex_, timing_;
  GemmPlanTable<Known> table_;
};

}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::cuda
