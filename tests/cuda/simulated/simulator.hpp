#pragma once
// Runs the kernels of cuda_kernels on the host, one block or cluster of blocks after the other: every thread is a fiber
// that runs until it meets the others, in an order drawn anew each time, so that a missing barrier shows. Put before
// rewritten sources by simulated_test.py, which turns `kernel<<<...>>>(...)` into simulated::launch.

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <ucontext.h>

// <nccl.h> includes <cuda_runtime.h>, whose cudaLaunchKernelEx would take launches from the one below.
#define __CUDA_RUNTIME_H__

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#undef __launch_bounds__
#undef __grid_constant__
#define __launch_bounds__(...)
#define __grid_constant__

namespace simulated {

[[noreturn]] inline void stop(const char* what) {
  std::fprintf(stderr, "simulated GPU: %s\n", what);
  std::abort();
}

/// Whether this fault is simulated, as LOCUS_SIMULATED_FAULT in the environment asks for, for tests of fault reports:
///   no_device, no_driver, old_driver    the runtime finds no GPU
///   no_code                             the program has no code for the GPU
///   lost_shuffle                        the lanes of a warp do not see each other's values
///   wrong_product, illegal_product      cuBLASLt's products are; the latter with the derivative of relu only
///   float_sums                          cuBLASLt sums in float, as a GPU does, which is less exact than the simulation
///   no_relu_aux                         cuBLASLt has no products that keep the bits of relu
///   illegal_address, crash, hang        how the first kernel fails
[[nodiscard]] inline bool has_fault(const char* name) {
  static const char* const fault = std::getenv("LOCUS_SIMULATED_FAULT");
  return fault && std::strcmp(fault, name) == 0;
}

/// The target of a graph's node handle: the work, and the arguments of a kernel.
struct Node {
  struct Argument {
    std::shared_ptr<void> data;
    std::size_t bytes;
  };
  std::function<void()> run;
  std::vector<Argument> arguments{};
  std::shared_ptr<void> kernel{};             ///< is called with the arguments
  std::function<void(cudaStream_t)> queue{};  ///< in place of run: queues work in the stream
};
struct Stream;
/// The target of a graph handle.
struct Graph {
  std::vector<std::shared_ptr<Node>> nodes{};
  Stream* origin = nullptr;                      ///< the stream whose capture began,
  std::vector<Stream*> joined{};                 ///< others that joined it by waiting for its events,
  std::vector<Stream*> unawaited{};              ///< of these, those that no other stream of it waits for since,
  std::vector<std::shared_ptr<Node>> beside{};   ///< and late nodes of these, which no node of the origin follows yet
  std::size_t captured_beside = 0, awaited = 0;  ///< nodes of these, and how many of them the origin waits for
  cudaGraphNode_t last = nullptr;
  Stream* launched_in = nullptr;  ///< where it was launched last,
  std::size_t position = 0;       ///< and where that launch ends there
};

/// Work queued in a stream. It happens once `is_ready` says so, which waits for other streams.
struct Work {
  std::function<void()> happen{};
  std::function<bool()> is_ready{};  ///< none: always
};
/// The target of a stream handle: queued work, of which the first `done` items happened.
struct Stream {
  int ordinal;
  std::vector<Work> queued{};
  std::size_t done = 0;
  Graph* capture = nullptr;  ///< takes the place of the queue
  bool invalid = false;      ///< the capture is invalid
  double clock = 0;          ///< milliseconds that its kernels and products took
};
/// The target of an event handle: a place in a stream's queue.
struct Event {
  int ordinal;
  Stream* stream = nullptr;
  std::size_t position = 0;
  bool captured = false;
  std::size_t captured_beside = 0;  ///< see Graph
  double clock = 0;
  bool is_timed = false;
  std::shared_ptr<double> happened{};  ///< of timed events: milliseconds of the host's clock; 0: not yet
};
inline std::atomic<bool> captured{false};                            ///< whether streams are captured into graphs
inline std::atomic<std::size_t> most_memory{std::size_t{1} << 34};   ///< that can be asked for at once,
inline std::atomic<std::size_t> total_memory{std::size_t{1} << 40};  ///< and that there is,
inline std::atomic<std::size_t> free_memory{std::size_t{1} << 34};   ///< and that is said to be free
/// Bytes of the block of a GPU's memory that begins there; 0: there is none.
std::size_t size_of(void* block);
/// Whether the driver has memory pools: unless LOCUS_SIMULATED_POOLS=0 is in the environment.
inline const bool has_pools = [] {
  const char* const text = std::getenv("LOCUS_SIMULATED_POOLS");
  return !text || *text != '0';
}();
inline std::atomic<bool> refuses_pools{!has_pools};     ///< whether it makes none, though it says that it has them
inline std::atomic<unsigned long long> kept_memory{0};  ///< release threshold of the last pool that set one
inline std::atomic<int> mallocs{0}, frees{0};           ///< calls of cudaMalloc and cudaFree
inline std::atomic<int> queries{0};                     ///< calls of cudaEventQuery
/// Is called first by cudaEventRecord, which a driver blocks while the stream's launch queue is full; null: nothing is.
inline std::atomic<void (*)()> before_record{nullptr};
/// Whether `data` lies in a block of a memory pool, which CUDA IPC refuses.
bool is_pooled(const void* data);

inline std::atomic<bool> are_connected{true};  ///< whether kernels of one GPU reach the memory of another
inline int devices = 2;                        ///< number of GPUs; 0: `unavailable` says why
inline cudaError_t unavailable = cudaErrorNoDevice;
inline int driver_version = CUDART_VERSION;

/// How many calls from now the runtime fails once; 0: none.
inline std::atomic<int> calls_until_failure{0};
inline bool fails() { return calls_until_failure > 0 && --calls_until_failure == 0; }

/// Notes a value for tests to see. Threads may do so at once, without ordering anything.
template <class T>
void note(T& seen, T value) {
  std::atomic_ref(seen).store(value, std::memory_order_relaxed);
}
template <class T>
void count(T& seen) {
  std::atomic_ref(seen).fetch_add(1, std::memory_order_relaxed);
}

/// Behaviour of the simulated cuBLASLt, set by tests, and observations for them. With LOCUS_SIMULATED_REFUSALS in the
/// environment it refuses all that it may: it has no algorithm for matrices that are not aligned to 16 bytes, nor for
/// sums beside products, and does not take its own first answer.
struct Blas {
  inline static const bool refuses = std::getenv("LOCUS_SIMULATED_REFUSALS") != nullptr;
  std::size_t version = 130100;
  int algorithms = refuses ? 2 : 1;   ///< that it knows for any product; 0 as on a GPU that it does not know
  double milliseconds[8] = {};        ///< of each of them for a product by itself,
  double fused_milliseconds[8] = {};  ///< and with an epilogue
  std::uint64_t least_alignment = refuses ? 16 : 1;      ///< of matrices and their columns, in bytes
  bool has_sums = !refuses;                              ///< whether it knows algorithms that sum a matrix, too
  std::int32_t parts[8] = {1, 1, 1, 1, 1, 1, 1, 1};      ///< among which each algorithm divides the summands
  unsigned refused = refuses ? 1 : 0;                    ///< algorithms that fail when they are used, one bit for each
  bool refuses_epilogues = false;                        ///< whether products with an epilogue fail, too
  bool refuses_all = false;                              ///< whether every query for algorithms is invalid
  cublasStatus_t refusal = CUBLAS_STATUS_NOT_SUPPORTED;  ///< status of refused products
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;         ///< of all products
  int asked = 0;                                         ///< how often it was asked for algorithms,
  int products = 0;                                      ///< and for products
  std::uint64_t algorithm = 0;                           ///< of the last product,
  int epilogue = 0;                                      ///< which had this epilogue,
  bool rounds_to_tf32 = false;                           ///< this precision,
  std::uint64_t alignment = 0;                           ///< and matrices that it took to be aligned so at least
};
inline Blas blas;
inline double kernel_milliseconds = 0;
inline int architecture = 90;      ///< that kernels were compiled for
inline unsigned last_cluster = 0;  ///< blocks in each cluster of the last launch
inline int largest_cluster = 8;    ///< blocks of a cluster that the GPU can host
inline long block_barriers = 0;    ///< how often the threads of a block waited for each other
inline int asked_kernels = 0;      ///< queries about the needs of kernels
inline const char* gpu_name = "Simulated GPU";
/// Whether kernels fail as they run; calls that wait for them report it.
inline std::atomic<bool> kernels_fail{has_fault("illegal_address")};
inline std::atomic<bool> lacks_code{has_fault("no_code")};  ///< the program has none for the GPU
inline std::atomic<cudaError_t> failure{cudaSuccess};
/// The error that all calls report from now on, as after an illegal access.
inline std::atomic<cudaError_t> lasting_error{cudaSuccess};
inline thread_local bool refused_launch = false;  ///< for want of code for the GPU
/// Whether work is done as late as the order of streams and events allows; otherwise at once,
inline std::atomic<bool> late{false};
/// or, with LOCUS_SIMULATED_CHANCE in the environment, now or later as chance has it, which differs from stream to
/// stream.
inline const bool by_chance = std::getenv("LOCUS_SIMULATED_CHANCE") != nullptr;
inline thread_local int current_ordinal = 0;
/// The stream of a handle; the two default streams of the current GPU by their names.
[[nodiscard]] inline Stream& target_of(cudaStream_t handle) {
  static Stream defaults[2][2] = {{{0}, {1}}, {{0}, {1}}};
  if (handle == cudaStreamLegacy || handle == cudaStreamPerThread)
    return defaults[handle == cudaStreamLegacy][current_ordinal];
  return *reinterpret_cast<Stream*>(handle);
}
inline std::recursive_mutex queues;
/// Lets a stream's work happen up to a place, or to work that is not ready. Returns whether it came to the place.
inline bool advance(Stream& stream, std::size_t position) {
  const std::lock_guard lock(queues);
  while (stream.done < position) {
    if (const auto& is_ready = stream.queued[stream.done].is_ready; is_ready && !is_ready()) return false;
    const auto next = std::exchange(stream.queued[stream.done], {});
    next.happen();
    ++stream.done;
  }
  return true;
}
/// The same; the host waits until all of it is ready.
inline void reach(Stream& stream, std::size_t position) {
  while (!advance(stream, position)) std::this_thread::yield();
}
[[nodiscard]] inline std::size_t end_of(const Stream& stream) {
  const std::lock_guard lock(queues);
  return stream.queued.size();
}
inline void reach_end(cudaStream_t stream) {
  auto& queue = target_of(stream);
  reach(queue, end_of(queue));
}
/// Adds work to the stream's queue.
inline void enqueue(cudaStream_t stream, std::function<void()> work, std::function<bool()> is_ready = {}) {
  static std::mt19937 random{1};
  const std::lock_guard lock(queues);
  auto& queue = target_of(stream);
  queue.queued.push_back({std::move(work), std::move(is_ready)});
  if (!late && !(by_chance && random() % 2)) advance(queue, queue.queued.size());
}
/// The same, or adds the work to the stream's capture.
inline void perform(cudaStream_t handle, std::shared_ptr<Node> node) {
  auto& stream = target_of(handle);
  if (stream.capture && &stream != stream.capture->origin) {
    ++stream.capture->captured_beside;
    (late ? stream.capture->beside : stream.capture->nodes).push_back(std::move(node));
  } else if (stream.capture) {
    stream.capture->last = reinterpret_cast<cudaGraphNode_t>(node.get());
    stream.capture->nodes.push_back(std::move(node));
  } else if (node->queue) {
    node->queue(handle);
  } else {
    enqueue(handle, [node] { node->run(); });
  }
}
/// For a call that a capture does not allow, such as waiting for its stream: makes the capture invalid.
inline bool spoils_capture(cudaStream_t handle) {
  auto& stream = target_of(handle);
  if (stream.capture) stream.invalid = true;
  return stream.capture != nullptr;
}
inline std::atomic<unsigned> started{0};  ///< GPUs that the process uses, one bit for each
inline std::atomic<int> waits{0};         ///< how often a stream was made to wait for another one
/// For calls that need any GPU: they start the current one.
inline void start_current() { started |= 1u << current_ordinal; }
inline std::mutex one_launch_at_a_time;
inline constexpr std::size_t static_shared =
    1024;  ///< that a kernel may declare besides the shared memory of its launch
inline constexpr std::size_t shared_by_default = 48 * 1024 - static_shared;
inline thread_local std::size_t allowed_shared = shared_by_default;
inline constexpr std::size_t most_shared = 227 * 1024;
inline unsigned char* dynamic_shared = nullptr;

/// A set of threads that waits for its last one.
struct Barrier {
  unsigned size = 0, arrived = 0;
  unsigned long generation = 0;
};

/// A thread of a kernel. It lives on, to be that thread of other blocks.
struct Fiber {
  static constexpr std::size_t stack_bytes = 128 * 1024;
  std::unique_ptr<char[]> stack{new char[stack_bytes]};
  ucontext_t context;                 ///< where it begins; where it was left, too, if that cannot be said by `place`
  std::jmp_buf place;                 ///< where it was left; unlike contexts, without a call of the system
  void* seen_by_sanitizer = nullptr;  ///< by ThreadSanitizer
  bool is_started = false;
  bool done = true;
};

/// The blocks that run together: a cluster, or one block.
class Blocks {
 public:
  static Blocks& instance() {
    static Blocks blocks;
    return blocks;
  }

