#pragma once
// The C structs of DLPack (https://dmlc.github.io/dlpack), and their owner. The declarations have the layout of
// dlpack.h, but stand in a namespace, so that any dlpack.h, or none, can be included before or after.

#include <locus/core/dtype.hpp>
#include <locus/core/place.hpp>

#include <cstddef>
#include <cstdint>

namespace locus { inline namespace LOCUS_ABI { namespace dlpack {

struct DLPackVersion {
  std::uint32_t major, minor;
};

enum DLDeviceType : std::int32_t {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,  ///< page-locked memory of the host
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9,
  kDLROCM = 10,
  kDLROCMHost = 11,
  kDLExtDev = 12,  ///< a device of the program's own
  kDLCUDAManaged = 13,
  kDLOneAPI = 14,
  kDLWebGPU = 15,
  kDLHexagon = 16,
  kDLMAIA = 17,
  kDLTrn = 18
};

struct DLDevice {
  DLDeviceType device_type;
  std::int32_t device_id;
  /// "cuda:1"
  [[nodiscard]] LOCUS_COLD friend std::string to_string(DLDevice device) {
    constexpr const char* names[] = {"",
                                     "cpu",
                                     "cuda",
                                     "page-locked memory (cuda)",
                                     "opencl",
                                     "",
                                     "",
                                     "vulkan",
                                     "metal",
                                     "vpi",
                                     "rocm",
                                     "page-locked memory (rocm)",
                                     "an extension device",
                                     "managed memory (cuda)",
                                     "oneapi",
                                     "webgpu",
                                     "hexagon",
                                     "maia",
                                     "trainium"};
    const auto type = static_cast<std::int32_t>(device.device_type);
    const bool is_known = type > 0 && type < std::int32_t{sizeof names / sizeof *names} && *names[type] != 0;
    if (!is_known) return join("a device of unknown type ", type);
    return device.device_type == kDLCPU ? "cpu" : join(names[type], ":", device.device_id);
  }
};

enum DLDataTypeCode : std::uint8_t {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLOpaqueHandle = 3,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6
};

struct DLDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;  ///< elements of a vector type; else 1
  friend constexpr bool operator==(DLDataType, DLDataType) = default;
  /// "float32"
  [[nodiscard]] LOCUS_COLD friend std::string to_string(DLDataType type) {
    constexpr const char* names[] = {"int", "uint", "float", "opaque handle ", "bfloat", "complex", "bool"};
    if (type == DLDataType{kDLBool, 8, 1}) return "bool";
    const std::string name = type.code <= kDLBool ? names[type.code] : join("the type of code ", type.code, ", bits: ");
    return type.lanes == 1 ? join(name, type.bits) : join(name, type.bits, " in vectors of ", type.lanes);
  }
};

struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null: dense and row-major
  std::uint64_t byte_offset;
};

/// A tensor and its owner, as libraries exchanged it before DLPack 1.0.
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

/// The same since DLPack 1.0, with a version and flags.
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  std::uint64_t flags;
  DLTensor dl_tensor;
};

/// The version whose members to_dlpack fills in.
inline constexpr DLPackVersion version{1, 0};
inline constexpr std::uint64_t read_only = 1;  ///< the flag DLPACK_FLAG_BITMASK_READ_ONLY

static_assert(sizeof(DLTensor) == 48 && sizeof(DLManagedTensor) == 64 && sizeof(DLManagedTensorVersioned) == 80);
static_assert(offsetof(DLTensor, shape) == 24 && offsetof(DLManagedTensorVersioned, dl_tensor) == 32);

template <class M>
concept Versioned = requires(M& managed) {
  managed.version.major;
  managed.flags;
};

/// One of the two structs: those of this header, or of a dlpack.h.
template <class M>
concept Managed = requires(M& managed) {
  managed.dl_tensor.device.device_type;
  managed.dl_tensor.byte_offset;
  managed.manager_ctx;
  managed.deleter(&managed);
} && sizeof(M) == (Versioned<M> ? sizeof(DLManagedTensorVersioned) : sizeof(DLManagedTensor));

/// The owner of a struct; like std::unique_ptr, it can be moved but not copied. The destructor calls the struct's
/// deleter.
///
///     dlpack::Owner managed(torch::utils::toDLPack(x));   // owns a ::DLManagedTensor
template <Managed M>
class Owner {
 public:
  using element_type = M;

  Owner() = default;
  explicit Owner(M* managed) noexcept : managed_(managed) {}
  Owner(Owner&& other) noexcept : managed_(other.release()) {}
  Owner& operator=(Owner&& other) noexcept {
    Owner taken(static_cast<Owner&&>(other));
    M* const mine = managed_;
    managed_ = taken.managed_;
    taken.managed_ = mine;
    return *this;
  }
  ~Owner() {
    if (managed_ && managed_->deleter) managed_->deleter(managed_);
  }

  [[nodiscard]] M* get() const { return managed_; }
  [[nodiscard]] explicit operator bool() const { return managed_ != nullptr; }
  /// The struct, which the caller owns from then on.
  M* release() noexcept {
    M* const released = managed_;
    managed_ = nullptr;
    return released;
  }

 private:
  M* managed_ = nullptr;
};

/// DLPack's description of an element type.
template <DType T>
inline constexpr DLDataType data_type{std::is_same_v<T, bool>       ? kDLBool
                                      : std::is_same_v<T, bfloat16> ? kDLBfloat
                                      : is_complex<T>               ? kDLComplex
                                      : FloatingDType<T>            ? kDLFloat
                                      : std::is_signed_v<T>         ? kDLInt
                                                                    : kDLUInt,
                                      8 * sizeof(T), 1};

/// How DLPack names a place; to be specialized for a device of the program's own. `of` gives DLPack's name. If
/// `holds(device)`, memory of that DLPack device is memory of D, on `at(device)`.
template <class D>
struct Place;

template <>
struct Place<Cpu> {
  [[nodiscard]] static DLDevice of(Cpu) { return {kDLCPU, 0}; }
  [[nodiscard]] static bool holds(DLDevice device) {
    return device.device_type == kDLCPU || device.device_type == kDLCUDAHost || device.device_type == kDLROCMHost;
  }
  [[nodiscard]] static Cpu at(DLDevice) { return {}; }
};
template <>
struct Place<Pinned> {  // arrives as Cpu: asynchronous copies need the allocation, which Locus does not know
  [[nodiscard]] static DLDevice of(Pinned) { return {kDLCUDAHost, 0}; }
};
template <>
struct Place<Cuda> {
  [[nodiscard]] static DLDevice of(Cuda device) { return {kDLCUDA, device.ordinal}; }
  [[nodiscard]] static bool holds(DLDevice device) {
    return device.device_type == kDLCUDA || device.device_type == kDLCUDAManaged;
  }
  [[nodiscard]] static Cuda at(DLDevice device) { return {device.device_id}; }
};

}}}  // namespace locus::LOCUS_ABI::dlpack
