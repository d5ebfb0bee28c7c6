// The CUDA runtime and cuBLASLt as far as cuda_kernels uses them, on host memory: queued work happens at once or, on
// request, as late as allowed.

#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <complex>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "simulator.hpp"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace {
std::mutex mutex;
std::unordered_map<void*, std::size_t> device_blocks;
std::unordered_map<void*, int> ordinals;  ///< of their GPUs
std::unordered_map<void*, std::size_t> pooled_blocks;
thread_local cudaError_t last_error = cudaSuccess;
thread_local int captures = 0;  ///< that the thread has begun
thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
/// For calls that a capture prohibits, unless the thread declares them unrelated to it.
void require_uncaptured() {
  if (captures > 0 && capture_mode != cudaStreamCaptureModeRelaxed)
    simulated::stop("a thread that captures allocates, asks or waits");
}
cudaError_t give(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}
/// As drivers do, refuses sizes beyond any address as another kind of mistake.
cudaError_t refusal_of(std::size_t bytes) {
  if (bytes > std::size_t{1} << 48) return cudaErrorInvalidValue;
  return bytes > simulated::most_memory ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t allocate(void** block, std::size_t bytes) {
  if (const cudaError_t refusal = refusal_of(bytes); refusal != cudaSuccess) return refusal;
  std::size_t used = 0;
  const std::lock_guard lock(mutex);
  for (const auto& [other, size] : device_blocks) used += size;
  if (used + bytes > simulated::total_memory) return cudaErrorMemoryAllocation;
  *block = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  std::memset(*block, 0xcd, bytes);
  device_blocks[*block] = bytes;
  ordinals[*block] = simulated::current_ordinal;
  return cudaSuccess;
}
void release(void* block) {
  const std::lock_guard lock(mutex);
  if (device_blocks.erase(block) == 0) simulated::stop("a block is freed that was not allocated");
  pooled_blocks.erase(block);
  std::free(block);
}

/// The current contents of a node's arguments.
std::vector<std::vector<std::byte>> contents(const simulated::Node& node) {
  std::vector<std::vector<std::byte>> answer;
  for (const auto& [data, bytes] : node.arguments) {
    const auto* const first = static_cast<const std::byte*>(data.get());
    answer.emplace_back(first, first + bytes);
  }
  return answer;
}
void assign(const simulated::Node& node, const std::vector<std::vector<std::byte>>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    std::memcpy(node.arguments[i].data.get(), arguments[i].data(), arguments[i].size());
}
}  // namespace

namespace simulated {

constexpr unsigned numbered_barriers = 16;

void Blocks::run(unsigned first, const std::vector<unsigned char*>& shared, unsigned threads_of_block,
                 void (*body)(const void*), const void* argument) {
  if (threads_of_block == 0 || threads_of_block > 1024) stop("a block has 1 to 1024 threads");
  if (shared.size() > 1 && threads_of_block % 32 != 0) stop("a cluster of blocks that end within a warp");
  body_ = body;
  argument_ = argument;
  first_ = first;
  shared_ = shared;
  threads_ = threads_of_block;
  const unsigned threads = threads_ * static_cast<unsigned>(shared.size());
  while (fibers_.size() < threads) start(fibers_.emplace_back());
  barriers_.assign(shared.size(), {threads_, 0, 0});
  numbered_.assign(shared.size() * numbered_barriers, {});
  cluster_barrier_ = {threads, 0, 0};
  alive_.assign(shared.size(), threads_);
  running_ = threads;
  warps_.assign((threads + 31) / 32, {});
  warp_order_.resize(warps_.size());
  for (unsigned i = 0; i < warps_.size(); ++i) warp_order_[i] = i;
  for (unsigned i = 0; i < threads; ++i) {
    warps_[i / 32].barrier.size += 1;
    fibers_[i].done = false;
  }
  while (running_ > 0) {
    shuffle(warp_order_);
    bool progress = false;
    for (const unsigned warp : warp_order_) {  // as far as it gets alone: warps drift apart as much as they may
      do {
        progress_ = false;
        run_warp(warp, threads);
        progress |= progress_;
      } while (progress_);
    }
    if (!progress) stop("threads wait for each other, or for one that has returned");
  }
}

void Launch::perform(void (*body)(const void*), Bytes kernel, std::initializer_list<Bytes> arguments) const {
  if (lacks_code) {
    refused_launch = true;
    return;
  }
  const auto copy = [](Bytes value) {
    constexpr std::size_t alignment = 64;  // of any argument
    std::shared_ptr<void> memory(std::aligned_alloc(alignment, (value.size + alignment - 1) / alignment * alignment),
                                 std::free);
    std::memcpy(memory.get(), value.data, value.size);
    return memory;
  };
  const auto node = std::make_shared<Node>();
  node->kernel = copy(kernel);
  for (const Bytes argument : arguments) node->arguments.push_back({copy(argument), argument.size});
  node->run = [launch = *this, body, self = node.get()] { launch.run(body, *self); };
  simulated::perform(stream_, node);
}
void Launch::run(void (*body)(const void*), const Node& node) const {
  const std::lock_guard lock(one_launch_at_a_time);
  if (kernels_fail) failure = cudaErrorIllegalAddress;
  if (has_fault("crash")) std::raise(SIGSEGV);
  while (has_fault("hang")) std::this_thread::sleep_for(std::chrono::seconds(1));
  reinterpret_cast<Stream*>(stream_)->clock += kernel_milliseconds;
  gridDim = dim3(blocks_);
  blockDim = dim3(threads_);
  std::vector<std::unique_ptr<unsigned char[]>> memory;
  std::vector<unsigned char*> shared;
  for (unsigned i = 0; i < cluster_; ++i) shared.push_back(memory.emplace_back(new unsigned char[shared_]).get());
  for (unsigned block = 0; block < blocks_; block += cluster_) {
    for (unsigned char* const bytes : shared) std::memset(bytes, 0xab, shared_);
    Blocks::instance().run(block, shared, threads_, body, &node);
  }
}

void Blocks::synchronize() {
  const unsigned block = self_ / threads_;
  if (barriers_[block].size != alive_[block]) stop("__syncthreads after a thread of the block has returned");
  if (barriers_[block].arrived + 1 == barriers_[block].size) ++block_barriers;
  wait(barriers_[block]);
}
void Blocks::synchronize(unsigned number, unsigned threads) {
  if (number == 0 || number >= numbered_barriers) stop("a block has barriers 1 to 15 beside that of __syncthreads");
  if (threads == 0 || threads % 32 != 0 || threads > threads_) stop("a barrier of whole warps of a block");
  Barrier& barrier = numbered_[self_ / threads_ * numbered_barriers + number];
  if (barrier.arrived > 0 && barrier.size != threads) stop("threads that do not agree how many meet at a barrier");
  barrier.size = threads;
  wait(barrier);
}
void Blocks::synchronize_cluster() {
  if (cluster_barrier_.size != running_) stop("a barrier of a cluster after a thread of it has returned");
  wait(cluster_barrier_);
}
void* Blocks::in_block(const void* address, unsigned rank) const {
  if (rank >= shared_.size()) stop("shared memory of a block that is not in the cluster");
  const auto offset = static_cast<const unsigned char*>(address) - shared_[self_ / threads_];
  if (offset < 0 || static_cast<std::size_t>(offset) >= most_shared) stop("a cluster reads what is not shared");
  return shared_[rank] + offset;
}

unsigned Blocks::exchange(unsigned value, int mask) {
  Warp& warp = warps_[self_ / 32];
  const unsigned lane = self_ % 32;
  const unsigned long turn = warp.barrier.generation % 2;
  warp.values[turn][lane] = value;
  wait(warp.barrier);
  const unsigned partner = lane ^ static_cast<unsigned>(mask);
  if (partner >= warp.barrier.size) stop("a shuffle with a lane that does not exist");
  return has_fault("lost_shuffle") ? value : warp.values[turn][partner];
}

/// The body of a fiber: its thread of one block after the other.
void Blocks::live() {
  Blocks& blocks = instance();
  Fiber& self = blocks.fibers_[blocks.self_];
  for (;;) {
    blocks.body_(blocks.argument_);
    self.done = true;
    blocks.alive_[blocks.self_ / blocks.threads_] -= 1;
    blocks.running_ -= 1;
    blocks.progress_ = true;
    blocks.leave(self);
  }
}
void Blocks::start(Fiber& fiber) {
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size = Fiber::stack_bytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, &Blocks::live, 0);
}

