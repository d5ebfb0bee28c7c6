// A layer of your own that computes with a tensor of another device, where a model is trained.
// because: training traces the batches, validation does not; an error of both is reported once
// expect-error: left_is_on<locus::Cpu>.*right_is_on<locus::Cuda>|left operand is on Cpu, right operand is on Cuda
// expect-error: move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>\(\) or \.to<Cuda>\(\)
// lines: 13
#include <locus/locus.hpp>

using namespace locus;

template <Device D>
struct Shifted : nn::Layer<Shifted<D>, float, D> {
  nn::Linear<float, D> inner{4, 4};
  Tensor<float, Cuda> shift = ones<float, Cuda>({4});

  auto forward(const auto& x) const {
#ifdef LOCUS_MUST_FAIL
    return inner(x) + shift;
#else
    return inner(x) + shift.to<D>();
#endif
  }
  void members(const auto& visit) const { visit("inner", inner); }
};

void mistake(const Shifted<Cpu>& model, optim::Adam<float, Cpu>& optimizer,
             data::Loader<data::LabelledImages, Cpu>& batches) {
  History history;
  fit(model, optimizer, batches, batches, history);
}
