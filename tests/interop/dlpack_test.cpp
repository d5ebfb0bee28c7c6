// Runs on: host, cuda (tensors).
#include <locus/interop/dlpack.hpp>
#include <locus/locus.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>
#include <support/thrown.hpp>

#include <cstring>
#include <vector>

using namespace locus;
using namespace locus_test;

template <>
struct locus::dlpack::Place<Counting> {
  [[nodiscard]] static DLDevice of(Counting device) { return {kDLExtDev, device.ordinal}; }
  [[nodiscard]] static bool holds(DLDevice device) { return device.device_type == kDLExtDev; }
  [[nodiscard]] static Counting at(DLDevice device) { return {device.device_id}; }
};

TEST_CASE("first") {
  auto m = to_dlpack(arange<float>(6).reshape({2, 3}));
  const auto x = from_dlpack<float>(std::move(m));
  CHECK_CLOSE(x, Reference({2, 3}, {0, 1, 2, 3, 4, 5}));
  const double total = with_dlpack(
      to_dlpack(x), []<FloatingDType T>(const Tensor<T, Cpu>& y) { return sum(y.template as<double>()).item(); });
  CHECK(total == 15);
}
