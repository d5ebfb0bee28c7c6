// PyTorch's `x.view(2, 3)`.
// because: it is called reshape, and a shape is one argument
// expect-error: a_view_of_another_shape_is_called_reshape.*say_x_reshape_2_3|say x\.reshape\(\{2, 3\}\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Traced<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.view(2, 3);
#else
  return x.reshape({2, 3});
#endif
}
