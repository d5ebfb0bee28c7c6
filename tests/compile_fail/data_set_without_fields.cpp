// A data set that does not list its fields.
// because: a loader makes room for a batch before the first sample is written
// expect-error: data_set_without_fields<Parabola>|this is no data set, since it has no fields\(\)
// expect-error: write_data_Fields_fields_const|write data::Fields<float, float> fields\(\) const
#include <locus/locus.hpp>

using namespace locus;

struct Parabola {
  std::int64_t size() const { return 100; }
#ifndef LOCUS_MUST_FAIL
  data::Fields<float, float> fields() const { return {{1}, {1}}; }
#endif
  void write(std::int64_t i, Span<float> x, Span<float> y) const { y[0] = x[0] = static_cast<float>(i); }
};

void mistake() { auto batches = data::loader<Cpu>(Parabola{}); }
