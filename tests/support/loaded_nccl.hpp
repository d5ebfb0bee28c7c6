#pragma once
// libnccl, loaded at run time by the one test that uses it, so that the programs of device tests start without it, too.

#include <dlfcn.h>
#include <nccl.h>

namespace locus_test {
/// A function of libnccl; null where the library is not found.
[[nodiscard]] inline void* nccl_function(const char* name) {
  static void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  return library ? dlsym(library, name) : nullptr;
}
}  // namespace locus_test

#define LOCUS_LOADED_NCCL(name, parameters, arguments)                                      \
  extern "C" ncclResult_t name parameters {                                                 \
    return reinterpret_cast<decltype(&name)>(::locus_test::nccl_function(#name)) arguments; \
  }                                                                                         \
  static_assert(true)

extern "C" const char* ncclGetErrorString(ncclResult_t status) {
  return reinterpret_cast<decltype(&ncclGetErrorString)>(::locus_test::nccl_function("ncclGetErrorString"))(status);
}
LOCUS_LOADED_NCCL(ncclGetVersion, (int* version), (version));
LOCUS_LOADED_NCCL(ncclGetUniqueId, (ncclUniqueId * id), (id));
LOCUS_LOADED_NCCL(ncclCommInitRankConfig,
                  (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config),
                  (comm, ranks, id, rank, config));
LOCUS_LOADED_NCCL(ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t* status), (comm, status));
LOCUS_LOADED_NCCL(ncclCommFinalize, (ncclComm_t comm), (comm));
LOCUS_LOADED_NCCL(ncclCommDestroy, (ncclComm_t comm), (comm));
LOCUS_LOADED_NCCL(ncclCommAbort, (ncclComm_t comm), (comm));
LOCUS_LOADED_NCCL(ncclGroupStart, (), ());
LOCUS_LOADED_NCCL(ncclGroupEnd, (), ());
LOCUS_LOADED_NCCL(ncclSend,
                  (const void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream),
                  (data, count, type, peer, comm, stream));
LOCUS_LOADED_NCCL(ncclRecv,
                  (void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream),
                  (data, count, type, peer, comm, stream));
LOCUS_LOADED_NCCL(ncclAllReduce,
                  (const void* source, void* target, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                   cudaStream_t stream),
                  (source, target, count, type, op, comm, stream));
LOCUS_LOADED_NCCL(ncclReduce,
                  (const void* source, void* target, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                   ncclComm_t comm, cudaStream_t stream),
                  (source, target, count, type, op, root, comm, stream));
LOCUS_LOADED_NCCL(ncclReduceScatter,
                  (const void* source, void* target, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                   cudaStream_t stream),
                  (source, target, count, type, op, comm, stream));
LOCUS_LOADED_NCCL(ncclBroadcast,
                  (const void* source, void* target, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                   cudaStream_t stream),
                  (source, target, count, type, root, comm, stream));
LOCUS_LOADED_NCCL(ncclAllGather,
                  (const void* source, void* target, size_t count, ncclDataType_t type, ncclComm_t comm,
                   cudaStream_t stream),
                  (source, target, count, type, comm, stream));
