// A layer in a `std::optional` among the members of a layer.
// because: it would neither be trained nor saved, silently
// expect-error: member_is_no_parameter_and_no_layer|the member is no parameter, buffer or layer
// expect-error: list_what_it_holds|list what it holds, as in visit\(name, \*member\)
#include <locus/locus.hpp>

#include <optional>

using namespace locus;

struct Maybe : nn::Layer<Maybe, float, Cpu> {
  std::optional<nn::Linear<float, Cpu>> projection;
  auto forward(const auto& x) const { return x * 2.f; }
#ifdef LOCUS_MUST_FAIL
  void members(const auto& visit) const { visit("projection", projection); }
#else
  void members(const auto& visit) const {
    if (projection) visit("projection", *projection);
  }
#endif
};

auto mistake(const Maybe& layer) { return layer.parameters(); }
