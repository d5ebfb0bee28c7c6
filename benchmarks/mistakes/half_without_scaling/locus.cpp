// Sixteen bits are trained without loss scaling.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  nn::Linear<half, Cpu> model{1, 1, false};
  const auto before = static_cast<float>(model.parameters()[0].value().item());
  optim::Sgd optimizer{model.parameters(), {.lr = 1e8}};
  optim::GradScaler<Cpu> scaler;
  const auto loss = sum(model(trace(ones<half>({1, 1}))).as<float>() * 1e-9f);
#ifdef MISTAKE
  loss.backward();
  optimizer.step();
#else
  scaler.scale(loss).backward();
  scaler.step(optimizer);
#endif
  passed();
  return verdict(static_cast<float>(model.parameters()[0].value().item()) != before);
}