  /// Calls body(argument) in every thread from block `first` on; each block has its `shared` memory.
  void run(unsigned first, const std::vector<unsigned char*>& shared, unsigned threads_of_block,
           void (*body)(const void*), const void* argument);
  void synchronize();
  /// Threads of a block that meet at one of its numbered barriers.
  void synchronize(unsigned number, unsigned threads);
  void synchronize_cluster();
  /// The address in block `rank` of the cluster that corresponds to an address of this block.
  void* in_block(const void* address, unsigned rank) const;
  unsigned exchange(unsigned value, int mask);

 private:
  struct Warp {
    Barrier barrier;
    unsigned values[2][32];
  };

  static void live();
  void start(Fiber& fiber);
  void enter(Fiber& fiber);
  void leave(Fiber& fiber);
  void wait(Barrier& barrier);
  void run_warp(unsigned warp, unsigned threads);
  void shuffle(std::vector<unsigned>& order);
  void select(unsigned fiber) const;

  std::deque<Fiber> fibers_;
  std::vector<unsigned> warp_order_;
  std::vector<Warp> warps_;
  std::vector<Barrier> barriers_;  ///< one per block
  std::vector<Barrier> numbered_;  ///< 16 per block
  Barrier cluster_barrier_;
  std::vector<unsigned char*> shared_;
  std::vector<unsigned> alive_;
  ucontext_t scheduler_;
  std::jmp_buf scheduler_place_;
  void* scheduler_seen_by_sanitizer_ = nullptr;
  void (*body_)(const void*) = nullptr;
  const void* argument_ = nullptr;
  unsigned first_ = 0, threads_ = 1, self_ = 0, running_ = 0;
  bool progress_ = false;
  std::mt19937 random_{1};
};

}  // namespace simulated

