// Calling a layer of your own that is a class without `public:`.
// because: members that a class does not make public cannot be called
// expect-error: members_are_private_or_not_const|its members\(visit\) is private or not const
// expect-error: write_public_void_members_const_auto_visit_const|write public: void members\(const auto& visit\) const
#include <locus/locus.hpp>

using namespace locus;

class Halved : public nn::Layer<Halved, float, Cpu> {
  nn::Linear<float, Cpu> inner{4, 4};

#ifndef LOCUS_MUST_FAIL
 public:
#endif
  auto forward(const auto& x) const { return inner(x) * 0.5f; }
  void members(const auto& visit) const { visit("inner", inner); }
};

auto mistake(const Halved& layer, const Tensor<float>& x) { return layer(x); }
