// A data set whose write() takes other memory than its fields are.
// because: samples are written to memory of the host, a Span for each field
// expect-error: data_set_without_write_for_its_fields<OnDevice>|no write\(\) of it takes its fields
// expect-error: write_void_write_std_int64_t_i_Span_of_each_field_const|a Span for each field
#include <locus/locus.hpp>

using namespace locus;

struct OnDevice {
  std::int64_t size() const { return 100; }
  data::Fields<float> fields() const { return {{1}}; }
#ifdef LOCUS_MUST_FAIL
  void write(std::int64_t i, const Tensor<float, Cuda>& x) const { x.fill_(static_cast<float>(i)); }
#else
  void write(std::int64_t i, Span<float> x) const { x[0] = static_cast<float>(i); }
#endif
};

void mistake() { (void)data::random_split(OnDevice{}, 0.5); }
