// Runs on: host, cuda (tensors).
// Values of devices, compared with /proc and with the text of versions().

#include <locus/cpu/device_info.hpp>
#include <locus/cuda/versions.hpp>

#include <doctest/doctest.h>

#include <unistd.h>
#include <cmath>
#include <fstream>
#include <sstream>

#include <support/skip.hpp>

using namespace locus;

namespace {
/// The text behind "NAME : " in the first such line of /proc/cpuinfo; empty if there is none.
[[nodiscard]] std::string in_cpuinfo(const std::string& name) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(name, 0) == 0) return line.substr(line.find(": ") + 2);
  return "";
}
[[nodiscard]] bool has_word(const std::string& text, const std::string& word) {
  return (" " + text + " ").find(" " + word + " ") != std::string::npos;
}
}  // namespace

TEST_CASE("versions are ordered by their numbers") {
  CHECK(to_string(Version{13, 0, 2}) == "13.0.2");
  CHECK(Version{9, 10, 0} > Version{9, 2, 1});
  CHECK(Version{8, 9} >= Version{8});
  CHECK(Version{} == Version{0, 0, 0});
}

TEST_CASE("the driver's version is the first number of its file") {
  const auto open =
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\nGCC version: 12.2.0\n";
  CHECK(detail::driver_in(open) == "580.65.06");
  CHECK(detail::driver_in("NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.1\n") == "470.1");
  CHECK(detail::driver_in("GCC version: \n").empty());
  CHECK(detail::driver_in("").empty());
}

TEST_CASE("the values of Cpu are the host's, and the instructions in use decide whether bfloat16 is fast") {
  const DeviceInfo info = device_info(Cpu{});
  CHECK(info.name == in_cpuinfo("model name"));
  CHECK(info.architecture == to_string(cpu::isa()));
  CHECK(info.processors >= 1);
  CHECK(info.processors <= sysconf(_SC_NPROCESSORS_CONF));
  CHECK(info.memory.free > 0);
  CHECK(info.memory.free <= info.memory.total);
  CHECK((info.compute_capability == Version{} && info.driver.empty() && info.runtime == Version{} && !info.has_tf32));
  CHECK((std::isnan(info.temperature) && std::isnan(info.power)));

  const cpu::Isa before = cpu::isa();
  const std::string flags = in_cpuinfo("flags");
  cpu::set_isa(cpu::best_isa());
  CHECK(device_info(Cpu{}).has_fast_bfloat16 == (has_word(flags, "avx512_bf16") && has_word(flags, "avx512bw")));
  cpu::set_isa(cpu::lowest_isa);
  CHECK_FALSE(device_info(Cpu{}).has_fast_bfloat16);
  cpu::set_isa(before);
}

TEST_CASE("the values of a GPU agree with the text of versions()") {
  if (!cuda::is_available()) SKIP_TEST("no GPU answers here");
  const int last = cuda::device_count() - 1;
  const std::string text = cuda::versions(last);
  const DeviceInfo info = device_info(Cuda{last});
  CHECK_FALSE(info.name.empty());
  CHECK(info.architecture == join("sm_", info.compute_capability.major, info.compute_capability.minor));
  CHECK(info.compute_capability >= Version{7, 0});
  CHECK(info.has_fast_bfloat16 == (info.compute_capability.major >= 8));
  CHECK(info.has_tf32 == info.has_fast_bfloat16);
  CHECK(info.processors > 0);
  CHECK(info.memory.free <= info.memory.total);
  CHECK(info.memory.total > std::int64_t{1} << 30);
  CHECK(info.driver_cuda.major >= 12);
  CHECK(info.runtime.major >= 12);
  CHECK(info.cublaslt.major >= 12);
  CHECK((info.cudnn == Version{}) == (cuda::cudnn_version() == 0));
  CHECK(text.find(join("cuda:", last, ": ", info.name, ", ", info.architecture, "; driver ")) == 0);
  CHECK(text.find(join(info.driver.empty() ? "of unknown version" : info.driver, ", for CUDA ", info.driver_cuda.major,
                       ".", info.driver_cuda.minor, "\nCUDA runtime ", info.runtime.major, ".", info.runtime.minor,
                       "; cuBLASLt ", info.cublaslt)) != std::string::npos);
  CHECK((text.find("cuDNN") == std::string::npos) == (info.cudnn == Version{}));
  CHECK_THROWS_AS((void)device_info(Cuda{last + 1}), CudaUnavailable);
  CHECK(cuda::versions(last + 1).find(join("cuda:", last + 1, ": none; driver ")) == 0);
}
