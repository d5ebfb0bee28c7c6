#pragma once
// Training of models of which each rank has a part, beside one process. Independent of the test framework: errors are
// thrown.

#include <locus/distributed/sharded/sharded.hpp>
#include <locus/models/gpt2.hpp>
#include <locus/optim/adam.hpp>
#include <locus/optim/clip.hpp>
#include <locus/optim/sgd.hpp>

#include <support/collectives.hpp>

#include <map>
#include <string>
#include <vector>

namespace locus_test {

inline constexpr models::GPT2Options small_gpt2{.vocab_size = 29,
                                                .n_positions = 16,
                                                .n_embd = 16,
                                                .n_layer = 5,
                                                .n_head = 4,
                                                .embd_pdrop = 0,
                                                .attn_pdrop = 0,
                                                .resid_pdrop = 0,
                                                .initializer_range = 0.3};

template <class D>
[[nodiscard]] models::GPT2<float, D> seeded_gpt2(int seed, D device) {
  Generator<Cpu> numbers{static_cast<std::uint64_t>(seed)};
  auto model = models::gpt2<float, D>(small_gpt2, device);
  for (const auto& p : model.parameters())
    p.value().copy_((randn<float>(p.shape(), numbers) * 0.3f).eval().template to<D>(device));
  return model;
}
/// Tokens of 8 texts and their next ones, the same on all ranks.
template <class D>
struct SmallTexts {
  Tensor<std::int64_t, D> tokens, next;
  explicit SmallTexts(D device) {
    Generator<Cpu> numbers{5};
    const auto text = randint(0, small_gpt2.vocab_size, {8, 11}, numbers);
    tokens = text.slice(1, 0, 10).contiguous().template to<D>(device);
    next = text.slice(1, 1, 11).contiguous().template to<D>(device);
  }
};
struct Trained {
  std::map<std::string, std::vector<float>> weights;
  std::vector<float> norms;
};
template <class T, class D>
[[nodiscard]] std::vector<float> numbers_of(const Tensor<T, D>& x) {
  const auto host = x.contiguous().template to<Cpu>();
  return {host.data(), host.data() + host.elements()};
}

struct ShardedPlan {
  int steps = 3;
  int passes = 1;          ///< accumulated for a step
  bool no_sync = false;    ///< all but the last within no_sync()
  bool recompute = false;  ///< forward passes of blocks within a checkpoint
};
/// The forward pass of a GPT-2 whose blocks are computed again.
template <class D, class X, class Y>
[[nodiscard]] auto loss_of(const models::GPT2<float, D>& model, const X& tokens, const Y& next, bool recompute) {
  if (!recompute) return model.loss(tokens, next).eval();
  const auto& net = model.transformer;
  auto x = (net.wte(tokens) + slice(seen_by(tokens, net.wpe.weight), 0, 0, tokens.size(1))).eval();
  for (const auto& block : net.h) x = checkpoint(block, x);
  return linear_cross_entropy(net.ln_f(x), net.wte.weight, next).eval();
}

template <class D>
[[nodiscard]] Trained trained_alone(const ShardedPlan& plan, D device) {
  const auto model = seeded_gpt2<D>(3, device);
  const SmallTexts<D> texts(device);
  optim::Sgd sgd{model.parameters(), {.lr = 0.1, .momentum = 0.9}};
  Trained result;
  for (int i = 0; i < plan.steps; ++i) {
    sgd.zero_grad();
    const auto loss = model.loss(trace(texts.tokens), texts.next);
    loss.backward();
    result.norms.push_back(optim::clip_grad_norm_(model.parameters(), 1).item());
    sgd.step();
  }
  for (const auto& [name, p] : model.named_parameters()) result.weights[name] = numbers_of(p.value());
  return result;
}

/// Each rank takes its part of the texts. Rank 0 has the seed of trained_alone.
template <class D>
[[nodiscard]] Trained trained_sharded(const dist::Communicator<D>& comm, const ShardedPlan& plan,
                                      const dist::ShardedOptions& options) {
  const auto model = dist::sharded(seeded_gpt2<D>(3 + comm.rank(), comm.device()), comm, options);
  const SmallTexts<D> texts(comm.device());
  const std::int64_t rows = 8 / comm.size() / plan.passes;
  optim::Sgd sgd{model.parameters(), {.lr = 0.1, .momentum = 0.9}};
  Trained result;
  for (int i = 0; i < plan.steps; ++i) {
    sgd.zero_grad();
    for (int pass = 0; pass < plan.passes; ++pass) {
      const std::int64_t first = (comm.rank() * plan.passes + pass) * rows;
      const auto of = [&](const auto& x) { return x.slice(0, first, first + rows); };
      const auto step = [&] {
        const auto loss = model.call(
            [&](const auto& net) { return loss_of(net, trace(of(texts.tokens)), of(texts.next), plan.recompute); });
        (loss / static_cast<float>(plan.passes)).eval().backward();
      };
      if (plan.no_sync && pass + 1 < plan.passes) {
        const auto guard = model.no_sync();
        step();
      } else {
        step();
      }
    }
    result.norms.push_back(optim::clip_grad_norm_(model.parameters(), 1).item());
    sgd.step();
  }
  model.for_each_whole([&](const std::string& name, const auto& value) { result.weights[name] = numbers_of(value); });
  return result;
}

inline void require_alike(const Trained& found, const Trained& wanted, double tolerance) {
  if (found.weights.size() != wanted.weights.size())
    wrong(join(found.weights.size(), " parameters in place of ", wanted.weights.size()));
  const auto compare = [&](const std::string& what, const std::vector<float>& a, const std::vector<float>& b,
                           double most) {
    if (a.size() != b.size()) wrong(join(what, ": ", a.size(), " numbers in place of ", b.size()));
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!(std::fabs(double{a[i]} - double{b[i]}) <= most))
        wrong(join(what, " [", i, "] is ", a[i], ", expected ", b[i]));
  };
  compare("norm", found.norms, wanted.norms, 100 * tolerance);
  for (const auto& [name, values] : wanted.weights) compare(name, found.weights.at(name), values, tolerance);
}