#if defined(__SANITIZE_THREAD__)  // which is told of every switch
void Blocks::enter(Fiber& fiber) {
  if (!fiber.seen_by_sanitizer) fiber.seen_by_sanitizer = __tsan_create_fiber(0);
  scheduler_seen_by_sanitizer_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber.seen_by_sanitizer, 0);
  swapcontext(&scheduler_, &fiber.context);
}
void Blocks::leave(Fiber& fiber) {
  __tsan_switch_to_fiber(scheduler_seen_by_sanitizer_, 0);
  swapcontext(&fiber.context, &scheduler_);
}
#elif defined(__SANITIZE_ADDRESS__)  // which takes a long jump for the end of the functions in between
void Blocks::enter(Fiber& fiber) { swapcontext(&scheduler_, &fiber.context); }
void Blocks::leave(Fiber& fiber) { swapcontext(&fiber.context, &scheduler_); }
#else
void Blocks::enter(Fiber& fiber) {
  if (_setjmp(scheduler_place_) != 0) return;
  if (std::exchange(fiber.is_started, true)) _longjmp(fiber.place, 1);
  setcontext(&fiber.context);
}
void Blocks::leave(Fiber& fiber) {
  if (_setjmp(fiber.place) == 0) _longjmp(scheduler_place_, 1);
}
#endif

void Blocks::wait(Barrier& barrier) {
  const unsigned long generation = barrier.generation;
  if (++barrier.arrived == barrier.size) {
    barrier.arrived = 0;
    ++barrier.generation;
    progress_ = true;
    return;
  }
  Fiber& self = fibers_[self_];
  while (barrier.generation == generation) leave(self);
}
void Blocks::run_warp(unsigned warp, unsigned threads) {
  const unsigned first = random_() % 32;  // any order will do, as long as it changes
  for (unsigned k = 0; k < 32; ++k) {
    const unsigned i = warp * 32 + ((first + k * 13) % 32);
    if (i >= threads || fibers_[i].done) continue;
    self_ = i;
    select(i);
    enter(fibers_[i]);
  }
}
void Blocks::shuffle(std::vector<unsigned>& order) {
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_() % i]);
}
void Blocks::select(unsigned fiber) const {
  threadIdx.x = fiber % threads_;
  blockIdx.x = first_ + fiber / threads_;
  dynamic_shared = shared_[fiber / threads_];
}