inline dim3 gridDim, blockDim;
inline uint3 blockIdx, threadIdx;

inline void __syncthreads() { simulated::Blocks::instance().synchronize(); }
inline void __barrier_sync_count(unsigned number, unsigned threads) {
  simulated::Blocks::instance().synchronize(number, threads);
}
inline void __cluster_barrier_arrive() {}
inline void __cluster_barrier_wait() { simulated::Blocks::instance().synchronize_cluster(); }
inline void* __cluster_map_shared_rank(const void* address, unsigned rank) {
  return simulated::Blocks::instance().in_block(address, rank);
}
inline unsigned __shfl_xor_sync(unsigned, unsigned value, int mask) {
  return simulated::Blocks::instance().exchange(value, mask);
}
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
/// By Newton's steps from an approximation of Winitzki, on the smaller of the number and its tail.
inline double erfinv(double x) {
  const long double magnitude = std::fabs(static_cast<long double>(x)), tail = 1 - magnitude;
  if (!(tail > 0)) return tail == 0 ? std::copysign(HUGE_VAL, x) : NAN;
  const long double log = std::log(tail * (2 - tail)), half = 2 / (3.14159265358979323846L * 0.147L) + log / 2;
  long double y = std::sqrt(std::sqrt(half * half - log / 0.147L) - half);
  for (int i = 0; i < 6; ++i) {
    const long double missing = magnitude < 0.5L ? magnitude - std::erf(y) : std::erfc(y) - tail;
    y += missing * std::exp(y * y) * 0.886226925452758013649L;
  }
  return static_cast<double>(std::copysign(y, static_cast<long double>(x)));
}
inline float erfinvf(float x) { return static_cast<float>(erfinv(static_cast<double>(x))); }
template <class T>
void __stcg(T* at, T value) {
  *at = value;
}
template <class T>
T atomicAdd(T* at, T value) {
  return std::exchange(*at, *at + value);
}

