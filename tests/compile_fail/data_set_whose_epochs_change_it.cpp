// A data set whose at_epoch() changes it in place.
// because: an epoch may still be loaded when the next one begins, so each has a data set of its own
// expect-error: data_set_with_another_at_epoch<Shifted>|at_epoch\(\) of it is not const
// expect-error: write_at_epoch_of_uint64_const_that_returns_the_data_set|at_epoch\(std::uint64_t\) const
#include <locus/locus.hpp>

using namespace locus;

struct Shifted {
  std::uint64_t epoch = 0;
  std::int64_t size() const { return 100; }
  data::Fields<float> fields() const { return {{1}}; }
  void write(std::int64_t i, Span<float> x) const { x[0] = static_cast<float>(i) + static_cast<float>(epoch); }
#ifdef LOCUS_MUST_FAIL
  void at_epoch(std::uint64_t number) { epoch = number; }
#else
  Shifted at_epoch(std::uint64_t number) const { return {number}; }
#endif
};

void mistake() { auto batches = data::loader<Cpu>(Shifted{}); }