bool is_pooled(const void* data) {
  const std::lock_guard lock(mutex);
  for (const auto& [block, bytes] : pooled_blocks) {
    const auto* const first = static_cast<const std::byte*>(block);
    if (data >= first && data < first + bytes) return true;
  }
  return false;
}
std::size_t size_of(void* block) {
  const std::lock_guard lock(mutex);
  const auto known = device_blocks.find(block);
  return known == device_blocks.end() ? 0 : known->second;
}

}  // namespace simulated

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = simulated::devices;
  if (simulated::has_fault("no_device")) return give(cudaErrorNoDevice);
  if (simulated::has_fault("no_driver") || simulated::has_fault("old_driver")) return give(cudaErrorInsufficientDriver);
  return simulated::devices > 0 ? cudaSuccess : give(simulated::unavailable);
}
cudaError_t cudaDriverGetVersion(int* version) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  *version = simulated::has_fault("no_driver")    ? 0
             : simulated::has_fault("old_driver") ? 11080
                                                  : simulated::driver_version;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* ordinal) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  *ordinal = simulated::current_ordinal;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int ordinal) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  if (ordinal < 0 || ordinal >= simulated::devices) return give(cudaErrorInvalidDevice);
  simulated::current_ordinal = ordinal;
  simulated::start_current();
  return cudaSuccess;
}
int get_primary_context_state(int ordinal, unsigned* flags, int* active) {
  *flags = 0;
  *active = static_cast<int>(simulated::started >> ordinal & 1u);
  return 0;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  if (std::strcmp(symbol, "cuDevicePrimaryCtxGetState") != 0) simulated::stop("an unknown function of the driver");
  *function = reinterpret_cast<void*>(&get_primary_context_state);
  *found = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  *value = attribute == cudaDevAttrMultiProcessorCount           ? 4
           : attribute == cudaDevAttrComputeCapabilityMajor      ? simulated::lacks_code ? 7 : 9
           : attribute == cudaDevAttrComputeCapabilityMinor      ? 0
           : attribute == cudaDevAttrMemoryClockRate             ? 1'000'000
           : attribute == cudaDevAttrGlobalMemoryBusWidth        ? 4096
           : attribute == cudaDevAttrL2CacheSize                 ? 50 << 20
           : attribute == cudaDevAttrClusterLaunch               ? 1
           : attribute == cudaDevAttrMemoryPoolsSupported        ? int{simulated::has_pools}
           : attribute == cudaDevAttrMaxThreadsPerMultiProcessor ? 2048
                                                                 : static_cast<int>(simulated::most_shared);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* bus, int size, int ordinal) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  std::snprintf(bus, static_cast<std::size_t>(size), "0000:%02x:00.0", ordinal);
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "%s", simulated::gpu_name);
  properties->major = simulated::lacks_code ? 7 : 9;
  properties->multiProcessorCount = 4;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  if (simulated::lasting_error != cudaSuccess) return simulated::lasting_error;
  if (std::exchange(simulated::refused_launch, false)) return cudaErrorNoKernelImageForDevice;
  return std::exchange(last_error, cudaSuccess);
}
const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInsufficientDriver: return "cudaErrorInsufficientDriver";
    case cudaErrorNoKernelImageForDevice: return "cudaErrorNoKernelImageForDevice";
    case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
    default: return "simulated error";
  }
}
const char* cudaGetErrorString(cudaError_t) { return "simulated error"; }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  if (simulated::lacks_code) return give(cudaErrorNoKernelImageForDevice);
  ++simulated::asked_kernels;
  *attributes = {};
  attributes->ptxVersion = simulated::architecture;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void*, const cudaLaunchConfig_t* launch) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  ++simulated::asked_kernels;
  if (launch->dynamicSmemBytes > simulated::allowed_shared) return give(cudaErrorInvalidValue);
  if (launch->numAttrs != 1 || launch->attrs[0].id != cudaLaunchAttributeClusterDimension)
    simulated::stop("a question about clusters without their size");
  const auto size = static_cast<int>(launch->attrs[0].val.clusterDim.x);
  if (size > 2 * simulated::largest_cluster) return give(cudaErrorInvalidClusterSize);
  *clusters = size <= simulated::largest_cluster ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int bytes) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  simulated::allowed_shared = static_cast<std::size_t>(bytes);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  simulated::start_current();
  if (flags != cudaStreamNonBlocking) simulated::stop("a stream that waits for the default stream");
  *stream = reinterpret_cast<cudaStream_t>(new simulated::Stream{simulated::current_ordinal});
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  simulated::start_current();
  if (simulated::spoils_capture(stream)) return give(cudaErrorStreamCaptureUnsupported);
  simulated::reach_end(stream);
  if (simulated::has_fault("illegal_address")) return give(simulated::failure);  // which outlasts its cause
  return give(simulated::failure.exchange(cudaSuccess));
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t handle, unsigned) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  simulated::start_current();
  ++simulated::waits;
  const simulated::Event event = *reinterpret_cast<simulated::Event*>(handle);
  if (!event.stream) return cudaSuccess;
  const std::lock_guard lock(simulated::queues);
  auto& queue = simulated::target_of(stream);
  if (queue.capture && !event.captured) {
    queue.invalid = true;
    return give(cudaErrorStreamCaptureIsolation);
  }
  if (event.captured) {
    simulated::Graph* const graph = event.stream->capture;
    if (!graph || (queue.capture && queue.capture != graph)) simulated::stop("an event of a capture that has ended");
    if (!queue.capture) graph->joined.push_back(&queue);
    queue.capture = graph;
    std::erase(graph->unawaited, event.stream);
    if (&queue != graph->origin) {
      graph->unawaited.push_back(&queue);
      return cudaSuccess;
    }
    graph->nodes.insert(graph->nodes.end(), graph->beside.begin(), graph->beside.end());
    graph->beside.clear();
    graph->awaited = std::max(graph->awaited, event.captured_beside);
    return cudaSuccess;
  }
  simulated::enqueue(
      stream, [] {}, [event] { return simulated::advance(*event.stream, event.position); });
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  const bool captured = simulated::captured || reinterpret_cast<simulated::Stream*>(stream)->capture;
  *status = captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  simulated::start_current();
  auto* const made = new simulated::Event{simulated::current_ordinal};
  made->is_timed = !(flags & cudaEventDisableTiming);
  *event = reinterpret_cast<cudaEvent_t>(made);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  simulated::start_current();
  delete reinterpret_cast<simulated::Event*>(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream) {
  if (auto* const before = simulated::before_record.load()) before();
  if (simulated::fails()) return give(cudaErrorUnknown);
  simulated::start_current();
  auto& event = *reinterpret_cast<simulated::Event*>(handle);
  auto& queue = simulated::target_of(stream);
  if (event.ordinal != queue.ordinal) simulated::stop("an event of one GPU recorded on a stream of another");
  const std::lock_guard lock(simulated::queues);
  event.stream = &queue;
  event.captured = queue.capture != nullptr;
  if (event.is_timed && !event.captured) {
    event.happened = std::make_shared<double>(0);
    simulated::enqueue(stream, [happened = event.happened] {
      *happened =
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
    });
  }
  event.position = queue.queued.size();
  if (queue.capture) event.captured_beside = queue.capture->captured_beside;
  event.clock = queue.clock;
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  const auto& first = *reinterpret_cast<simulated::Event*>(start);
  const auto& last = *reinterpret_cast<simulated::Event*>(end);
  if (!first.is_timed || !last.is_timed || !first.stream || !last.stream || first.ordinal != last.ordinal) {
    simulated::stop("a time between events that have none");
  }
  if (first.stream != last.stream) {
    const std::lock_guard lock(simulated::queues);
    if (!first.happened || !last.happened) simulated::stop("a time of an event of a capture");
    if (*first.happened == 0 || *last.happened == 0) return give(cudaErrorNotReady);
    *milliseconds = static_cast<float>(*last.happened - *first.happened);
    return cudaSuccess;
  }
  constexpr float least = 0.001f;  // no GPU measures less, and speeds are quotients
  const auto passed = static_cast<float>(last.clock - first.clock);
  *milliseconds = passed < least ? least : passed;
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  require_uncaptured();
  if (simulated::captured) simulated::stop("the host waits while a stream is captured");
  const auto& event = *reinterpret_cast<simulated::Event*>(handle);
  if (event.stream) simulated::reach(*event.stream, event.position);
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t handle) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  require_uncaptured();
  ++simulated::queries;
  const std::lock_guard lock(simulated::queues);
  const auto& event = *reinterpret_cast<simulated::Event*>(handle);
  if (!event.stream || event.stream->done >= event.position) return cudaSuccess;
  if (!simulated::late) simulated::advance(*event.stream, event.position);  // after the look: it was not done yet
  return give(cudaErrorNotReady);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  if (simulated::refuses_pools) return give(cudaErrorNotSupported);
  *pool = reinterpret_cast<cudaMemPool_t>(new char);
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void* value) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  if (attribute != cudaMemPoolAttrReleaseThreshold) return give(cudaErrorInvalidValue);
  simulated::kept_memory = *static_cast<unsigned long long*>(value);
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) {
  return simulated::fails() ? give(cudaErrorUnknown) : cudaSuccess;
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc* access, std::size_t) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  return access->location.id < simulated::devices ? cudaSuccess : give(cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  *can = simulated::are_connected;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  static std::atomic<unsigned> enabled{0};
  const unsigned bit = 1u << (8 * simulated::current_ordinal + peer);
  return enabled.fetch_or(bit) & bit ? give(cudaErrorPeerAccessAlreadyEnabled) : cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* unused, std::size_t* total) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  *unused = simulated::free_memory, *total = std::size_t{1} << 34;
  return cudaSuccess;
}
cudaError_t cudaMallocFromPoolAsync(void** block, std::size_t bytes, cudaMemPool_t, cudaStream_t stream) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  require_uncaptured();
  simulated::start_current();
  if (reinterpret_cast<simulated::Stream*>(stream)->capture) simulated::stop("memory asked for within a capture");
  if (!simulated::has_pools) simulated::stop("memory from a pool of a driver that has none");
  const cudaError_t error = allocate(block, bytes);
  const std::lock_guard lock(mutex);
  if (error == cudaSuccess) pooled_blocks[*block] = bytes;
  return give(error);
}
cudaError_t cudaMalloc(void** block, std::size_t bytes) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  require_uncaptured();
  simulated::start_current();
  ++simulated::mallocs;
  return give(allocate(block, bytes));
}
cudaError_t cudaMallocAsync(void** block, std::size_t bytes, cudaStream_t stream) {
  return cudaMallocFromPoolAsync(block, bytes, nullptr, stream);
}
cudaError_t cudaFreeAsync(void* block, cudaStream_t stream) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  if (reinterpret_cast<simulated::Stream*>(stream)->capture) simulated::stop("memory freed within a capture");
  simulated::enqueue(stream, [block] { release(block); });
  return cudaSuccess;
}
/// Queued work may still use the block: a GPU would wait for all of it, but no documentation says so.
cudaError_t cudaFree(void* block) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  require_uncaptured();
  simulated::start_current();
  ++simulated::frees;
  release(block);
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  *attributes = {};
  const std::lock_guard lock(mutex);
  for (const auto& [block, bytes] : device_blocks) {
    const auto* const first = static_cast<const std::byte*>(block);
    if (data < first || data >= first + bytes) continue;
    attributes->type = cudaMemoryTypeDevice;
    attributes->device = ordinals.at(block);
  }
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** block, std::size_t bytes, unsigned) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  require_uncaptured();
  simulated::start_current();
  if (const cudaError_t refusal = refusal_of(bytes); refusal != cudaSuccess) return give(refusal);
  *block = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* block) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  require_uncaptured();
  std::free(block);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  simulated::start_current();
  if (!stream) simulated::stop("a copy on the default stream");
  const auto copy = [=] { std::memmove(target, source, bytes); };
  if (reinterpret_cast<simulated::Stream*>(stream)->capture) {
    if (kind != cudaMemcpyDeviceToDevice) simulated::stop("a copy from or to the host within a capture");
    simulated::perform(stream, std::make_shared<simulated::Node>(simulated::Node{copy}));
    return cudaSuccess;
  }
  simulated::enqueue(stream, copy);
  return cudaSuccess;
}
cudaError_t cudaMemcpyPeerAsync(void* target, int, const void* source, int, std::size_t bytes, cudaStream_t stream) {
  return cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, stream);
}