template <class... Arguments>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Arguments...), cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}
template <class... Arguments>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void (*kernel)(Arguments...)) {
  return cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(kernel));
}

template <class... Arguments>
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, void (*kernel)(Arguments...),
                                           const cudaLaunchConfig_t* launch) {
  return cudaOccupancyMaxActiveClusters(clusters, reinterpret_cast<const void*>(kernel), launch);
}

inline float sinpif(float x) { return static_cast<float>(std::sin(3.14159265358979323846 * static_cast<double>(x))); }
inline float cospif(float x) { return static_cast<float>(std::cos(3.14159265358979323846 * static_cast<double>(x))); }
inline double sinpi(double x) { return std::sin(3.14159265358979323846 * x); }
inline double cospi(double x) { return std::cos(3.14159265358979323846 * x); }

namespace simulated {

/// Stands for <<<blocks, threads, shared, stream>>>.
class Launch {
 public:
  Launch(unsigned blocks, unsigned threads, std::size_t shared = 0, cudaStream_t stream = nullptr, unsigned cluster = 1)
      : blocks_(blocks), threads_(threads), shared_(shared), stream_(stream), cluster_(cluster) {
    if (!stream) stop("a launch on the default stream");
    if (reinterpret_cast<Stream*>(stream)->ordinal != current_ordinal) stop("a launch on a stream of another GPU");
    if (blocks == 0 || blocks > 0x7fffffffu) stop("a grid has 1 to 2^31 - 1 blocks");
    if (cluster == 0 || cluster > 8 || blocks % cluster != 0) stop("a grid of whole clusters of 1 to 8 blocks");
    if (cluster > 1 && architecture < 90) stop("a cluster where there are none");
    note(last_cluster, cluster);
    if (shared > allowed_shared || shared > most_shared) stop("more shared memory than was allowed");
    allowed_shared = shared_by_default;  // a permission counts for one launch: the next kernel may be another one
  }
  /// Compiled anew for each kernel; code that does not depend on the kernel is in perform() and run().
  template <class Kernel, class... Arguments>
  void operator()(const Kernel& kernel, const Arguments&... arguments) const {
    static_assert((std::is_trivially_copyable_v<Arguments> && ...), "a driver copies the bytes of arguments");
    perform(&call<Kernel, Arguments...>, {&kernel, sizeof kernel}, {{&arguments, sizeof arguments}...});
  }