/// Ranks with parts of a GPT-2 train as one process, in every way of the options.
template <class D>
void check_sharded(const dist::Communicator<D>& comm) {
  const Trained alone = trained_alone<D>({}, comm.device());
  const dist::ShardedOptions many{.least_unit_bytes = 0};
  const auto like_alone = [&](const ShardedPlan& plan, const dist::ShardedOptions& options) {
    require_alike(trained_sharded(comm, plan, options), alone, 2e-6);
  };
  const auto first = trained_sharded(comm, {}, many);
  require_alike(first, alone, 2e-6);
  require_alike(trained_sharded(comm, {}, many), first, 0);  // bit-equal over runs
  require_alike(trained_sharded(comm, {}, {.gather_again = false, .least_unit_bytes = 0}), first, 0);
  require_alike(trained_sharded(comm, {}, {.ahead = 0, .least_unit_bytes = 0}), first, 0);
  require_alike(trained_sharded(comm, {}, {.ahead = 3, .least_unit_bytes = 0}), first, 0);
  like_alone({}, {});  // one unit and the rest
  like_alone({}, {.least_unit_bytes = 0, .unit_of = [](std::string_view) { return std::string(); }});
  require_alike(trained_sharded(comm, {.recompute = true}, many), first, 0);
  if (comm.size() <= 4) {
    like_alone({.passes = 2}, many);
    like_alone({.passes = 2, .no_sync = true}, many);
  }
  if (comm.size() % 2 == 0) like_alone({}, {.ranks_of_copy = 2, .least_unit_bytes = 0});
}

}  // namespace locus_test