// Graphs: a capture takes the work queued in a stream.

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(capture_mode, *mode);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  simulated::reach_end(stream);
  delete reinterpret_cast<simulated::Stream*>(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  auto& stream = *reinterpret_cast<simulated::Stream*>(handle);
  if (mode != cudaStreamCaptureModeThreadLocal) simulated::stop("a capture that other threads' calls would spoil");
  if (stream.capture) return give(cudaErrorIllegalState);
  ++captures;
  stream.capture = new simulated::Graph;
  stream.capture->origin = &stream;
  stream.invalid = false;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  auto& stream = *reinterpret_cast<simulated::Stream*>(handle);
  --captures;
  simulated::Graph* const captured = std::exchange(stream.capture, nullptr);
  const bool fails = simulated::fails(),
             is_joined = captured->awaited == captured->captured_beside && captured->unawaited.empty();
  for (simulated::Stream* const other : captured->joined) other->capture = nullptr;
  if (stream.invalid || fails || !is_joined) {
    delete captured;
    *graph = nullptr;
    return give(fails        ? cudaErrorUnknown
                : !is_joined ? cudaErrorStreamCaptureUnjoined
                             : cudaErrorStreamCaptureInvalidated);
  }
  *graph = reinterpret_cast<cudaGraph_t>(captured);
  return cudaSuccess;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long*,
                                     cudaGraph_t*, const cudaGraphNode_t** nodes, const cudaGraphEdgeData**,
                                     std::size_t* count) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  const auto& stream = *reinterpret_cast<simulated::Stream*>(handle);
  *status = stream.capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  *nodes = stream.capture ? &stream.capture->last : nullptr;
  *count = stream.capture && stream.capture->last ? 1 : 0;
  return cudaSuccess;
}
/// Arguments are copied where they are set, and only as many as there are.
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t handle, cudaKernelNodeParams* launch) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  static thread_local std::vector<void*> pointers;
  auto& node = *reinterpret_cast<simulated::Node*>(handle);
  if (node.arguments.empty()) simulated::stop("a node that launches no kernel");
  pointers.clear();
  for (const auto& argument : node.arguments) pointers.push_back(argument.data.get());
  *launch = {};
  launch->func = &node;
  launch->kernelParams = pointers.data();
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  *executable = reinterpret_cast<cudaGraphExec_t>(new simulated::Graph(*reinterpret_cast<simulated::Graph*>(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t, cudaGraphNode_t handle,
                                             const cudaKernelNodeParams* launch) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  auto& node = *reinterpret_cast<simulated::Node*>(handle);
  if (launch->func != &node) simulated::stop("another kernel for a node");
  for (std::size_t i = 0; i < node.arguments.size(); ++i)
    std::memmove(node.arguments[i].data.get(), launch->kernelParams[i], node.arguments[i].bytes);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  simulated::start_current();
  if (reinterpret_cast<simulated::Stream*>(stream)->capture) simulated::stop("a graph within a capture");
  auto& graph = *reinterpret_cast<simulated::Graph*>(executable);
  auto& queue = simulated::target_of(stream);
  if (graph.launched_in) {
    simulated::enqueue(
        stream, [] {}, [first = graph.launched_in, end = graph.position] { return simulated::advance(*first, end); });
  }
  for (const auto& node : graph.nodes) {
    if (node->queue) {
      node->queue(stream);
      continue;
    }
    simulated::enqueue(stream, [node, arguments = contents(*node)] {
      const auto changed_since = contents(*node);
      assign(*node, arguments);
      node->run();
      assign(*node, changed_since);
    });
  }
  graph.launched_in = &queue;
  graph.position = queue.queued.size();
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  delete reinterpret_cast<simulated::Graph*>(executable);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  if (simulated::fails()) return give(cudaErrorUnknown);
  delete reinterpret_cast<simulated::Graph*>(graph);
  return cudaSuccess;
}

// cuBLASLt: opaque structures hold their attributes as 64-bit numbers.

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  require_uncaptured();
  *handle = reinterpret_cast<cublasLtHandle_t>(new char);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
std::size_t cublasLtGetVersion() { return simulated::blas.version; }
const char* cublasLtGetStatusName(cublasStatus_t) { return "simulated status"; }
const char* cublasLtGetStatusString(cublasStatus_t) { return "simulated status"; }

enum { type_at, rows_at, cols_at, ld_at, count_at, stride_at };
cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, std::size_t, cudaDataType type,
                                                 std::uint64_t rows, std::uint64_t cols, std::int64_t ld) {
  if (rows == 0 || cols == 0 || ld < static_cast<std::int64_t>(rows)) simulated::stop("an impossible matrix layout");
  layout->data[type_at] = type;
  layout->data[rows_at] = rows;
  layout->data[cols_at] = cols;
  layout->data[ld_at] = static_cast<std::uint64_t>(ld);
  layout->data[count_at] = 1;
  layout->data[stride_at] = 0;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                std::size_t bytes) {
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == 4) {
    layout->data[count_at] = static_cast<std::uint64_t>(*static_cast<const std::int32_t*>(value));
  } else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && bytes == 8) {
    layout->data[stride_at] = *static_cast<const std::uint64_t*>(value);
  } else {
    simulated::stop("a matrix layout attribute of the wrong size");
  }
  return CUBLAS_STATUS_SUCCESS;
}

