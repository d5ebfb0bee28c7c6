#pragma once
// DLPack's name of Counting: a device of the program's own.

#include <locus/interop/dlpack_structs.hpp>

#include <support/counting.hpp>

template <>
struct locus::dlpack::Place<locus_test::Counting> {
  [[nodiscard]] static DLDevice of(locus_test::Counting device) { return {kDLExtDev, device.ordinal}; }
  [[nodiscard]] static bool holds(DLDevice device) { return device.device_type == kDLExtDev; }
  [[nodiscard]] static locus_test::Counting at(DLDevice device) { return {device.device_id}; }
};
