// expect-error(gcc): tensor_is_still_being_copied.*say_std_move_x_ordered_or_wait
// expect-error(clang): still being copied.*std::move\(x\)\.ordered\(\)
// expect-error(nvcc): tensor_is_still_being_copied
#include LESSON

#include <cstdio>
#include <string_view>

static_assert(std::is_same_v<decltype(&brightened), Tensor<float, Cuda> (*)(Pending<Tensor<float, Cuda>>)>,
              "brightened() takes what is being copied to Cuda and returns a tensor there");

int main() try {
  if (cuda::is_available()) {
    Tensor<float, Pinned> batch({2});
    batch(0) = 3;
    batch(1) = 4;
    const auto doubled = brightened(copy_async(batch)).to<Cpu>();
    if (doubled(0) != 6 || doubled(1) != 8) {
      std::printf("pixels of 3 and 4 became %g and %g\n", doubled(0), doubled(1));
      return 1;
    }
  }
  (void)brightened({});  // an empty Pending: ordered() throws
  std::puts("the batch was not asked for");
  return 1;
} catch (const ArgumentError& error) {
  if (std::string_view(error.what()).starts_with("ordered()")) return 0;
  std::puts("here the host waits for the batch; say ordered(), and only the GPU does");
  return 1;
} catch (const Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