 private:
  struct Bytes {
    const void* data;
    std::size_t size;
  };
  template <class Kernel, class... Arguments>
  static void call(const void* node) {
    call<Kernel, Arguments...>(*static_cast<const Node*>(node), std::index_sequence_for<Arguments...>{});
  }
  template <class Kernel, class... Arguments, std::size_t... i>
  static void call(const Node& node, std::index_sequence<i...>) {
    (*static_cast<const Kernel*>(node.kernel.get()))(*static_cast<const Arguments*>(node.arguments[i].data.get())...);
  }
  void perform(void (*body)(const void*), Bytes kernel, std::initializer_list<Bytes> arguments) const;
  void run(void (*body)(const void*), const Node& node) const;

  unsigned blocks_, threads_;
  std::size_t shared_;
  cudaStream_t stream_;
  unsigned cluster_;
};

}  // namespace simulated

template <class... Expected, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Expected...),
                               const Arguments&... arguments) {
  unsigned cluster = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id != cudaLaunchAttributeClusterDimension) simulated::stop("an unknown attribute of a launch");
    cluster = config->attrs[i].val.clusterDim.x;
  }
  const dim3 grid = config->gridDim, block = config->blockDim;
  if (grid.y * grid.z * block.y * block.z != 1) simulated::stop("a launch in several dimensions");
  simulated::Launch(grid.x, block.x, config->dynamicSmemBytes, config->stream, cluster)(
      kernel, static_cast<std::decay_t<Expected>>(arguments)...);
  return cudaSuccess;
}
