#pragma once
// Calls of cuDNN's backend API: descriptors, and the handling of status codes.

#include <locus/core/std/shared.hpp>
#include <locus/cuda/check.hpp>
#include <locus/cuda/cudnn/types.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::dnn {

/// Whether a status says that cuDNN does not support this computation, or not in this way.
[[nodiscard]] inline bool means_refused(cudnnStatus_t status) {
  const int category = status / 1000;
  return status != CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED &&
         status != CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED && category >= 2 && category <= 4;
}

/// The status's name and cuDNN's last error message.
[[nodiscard]] LOCUS_COLD inline std::string explain(cudnnStatus_t status) {
  char details[512] = "";
  cudnnGetLastErrorString(details, sizeof details);
  for (char& c : details)
    if (c != '\0' && c < ' ') c = ' ';
  return details[0] == '\0' ? join(cudnnGetErrorString(status)) : join(cudnnGetErrorString(status), ", ", details);
}

[[nodiscard]] inline const char* remedy(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_NOT_INITIALIZED:
      return "cuDNN does not start: update the NVIDIA driver, or compute without cuDNN (LOCUS_CUDNN=0)";
    case CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH:
    case CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED:
      return "libcudnn.so.9 finds no libcudnn_*.so.9 of its own version: install one cuDNN, whole, and let "
             "LD_LIBRARY_PATH name its folder first, or compute without cuDNN (LOCUS_CUDNN=0)";
    default:
      return status / 1000 == 5 ? "an earlier launch may be the cause: run under compute-sanitizer; LOCUS_CUDNN=0 in "
                                  "the environment computes without cuDNN"
                                : "LOCUS_CUDNN=0 in the environment, or cuda::allow_cudnn(false), computes without it";
  }
}

/// throws OutOfMemory or CudaError naming the computation and the call, unless the call succeeded
inline void check(cudnnStatus_t status, const char* call, const std::string& what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  (void)cudaGetLastError();  // clears a recoverable error, so that no later call reports it again
  const std::string reason = explain(status);
  if (status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
      status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
    fail<OutOfMemory>({what, ": ", call, ": ", reason, "; use smaller batches or free tensors"});
  fail<CudaError>({what, ": ", call, ": ", reason, "; ", remedy(status)});
}

/// A descriptor of cuDNN's. Handles share it; the last one destroys it.
class Descriptor {
 public:
  Descriptor() = default;
  /// throws OutOfMemory or CudaError
  explicit Descriptor(cudnnBackendDescriptorType_t type) : owned_(new Owned) {
    check(cudnnBackendCreateDescriptor(type, &owned_->handle), "cudnnBackendCreateDescriptor", "cuDNN");
  }
  [[nodiscard]] cudnnBackendDescriptor_t get() const { return owned_->handle; }
  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(owned_); }

 private:
  struct Owned final : Counted {
    cudnnBackendDescriptor_t handle = nullptr;
    ~Owned() {
      if (handle) (void)cudnnBackendDestroyDescriptor(handle);
    }
  };
  Shared<Owned> owned_;
};

/// A sequence of calls for a computation, which errors name by text_of(it). After the first that cuDNN refuses, the
/// rest are skipped. Other errors are thrown.
class Calls {
 public:
  template <class Computation>
  explicit Calls(const Computation& computation)
      : computation_(&computation),
        text_([](const void* of) { return text_of(*static_cast<const Computation*>(of)); }) {}

  [[nodiscard]] bool succeeded() const { return status_ == CUDNN_STATUS_SUCCESS; }
  [[nodiscard]] cudnnStatus_t status() const { return status_; }
  /// Why the call was refused.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  void refuse(cudnnStatus_t status, const char* why) {
    if (succeeded()) status_ = status, reason_ = why;
  }

  template <class T>
  void set(const Descriptor& d, cudnnBackendAttributeName_t name, const T* values, std::int64_t count) {
    if (succeeded())
      note(cudnnBackendSetAttribute(d.get(), name, attribute_type<T>(), count, values), "cudnnBackendSetAttribute");
  }
  template <class T>
  void set(const Descriptor& d, cudnnBackendAttributeName_t name, const T& value) {
    set(d, name, &value, 1);
  }
  void set(const Descriptor& d, cudnnBackendAttributeName_t name, const Descriptor* values, std::int64_t count) {
    if (!succeeded()) return;
    constexpr std::int64_t most = 32;
    if (count > most)
      return refuse(CUDNN_STATUS_NOT_SUPPORTED, "more descriptors in an attribute than Locus passes on");
    cudnnBackendDescriptor_t handles[most];
    for (std::int64_t i = 0; i < count; ++i) handles[i] = values[i].get();
    note(cudnnBackendSetAttribute(d.get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, handles),
         "cudnnBackendSetAttribute");
  }
  void set(const Descriptor& d, cudnnBackendAttributeName_t name, const Descriptor& value) { set(d, name, &value, 1); }

  /// Writes at most `count` values; returns the number written.
  template <class T>
    requires(!std::is_same_v<T, Descriptor>)
  std::int64_t get(const Descriptor& d, cudnnBackendAttributeName_t name, T* values, std::int64_t count) {
    std::int64_t found = 0;
    if (succeeded())
      note(cudnnBackendGetAttribute(d.get(), name, attribute_type<T>(), count, &found, values),
           "cudnnBackendGetAttribute");
    return !succeeded() ? 0 : found < count ? found : count;
  }
  /// The same for descriptors, which cuDNN fills in.
  std::int64_t get(const Descriptor& d, cudnnBackendAttributeName_t name, const Descriptor* values,
                   std::int64_t count) {
    if (!succeeded()) return 0;
    constexpr std::int64_t most = 64;
    cudnnBackendDescriptor_t handles[most];
    for (std::int64_t i = 0; i < count && i < most; ++i) handles[i] = values[i].get();
    std::int64_t found = 0;
    note(cudnnBackendGetAttribute(d.get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &found, handles),
         "cudnnBackendGetAttribute");
    return !succeeded() ? 0 : found < count ? found : count;
  }

  void finalize(const Descriptor& d, const char* what) {
    if (succeeded()) note(cudnnBackendFinalize(d.get()), what);
  }
  void execute(cudnnHandle_t handle, const Descriptor& plan, const Descriptor& pack) {
    if (succeeded()) note(cudnnBackendExecute(handle, plan.get(), pack.get()), "cudnnBackendExecute");
  }

 private:
  void note(cudnnStatus_t status, const char* call) {
    if (status == CUDNN_STATUS_SUCCESS) [[likely]]
      return;
    if (!means_refused(status)) check(status, call, text_(computation_));
    status_ = status;
    reason_ = join(call, ": ", explain(status));
    (void)cudaGetLastError();
  }

  const void* computation_;
  std::string (*text_)(const void*);
  cudnnStatus_t status_ = CUDNN_STATUS_SUCCESS;
  std::string reason_;
};

}}}  // namespace locus::LOCUS_ABI::cuda::dnn
