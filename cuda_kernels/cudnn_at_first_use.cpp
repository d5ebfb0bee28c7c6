// Replaces -lcudnn in programs that must also run without cuDNN: opens libcudnn.so.9 at the first call and forwards all
// calls. Without the library, cudnnGetVersion() is 0, and convolutions are computed as products of windows.

#include <cudnn_graph.h>
#include <dlfcn.h>

namespace {

void* library() {
  static void* const opened = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
  return opened;
}
/// The library's function of this name and type; null if there is none.
template <class F>
F* function(F&, const char* name) {
  return library() ? reinterpret_cast<F*>(dlsym(library(), name)) : nullptr;
}

}  // namespace

#define LOCUS_HAND_ON(name, arguments)              \
  static auto* const found = function(name, #name); \
  return found ? found arguments : CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED

extern "C" {

size_t cudnnGetVersion() {
  static auto* const found = function(cudnnGetVersion, "cudnnGetVersion");
  return found ? found() : 0;
}
const char* cudnnGetErrorString(cudnnStatus_t status) {
  static auto* const found = function(cudnnGetErrorString, "cudnnGetErrorString");
  return found ? found(status) : "there is no libcudnn.so.9";
}
void cudnnGetLastErrorString(char* message, size_t most) {
  static auto* const found = function(cudnnGetLastErrorString, "cudnnGetLastErrorString");
  if (found) found(message, most);
  else if (most > 0) *message = '\0';
}
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) { LOCUS_HAND_ON(cudnnCreate, (handle)); }
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { LOCUS_HAND_ON(cudnnDestroy, (handle)); }
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  LOCUS_HAND_ON(cudnnSetStream, (handle, stream));
}
cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
  LOCUS_HAND_ON(cudnnBackendCreateDescriptor, (type, descriptor));
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  LOCUS_HAND_ON(cudnnBackendDestroyDescriptor, (descriptor));
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  LOCUS_HAND_ON(cudnnBackendFinalize, (descriptor));
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  LOCUS_HAND_ON(cudnnBackendSetAttribute, (descriptor, name, type, count, values));
}
cudnnStatus_t cudnnBackendGetAttribute(const cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t most, int64_t* count, void* values) {
  LOCUS_HAND_ON(cudnnBackendGetAttribute, (descriptor, name, type, most, count, values));
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  LOCUS_HAND_ON(cudnnBackendExecute, (handle, plan, pack));
}

}  // extern "C"
