// Runs on: host.
#include <locus/cuda/pinned.hpp>
#include <locus/select.hpp>
#include <locus/tensor/copy.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace locus;
using Kind = AnyDevice::Kind;

namespace {
template <std::size_t n>
AnyDevice from(const char* const (&arguments)[n]) {
  return device_from(static_cast<int>(n), arguments);
}
}  // namespace

TEST_CASE("devices by name") {
  CHECK(parse_device("cpu") == AnyDevice{});
  CHECK(parse_device("cuda") == AnyDevice{Kind::cuda, 0});
  CHECK(parse_device("cuda:0") == AnyDevice{Kind::cuda, 0});
  CHECK(parse_device("cuda:12") == AnyDevice{Kind::cuda, 12});
  CHECK(parse_device("auto") == best_available());
  CHECK(to_string(parse_device("cuda:3")) == "cuda:3");
  CHECK(to_string(parse_device("cpu")) == "cpu");
}

TEST_CASE("what is not the name of a device is refused, and the names are listed") {
  for (const char* text :
       {"", "gpu", "CPU", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:99999", "cpu:0", " cpu", "cuda 0"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS((void)parse_device(text), doctest::Contains("expected cpu, cuda, cuda:N or auto"),
                         ArgumentError);
  }
  CHECK_THROWS_WITH_AS((void)parse_device("tpu"), doctest::Contains("'tpu'"), ArgumentError);
}

TEST_CASE("devices from a program's arguments") {
  CHECK(from({"program", "--device", "cpu"}) == AnyDevice{});
  CHECK(from({"program", "--epochs", "3", "--device=cuda:1", "--seed", "1"}) == AnyDevice{Kind::cuda, 1});
  CHECK(from({"program"}) == best_available());
  CHECK(from({"program", "--devices", "cuda"}) == best_available());  // another option
  CHECK_THROWS_AS((void)from({"program", "--device"}), ArgumentError);
  CHECK_THROWS_AS((void)from({"program", "--device="}), ArgumentError);
  CHECK_THROWS_AS((void)from({"program", "--device", "--epochs"}), ArgumentError);
}

TEST_CASE("a device chosen at run time becomes a type") {
  const auto name = with_device(parse_device("cpu"), []<Device D>(D device) {
    Tensor<float, D> x({2}, device);
    return to_string(x.device());
  });
  CHECK(name == "cpu");
}

TEST_CASE("a GPU that is not there is refused, with the reason") {
  if (cuda::is_available()) {
    const auto one_too_many = AnyDevice{Kind::cuda, cuda::device_count()};
    CHECK_THROWS_AS(with_device(one_too_many, [](auto) {}), CudaUnavailable);
    return;
  }
  CHECK(best_available() == AnyDevice{});
  CHECK(cuda::device_count() == 0);
  CHECK_FALSE(cuda::unavailable_reason().empty());
  bool called = false;
  CHECK_THROWS_WITH_AS(with_device(parse_device("cuda"), [&](auto) { called = true; }),
                       doctest::Contains(cuda::unavailable_reason().c_str()), CudaUnavailable);
  CHECK_FALSE(called);
  CHECK_THROWS_AS((Tensor<float, Cuda>({2})), CudaUnavailable);
  CHECK_THROWS_AS((void)Tensor<float>({2}).to<Cuda>(), CudaUnavailable);
  CHECK_THROWS_AS((Tensor<float, Pinned>({2})), CudaUnavailable);
}
