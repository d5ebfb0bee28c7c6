// Runs on: host.
// Steps of optimizers with random options against PyTorch: golden/optimizer_runs.txt, which make_optimizer_runs.py
// writes and explains.
//
// LOCUS_FUZZ_OPTIMIZERS names another such file: make_optimizer_runs.py --seed 2 --each 10000 --out FILE goes on.

#include <locus/optim/adadelta.hpp>
#include <locus/optim/adagrad.hpp>
#include <locus/optim/adam.hpp>
#include <locus/optim/adamax.hpp>
#include <locus/optim/asgd.hpp>
#include <locus/optim/lion.hpp>
#include <locus/optim/nadam.hpp>
#include <locus/optim/radam.hpp>
#include <locus/optim/rmsprop.hpp>
#include <locus/optim/rprop.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/tensor/from.hpp>

#include <doctest/doctest.h>

#include <golden/golden.hpp>
#include <support/parameters.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {
using namespace locus;

using Numbers = std::vector<double>;
using Run = std::function<Numbers(const Numbers& options, const Numbers& start, const Numbers& gradients)>;

Tensor<double> tensor_of(const double* first, std::size_t size) {
  return from(Span<const double>(first, size), {static_cast<std::int64_t>(size)});
}

/// A rule whose options make_options makes from numbers.
template <template <class, class> class Rule, class MakeOptions>
Run steps_of(MakeOptions make_options) {
  return [make_options](const Numbers& options, const Numbers& start, const Numbers& gradients) {
    const Parameter parameter(tensor_of(start.data(), start.size()));
    Rule optimizer{std::vector{parameter}, make_options(options)};
    for (std::size_t at = 0; at < gradients.size(); at += start.size()) {
      optimizer.zero_grad();
      locus_test::give(parameter, tensor_of(gradients.data() + at, start.size()));
      optimizer.step();
    }
    const Tensor<double>& end = parameter.value();
    return Numbers(end.data(), end.data() + end.elements());
  };
}

/// Rules by their names in make_optimizer_runs.py, with the options in its order.
const std::map<std::string, Run>& rules() {
  using O = const Numbers&;
  static const std::map<std::string, Run> table{
      {"sgd", steps_of<optim::Sgd>([](O o) {
         return optim::SgdOptions{.lr = o[0],
                                  .momentum = o[1],
                                  .dampening = o[2],
                                  .weight_decay = o[3],
                                  .nesterov = o[4] != 0,
                                  .maximize = o[5] != 0};
       })},
      {"adam", steps_of<optim::Adam>([](O o) {
         return optim::AdamOptions{.lr = o[0],
                                   .beta1 = o[1],
                                   .beta2 = o[2],
                                   .eps = o[3],
                                   .weight_decay = o[4],
                                   .amsgrad = o[5] != 0,
                                   .maximize = o[6] != 0};
       })},
      {"adamw", steps_of<optim::AdamW>([](O o) {
         return optim::AdamWOptions{.lr = o[0],
                                    .beta1 = o[1],
                                    .beta2 = o[2],
                                    .eps = o[3],
                                    .weight_decay = o[4],
                                    .amsgrad = o[5] != 0,
                                    .maximize = o[6] != 0};
       })},
      {"rmsprop", steps_of<optim::RMSprop>([](O o) {
         return optim::RMSpropOptions{.lr = o[0],
                                      .alpha = o[1],
                                      .eps = o[2],
                                      .weight_decay = o[3],
                                      .momentum = o[4],
                                      .centered = o[5] != 0,
                                      .maximize = o[6] != 0};
       })},
      {"adagrad", steps_of<optim::Adagrad>([](O o) {
         return optim::AdagradOptions{.lr = o[0],
                                      .lr_decay = o[1],
                                      .weight_decay = o[2],
                                      .initial_accumulator_value = o[3],
                                      .eps = o[4],
                                      .maximize = o[5] != 0};
       })},
      {"adadelta", steps_of<optim::Adadelta>([](O o) {
         return optim::AdadeltaOptions{
             .lr = o[0], .rho = o[1], .eps = o[2], .weight_decay = o[3], .maximize = o[4] != 0};
       })},
      {"adamax", steps_of<optim::Adamax>([](O o) {
         return optim::AdamaxOptions{
             .lr = o[0], .beta1 = o[1], .beta2 = o[2], .eps = o[3], .weight_decay = o[4], .maximize = o[5] != 0};
       })},
      {"nadam", steps_of<optim::NAdam>([](O o) {
         return optim::NAdamOptions{.lr = o[0],
                                    .beta1 = o[1],
                                    .beta2 = o[2],
                                    .eps = o[3],
                                    .weight_decay = o[4],
                                    .momentum_decay = o[5],
                                    .decoupled_weight_decay = o[6] != 0,
                                    .maximize = o[7] != 0};
       })},
      {"radam", steps_of<optim::RAdam>([](O o) {
         return optim::RAdamOptions{.lr = o[0],
                                    .beta1 = o[1],
                                    .beta2 = o[2],
                                    .eps = o[3],
                                    .weight_decay = o[4],
                                    .decoupled_weight_decay = o[5] != 0,
                                    .maximize = o[6] != 0};
       })},
      {"asgd", steps_of<optim::ASGD>([](O o) {
         return optim::ASGDOptions{
             .lr = o[0], .lambd = o[1], .alpha = o[2], .t0 = o[3], .weight_decay = o[4], .maximize = o[5] != 0};
       })},
      {"rprop", steps_of<optim::Rprop>([](O o) {
         return optim::RpropOptions{.lr = o[0],
                                    .etaminus = o[1],
                                    .etaplus = o[2],
                                    .step_size_min = o[3],
                                    .step_size_max = o[4],
                                    .maximize = o[5] != 0};
       })},
      {"lion", steps_of<optim::Lion>([](O o) {
         return optim::LionOptions{
             .lr = o[0], .beta1 = o[1], .beta2 = o[2], .weight_decay = o[3], .maximize = o[4] != 0};
       })},
  };
  return table;
}

Numbers numbers_of(const std::string& text) {
  Numbers numbers;
  std::istringstream words(text);
  for (double number; words >> number;) numbers.push_back(number);
  return numbers;
}

TEST_CASE("optimizers with random options step as PyTorch's") {
  const char* const other = std::getenv("LOCUS_FUZZ_OPTIMIZERS");
  std::ifstream file(other && *other ? other : golden::folder() + "optimizer_runs.txt");
  std::map<std::string, int> runs;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream parts(line);
    std::string rule, options, start, gradients, end;
    std::getline(parts, rule, ',');
    for (std::string* part : {&options, &start, &gradients, &end}) std::getline(parts, *part, ':');
    rule.erase(rule.find_last_not_of(' ') + 1);
    CAPTURE(line);
    REQUIRE(rules().contains(rule));
    const Numbers found = rules().at(rule)(numbers_of(options), numbers_of(start), numbers_of(gradients));
    const Numbers expected = numbers_of(end);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(std::abs(found[i] - expected[i]) <= 1e-9);
    ++runs[rule];
  }
  for (const auto& rule : rules()) CHECK(runs[rule.first] >= 8);
}

}  // namespace
