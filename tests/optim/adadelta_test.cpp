// Runs on: host, cuda (optimizers).
#include <locus/optim/adadelta.hpp>
#include <locus/training/optimizer_state.hpp>

#include <optim/recorded.hpp>

using namespace locus;
using namespace locus_test;

LOCUS_DEVICE_TEST("Adadelta follows PyTorch's", D) {
  using optim::Adadelta, optim::AdadeltaOptions;
  const AdadeltaOptions decayed{.lr = 0.5, .rho = 0.8, .eps = 1e-3, .weight_decay = 0.1};
  check_rule<double, D, Adadelta>("adadelta", AdadeltaOptions{});
  check_rule<double, D, Adadelta>("adadelta_decay", decayed);
  check_rule<float, D, Adadelta>("adadelta_decay", decayed);
  check_rule<double, D, Adadelta>("maximize_adadelta", AdadeltaOptions{.weight_decay = 0.4, .maximize = true});
}

TEST_CASE("Adadelta's state has PyTorch's names, and a value without gradients stays") {
  const Parameter w(ones<double>({2}));
  optim::Adadelta optimizer{std::vector{w}, {.lr = 1, .rho = 0.5, .eps = 0}};
  give(w, tensor<double, Cpu>({2}, {0, 2}));
  optimizer.step();
  CHECK_CLOSE(optim::state_dict(optimizer).get<double>("state.0.square_avg"), {0, 2});
  CHECK(optim::state_dict(optimizer).get<double>("state.0.acc_delta")(0) == 0);
  CHECK(w.value()(0) == 1);
}

TEST_CASE("Adadelta refuses what makes no sense") {
  const std::vector parameters{Parameter(ones({2}))};
  using optim::Adadelta;
  CHECK_THROWS_AS((Adadelta{parameters, {.lr = -1}}), ArgumentError);
  CHECK_THROWS_WITH_AS((Adadelta{parameters, {.rho = 1.5}}), doctest::Contains("rho is 1.5"), ArgumentError);
  CHECK_THROWS_AS((Adadelta{parameters, {.eps = -1}}), ArgumentError);
  CHECK_THROWS_AS((Adadelta{parameters, {.weight_decay = -1}}), ArgumentError);
}