enum { compute_at, scale_at, a_transposed_at, b_transposed_at, epilogue_at, bias_at, kept_at, kept_ld_at };
cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t description, std::size_t,
                                               cublasComputeType_t compute, cudaDataType_t scale) {
  *description = {};
  description->data[compute_at] = compute;
  description->data[scale_at] = scale;
  description->data[epilogue_at] = CUBLASLT_EPILOGUE_DEFAULT;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              std::size_t bytes) {
  const int at = attribute == CUBLASLT_MATMUL_DESC_TRANSA                 ? a_transposed_at
                 : attribute == CUBLASLT_MATMUL_DESC_TRANSB               ? b_transposed_at
                 : attribute == CUBLASLT_MATMUL_DESC_EPILOGUE             ? epilogue_at
                 : attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER         ? bias_at
                 : attribute == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER ? kept_at
                 : attribute == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD      ? kept_ld_at
                                                                          : -1;
  if (at < 0 || bytes != (at >= bias_at ? 8u : 4u)) simulated::stop("a product attribute unknown or of the wrong size");
  std::memcpy(&description->data[at], value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference, std::size_t) {
  *preference = {};
  for (int i = 1; i <= 4; ++i) preference->data[i] = 256;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    std::size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
    if (bytes != 8) simulated::stop("a preference of the wrong size");
    std::memcpy(&preference->data[0], value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  }
  if (bytes != 4) simulated::stop("a preference of the wrong size");
  const int at = attribute == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES   ? 1
                 : attribute == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES ? 2
                 : attribute == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES ? 3
                 : attribute == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES ? 4
                                                                           : 5;
  preference->data[at] = *static_cast<const std::uint32_t*>(value);
  return CUBLAS_STATUS_SUCCESS;
}

std::uint64_t bytes_of(cublasLtMatrixLayout_t matrix) {
  switch (matrix->data[type_at]) {
    case CUDA_C_64F: return 16;
    case CUDA_C_32F:
    case CUDA_R_64F: return 8;
    case CUDA_R_32F: return 4;
    default: return 2;
  }
}
bool is_summing(std::uint64_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BGRADB || epilogue == CUBLASLT_EPILOGUE_DRELU_BGRAD ||
         epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD;
}
/// Words of an algorithm: alignments of a, b, c, d, its number, and the type and the epilogue of its products.
enum { algorithm_at = 4, algorithm_type_at, algorithm_epilogue_at };
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t* results, int* found) {
  const bool a_transposed = description->data[a_transposed_at] == CUBLAS_OP_T;
  const bool b_transposed = description->data[b_transposed_at] == CUBLAS_OP_T;
  const bool fits = a->data[a_transposed ? cols_at : rows_at] == c->data[rows_at] &&
                    b->data[b_transposed ? rows_at : cols_at] == c->data[cols_at] &&
                    a->data[a_transposed ? rows_at : cols_at] == b->data[b_transposed ? cols_at : rows_at] &&
                    a->data[count_at] == c->data[count_at] && b->data[count_at] == c->data[count_at];
  if (!fits) simulated::stop("matrices that cannot be multiplied");
  simulated::count(simulated::blas.asked);
  *found = 0;
  if (simulated::blas.refuses_all) return CUBLAS_STATUS_INVALID_VALUE;
  const auto epilogue = description->data[epilogue_at];
  // As if there were no fused epilogues in double precision, so that the way without them is taken too.
  if (a->data[type_at] == CUDA_R_64F && epilogue != CUBLASLT_EPILOGUE_DEFAULT) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (epilogue == CUBLASLT_EPILOGUE_BGRADB && !b_transposed) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (epilogue == CUBLASLT_EPILOGUE_RELU_AUX && simulated::has_fault("no_relu_aux")) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (is_summing(epilogue) && !simulated::blas.has_sums) return CUBLAS_STATUS_NOT_SUPPORTED;
  for (auto* const matrix : {a, b, c})
    if (matrix->data[ld_at] * bytes_of(matrix) % simulated::blas.least_alignment != 0) return CUBLAS_STATUS_SUCCESS;
  for (int i = 1; i <= 4; ++i)
    if (preference->data[i] < simulated::blas.least_alignment) return CUBLAS_STATUS_SUCCESS;
  for (; *found < most && *found < simulated::blas.algorithms; ++*found) {
    auto& result = results[*found] = {};
    for (int i = 0; i < 4; ++i) result.algo.data[i] = preference->data[i + 1];
    result.algo.data[algorithm_at] = static_cast<std::uint64_t>(*found);
    result.algo.data[algorithm_type_at] = a->data[type_at];
    result.algo.data[algorithm_epilogue_at] = description->data[epilogue_at];
    result.workspaceSize = static_cast<std::size_t>(1000 + *found);
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void* value,
                                                    std::size_t bytes, std::size_t* written) {
  if (attribute != CUBLASLT_ALGO_CONFIG_SPLITK_NUM || bytes != 4)
    simulated::stop("an unknown attribute of an algorithm");
  std::memcpy(value, &simulated::blas.parts[algorithm->data[algorithm_at]], bytes);
  *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t description, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulHeuristicResult_t* result) {
  const bool fits = algorithm->data[algorithm_at] < 8 && algorithm->data[algorithm_type_at] == a->data[type_at] &&
                    algorithm->data[algorithm_epilogue_at] == description->data[epilogue_at];
  result->workspaceSize = 1000 + algorithm->data[algorithm_at];
  return fits ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
}  // extern "C"

namespace {
template <class T>
double number(T value) {
  if constexpr (sizeof(T) == 2) return static_cast<double>(static_cast<float>(value));
  else return static_cast<double>(value);
}
template <class T>
void assign(T& target, double value) {
  if constexpr (sizeof(T) == 2) target = static_cast<T>(static_cast<float>(value));
  else target = static_cast<T>(value);
}
double gelu_argument(double x) { return 0.7978845608028654 * (x + 0.044715 * x * x * x); }

/// The matrix that a product writes or reads for the derivative of its activation: bits after relu, set at 0 and not
/// for NaN, or gelu's input.
template <class T>
class Kept {
 public:
  Kept(const cublasLtMatmulDesc_t description, std::uint64_t m)
      : data_(reinterpret_cast<unsigned char*>(description->data[kept_at])), ld_(description->data[kept_ld_at]) {
    const auto epilogue = static_cast<cublasLtEpilogue_t>(description->data[epilogue_at]);
    is_of_gelu_ = epilogue & (CUBLASLT_EPILOGUE_GELU | 64);
    if (!(epilogue & 128)) return;
    if (!data_ || ld_ % (is_of_gelu_ ? 8 : 128) != 0 || ld_ < m || reinterpret_cast<std::uintptr_t>(data_) % 16 != 0)
      simulated::stop("a product without the room that it needs for what it keeps");
  }
  void write(std::uint64_t i, std::uint64_t j, double z) const {
    if (is_of_gelu_) return assign(reinterpret_cast<T*>(data_)[i + j * ld_], z);
    unsigned char& bits = byte(i, j);
    bits = static_cast<unsigned char>(z >= 0 ? bits | bit(i) : bits & ~bit(i));
  }
  /// The derivative there.
  [[nodiscard]] double slope(std::uint64_t i, std::uint64_t j) const {
    if (!is_of_gelu_) return byte(i, j) & bit(i) ? 1 : 0;
    const double z = number(reinterpret_cast<const T*>(data_)[i + j * ld_]), t = std::tanh(gelu_argument(z));
    return (1 + t) / 2 + z / 2 * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * z * z);
  }

 private:
  [[nodiscard]] static unsigned bit(std::uint64_t i) { return 1u << (i % 8); }
  [[nodiscard]] unsigned char& byte(std::uint64_t i, std::uint64_t j) const { return data_[(i + j * ld_) / 8]; }
  unsigned char* data_;
  std::uint64_t ld_;
  bool is_of_gelu_ = false;
};

template <class T>
void multiply(const cublasLtMatmulDesc_t description, double beta, const void* a_data, cublasLtMatrixLayout_t a,
              const void* b_data, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, void* c_data) {
  const bool a_transposed = description->data[a_transposed_at] == CUBLAS_OP_T;
  const bool b_transposed = description->data[b_transposed_at] == CUBLAS_OP_T;
  const std::uint64_t m = c->data[rows_at], n = c->data[cols_at], k = a->data[a_transposed ? rows_at : cols_at];
  const auto epilogue = static_cast<cublasLtEpilogue_t>(description->data[epilogue_at]);
  const T* const bias = reinterpret_cast<const T*>(description->data[bias_at]);
  const Kept<T> kept(description, m);
  const bool keeps = epilogue & 128,
             sums_c = epilogue == CUBLASLT_EPILOGUE_DRELU_BGRAD || epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD;
  const bool derives = epilogue == CUBLASLT_EPILOGUE_DRELU || epilogue == CUBLASLT_EPILOGUE_DGELU || sums_c;
  if (derives && k == 1) simulated::stop("a derivative as the epilogue of a product over one element: illegal access");
  if (keeps && c->data[count_at] != 1) simulated::stop("a batch of products with what they keep");
  const bool adds_bias = epilogue & CUBLASLT_EPILOGUE_BIAS;
  const bool rectifies = epilogue & CUBLASLT_EPILOGUE_RELU, bends = epilogue & CUBLASLT_EPILOGUE_GELU;
  const bool is_exact = !simulated::has_fault("float_sums");
  std::vector<double> sums(m);
  if (bias && reinterpret_cast<std::uintptr_t>(bias) % 16 != 0) simulated::stop("a misaligned bias");
  if (epilogue == CUBLASLT_EPILOGUE_BGRADB) {
    for (std::uint64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::uint64_t l = 0; l < k; ++l)
        sum += number(static_cast<const T*>(b_data)[b_transposed ? j + l * b->data[ld_at] : l + j * b->data[ld_at]]);
      assign(const_cast<T*>(bias)[j], sum);
    }
  }
  for (std::uint64_t batch = 0; batch < c->data[count_at]; ++batch) {
    const T* const x = static_cast<const T*>(a_data) + batch * a->data[stride_at];
    const T* const y = static_cast<const T*>(b_data) + batch * b->data[stride_at];
    T* const z = static_cast<T*>(c_data) + batch * c->data[stride_at];
    for (std::uint64_t j = 0; j < n; ++j) {
      for (std::uint64_t i = 0; i < m; ++i) {
        double sum = 0;
        for (std::uint64_t l = 0; l < k; ++l) {
          const double left = number(x[a_transposed ? l + i * a->data[ld_at] : i + l * a->data[ld_at]]);
          const double right = number(y[b_transposed ? j + l * b->data[ld_at] : l + j * b->data[ld_at]]);
          if (is_exact) sum += left * right;
          else
            sum = static_cast<double>(
                std::fma(static_cast<float>(left), static_cast<float>(right), static_cast<float>(sum)));
        }
        T& target = z[i + j * c->data[ld_at]];
        if (beta != 0) sum += beta * number(target);
        if (adds_bias) sum += number(bias[i]);
        if (derives) sum *= kept.slope(i, j);
        else if (keeps) kept.write(i, j, sum);
        if (rectifies && !(sum > 0)) sum = 0;  // NaN, too
        if (simulated::has_fault("wrong_product")) sum += 1;
        if (bends) sum = sum / 2 * (1 + std::tanh(gelu_argument(sum)));
        sums[i] += sum;
        assign(target, sum);
      }
    }
  }
  for (std::uint64_t i = 0; sums_c && i < m; ++i) assign(const_cast<T*>(bias)[i], sums[i]);
}
/// The same of complex numbers, given as pairs of parts, for which cuBLASLt has no fused epilogues.
template <class R>
void multiply_complex(const cublasLtMatmulDesc_t description, double beta, const void* a_data, cublasLtMatrixLayout_t a,
                      const void* b_data, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, void* c_data) {
  if (description->data[epilogue_at] != CUBLASLT_EPILOGUE_DEFAULT)
    simulated::stop("a complex product with an epilogue");
  using Number = std::complex<R>;
  const bool a_transposed = description->data[a_transposed_at] == CUBLAS_OP_T;
  const bool b_transposed = description->data[b_transposed_at] == CUBLAS_OP_T;
  const std::uint64_t m = c->data[rows_at], n = c->data[cols_at], k = a->data[a_transposed ? rows_at : cols_at];
  for (std::uint64_t batch = 0; batch < c->data[count_at]; ++batch) {
    const Number* const x = static_cast<const Number*>(a_data) + batch * a->data[stride_at];
    const Number* const y = static_cast<const Number*>(b_data) + batch * b->data[stride_at];
    Number* const z = static_cast<Number*>(c_data) + batch * c->data[stride_at];
    for (std::uint64_t j = 0; j < n; ++j)
      for (std::uint64_t i = 0; i < m; ++i) {
        std::complex<double> sum = 0;
        for (std::uint64_t l = 0; l < k; ++l)
          sum += std::complex<double>(x[a_transposed ? l + i * a->data[ld_at] : i + l * a->data[ld_at]]) *
                 std::complex<double>(y[b_transposed ? j + l * b->data[ld_at] : l + j * b->data[ld_at]]);
        Number& target = z[i + j * c->data[ld_at]];
        if (beta != 0) sum += beta * std::complex<double>(target);
        target = Number(sum);
      }
  }
}
}  // namespace

