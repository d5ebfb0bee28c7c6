// A span becomes a shape only where it is asked to: the constructor is explicit.
// expect-error(gcc): conversion from .*span.* to non-scalar type
// expect-error(clang): no viable conversion from .*span.* to .*(Shape|Dims)
// expect-error(nvcc): no suitable user-defined conversion from .*span.* to .*Shape
// lines: 14
#include <cstdint>
#include <locus/core/shape.hpp>
#include <span>

std::int64_t size_of(std::span<const std::int64_t> extents) {
#ifdef LOCUS_MUST_FAIL
  const locus::Shape shape = extents;
#else
  const locus::Shape shape{extents};
#endif
  return locus::elements(shape);
}
