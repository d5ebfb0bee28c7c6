#pragma once
// The common base of dist's wrappers of a model.

#include <locus/nn/module.hpp>

namespace locus { inline namespace LOCUS_ABI {
namespace dist::detail {

LOCUS_REFUSALS_BEGIN
/// A layer that wraps a model, and has its names, parameters and buffers. to() and as() return the model without the
/// wrapper.
template <class Derived, class M>
class ModelWrapper : public nn::Layer<Derived, value_of<M>, device_of<M>>, public nn::detail::InputTypeOf<M> {
  using T = value_of<M>;
  using D = device_of<M>;

 public:
  using model_type = M;

  /// The wrapped model.
  [[nodiscard]] const M& module() const { return model_; }

  /// The model on E, without the wrapper.
  template <Device E, class... Own>
    requires nn::detail::NamesHeldLayers<T, D, T, E, Own...>
  [[nodiscard]] auto to(E device = {}) const&& {
    return M(model_).template to<E, Own...>(device);
  }
  /// The model in another element type, without the wrapper.
  template <FloatingDType U, class... Own>
    requires nn::detail::NamesHeldLayers<T, D, U, D, Own...>
  [[nodiscard]] auto as() const {
    return model_.template as<U, Own...>();
  }
#include <locus/refuse/distributed/model_wrapper_class.inc>

  void walk_members(nn::detail::Depth depth, const std::string& prefix, nn::detail::MemberWalk<T, D>& walk) const {
    if (depth == nn::detail::Depth::all) nn::detail::walk_members<nn::detail::Depth::all, T, D>(model_, prefix, walk);
    else nn::detail::walk_members<nn::detail::Depth::children, T, D>(model_, prefix, walk);
  }
  /// Refuses to copy a model of which this wrapper is a part.
  [[nodiscard]] Derived copied(nn::detail::ModelCopy<T, D, T, D>&) const {
    fail<ArgumentError>(
        {"copying a model: a part of it is distributed or a DataParallel; copy what it was before, its module()"});
  }

 protected:
  explicit ModelWrapper(M model) : model_(std::move(model)) {}

 private:
  M model_;
};
LOCUS_REFUSALS_END

}  // namespace dist::detail

namespace nn::detail {
/// A call of the wrapper is checked as a call of the model.
template <class W, class... X>
  requires std::is_base_of_v<dist::detail::ModelWrapper<W, typename W::model_type>, W>
struct CallMistake<W, X...> : CallMistake<typename W::model_type, X...> {};
}  // namespace nn::detail
}}  // namespace locus::LOCUS_ABI