extern "C" cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha,
                                         const void* a_data, cublasLtMatrixLayout_t a, const void* b_data,
                                         cublasLtMatrixLayout_t b, const void* beta, const void*,
                                         cublasLtMatrixLayout_t, void* c_data, cublasLtMatrixLayout_t c,
                                         const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                                         std::size_t workspace_bytes, cudaStream_t stream) {
  const std::uint64_t number = algorithm->data[algorithm_at];
  if (!stream || !workspace || workspace_bytes < 1000 + number) {
    simulated::stop("a product without stream or workspace");
  }
  if (algorithm->data[algorithm_type_at] != a->data[type_at] ||
      algorithm->data[algorithm_epilogue_at] != description->data[epilogue_at]) {
    simulated::stop("an algorithm for other products");
  }
  simulated::count(simulated::blas.products);
  if (simulated::blas.status != CUBLAS_STATUS_SUCCESS) return simulated::blas.status;
  const bool has_epilogue = description->data[epilogue_at] != CUBLASLT_EPILOGUE_DEFAULT;
  if (simulated::blas.refused >> number & 1u || (has_epilogue && simulated::blas.refuses_epilogues)) {
    last_error = cudaErrorInvalidValue;  // of a launch that failed
    return simulated::blas.refusal;
  }
  simulated::note(simulated::blas.algorithm, number);
  simulated::note(simulated::blas.rounds_to_tf32, description->data[compute_at] == CUBLAS_COMPUTE_32F_FAST_TF32);
  simulated::note(simulated::blas.epilogue, static_cast<int>(description->data[epilogue_at]));
  simulated::note(simulated::blas.alignment, *std::min_element(algorithm->data, algorithm->data + 4));
  reinterpret_cast<simulated::Stream*>(stream)->clock +=
      has_epilogue ? simulated::blas.fused_milliseconds[number] : simulated::blas.milliseconds[number];
  const bool is_double = a->data[type_at] == CUDA_R_64F || a->data[type_at] == CUDA_C_64F;
  const std::uint64_t size = bytes_of(a);
  const void* const pointers[] = {a_data, b_data, c_data, c_data};
  const cublasLtMatrixLayout_t layouts[] = {a, b, c, c};
  for (int i = 0; i < 4; ++i) {
    if (reinterpret_cast<std::uintptr_t>(pointers[i]) % algorithm->data[i] != 0 ||
        (layouts[i]->data[count_at] > 1 && layouts[i]->data[stride_at] * size % algorithm->data[i] != 0)) {
      simulated::stop("an algorithm chosen for better aligned matrices");
    }
  }
  const double one =
      is_double ? *static_cast<const double*>(alpha) : static_cast<double>(*static_cast<const float*>(alpha));
  if (one != 1) simulated::stop("a scaled product");
  const double factor =
      is_double ? *static_cast<const double*>(beta) : static_cast<double>(*static_cast<const float*>(beta));
  if (simulated::has_fault("illegal_product") && description->data[epilogue_at] == CUBLASLT_EPILOGUE_DRELU)
    simulated::failure = cudaErrorIllegalAddress;
  const auto product = [=, description = *description, a = *a, b = *b, c = *c]() mutable {
    switch (a.data[type_at]) {
      case CUDA_R_32F: multiply<float>(&description, factor, a_data, &a, b_data, &b, &c, c_data); break;
      case CUDA_R_64F: multiply<double>(&description, factor, a_data, &a, b_data, &b, &c, c_data); break;
      case CUDA_C_32F: multiply_complex<float>(&description, factor, a_data, &a, b_data, &b, &c, c_data); break;
      case CUDA_C_64F: multiply_complex<double>(&description, factor, a_data, &a, b_data, &b, &c, c_data); break;
      case CUDA_R_16F: multiply<__half>(&description, factor, a_data, &a, b_data, &b, &c, c_data); break;
      default: multiply<__nv_bfloat16>(&description, factor, a_data, &a, b_data, &b, &c, c_data); break;
    }
  };
  simulated::perform(stream, std::make_shared<simulated::Node>(simulated::Node{product}));
  return CUBLAS_STATUS_SUCCESS;
}
