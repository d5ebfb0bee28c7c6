// Training a regression on targets that are class labels.
// because: there is no implicit promotion; cross-entropy takes labels, a regression numbers
// expect-error: loss_takes_other_targets_than_the_loader_delivers<.*MSELoss>|the loss takes no targets
// expect-error: convert_them_with_data_map_or_take_another_loss|convert them with data::map
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Linear<float, Cpu>& model, optim::Sgd<float, Cpu>& optimizer,
             const data::TensorDataset<float, std::int64_t>& table, History& history) {
#ifdef LOCUS_MUST_FAIL
  auto train = data::loader<Cpu>(table);
#else
  auto train = data::loader<Cpu>(data::map(table, [](auto x, auto y) { return Tuple(x, y.template as<float>()); }));
#endif
  fit(model, optimizer, nn::MSELoss{}, train, train, history);
}
