// Runs on: host.
// Checkpoints of ranks: saved by some ranks, loaded by others; failures in between; damaged files.

#include <locus/distributed/checkpoint.hpp>
#include <locus/distributed/distributed.hpp>
#include <locus/distributed/spread.hpp>

#include <locus/expr/operators.hpp>
#include <locus/nn/activation.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/optim/adam.hpp>
#include <locus/optim/grad_scaler.hpp>
#include <locus/optim/schedule.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/random.hpp>

#include <doctest/doctest.h>

#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>

#include <algorithm>
#include <filesystem>

using namespace locus;
using namespace locus_test;

namespace {
using Comm = dist::Communicator<Cpu>;
namespace fs = std::filesystem;

/// How a test divides a tensor of shape (6, 8, 2) over ranks.
enum class Division { ranges, rows, columns, whole };
constexpr Division divisions[] = {Division::ranges, Division::rows, Division::columns, Division::whole};
const Shape shape{6, 8, 2};

/// The boundary before part i of n, uneven, with parts of nothing where n is large.
std::int64_t bound(std::int64_t total, int i, int n) { return i == n ? total : total * i * i / (n * n); }

template <class T>
Tensor<T, Cpu> values_of() {
  return (arange<std::int64_t>(0, 96).reshape(shape) % 251).template as<T>();
}
/// This rank's part of x, and its place.
template <class T>
std::pair<dist::Place, Tensor<T, Cpu>> part_of(const Tensor<T, Cpu>& x, Division division, int rank, int ranks) {
  if (division == Division::whole) return {{}, x.clone()};
  if (division == Division::ranges) {
    const std::int64_t first = bound(96, rank, ranks);
    return {dist::ElementRange{first}, x.reshape({96}).slice(0, first, bound(96, rank + 1, ranks)).clone()};
  }
  const int dim = division == Division::rows ? 0 : 1;
  const std::int64_t first = bound(shape[dim], rank, ranks);
  return {dist::Block{dim, first}, x.slice(dim, first, bound(shape[dim], rank + 1, ranks)).clone()};
}
template <class T>
bool are_same(const Tensor<T, Cpu>& a, const Tensor<T, Cpu>& b) {
  const Tensor<T, Cpu> x = a.contiguous(), y = b.contiguous();
  return x.shape() == y.shape() &&
         std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.elements()) * sizeof(T)) == 0;
}

/// Calls f(comm) on threads; returns the exception of each rank as text, "Type: message".
template <class F>
std::vector<std::string> errors_of(int ranks, const F& f) {
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  dist::spawn<Cpu>(ranks, [&](const Comm& comm) {
    std::string& mine = errors[static_cast<std::size_t>(comm.rank())];
    try {
      f(comm);
    } catch (const RankError& error) {
      mine = join("RankError ", error.rank, ": ", error.what());
    } catch (const ShapeError& error) {
      mine = join("ShapeError: ", error.what());
    } catch (const ArgumentError& error) {
      mine = join("ArgumentError: ", error.what());
    } catch (const DataError& error) {
      mine = join("DataError: ", error.what());
    }
    comm.barrier();  // the communicator is usable
  });
  return errors;
}
/// A checkpoint of "x" in ranges, of `ranks` ranks.
void save_ranges(const std::string& folder, int ranks, std::int64_t step = 0, float offset = 0) {
  const Tensor<float> x = values_of<float>() + offset;
  dist::spawn<Cpu>(ranks, [&](const Comm& comm) {
    const auto [place, mine] = part_of(x, Division::ranges, comm.rank(), comm.size());
    dist::Parts parts;
    parts.add("x", shape, place, mine);
    dist::save_parts(folder, comm, parts, {.step = step});
  });
}
}  // namespace

TEST_CASE("a checkpoint loads on other ranks, divided otherwise") {
  const TemporaryFolder folder;
  const Tensor<float> x = values_of<float>();
  const Tensor<bool> flags = x > 40.f;
  for (const int saving : {1, 3, 4}) {
    for (const Division from : divisions) {
      const std::string path = folder.path / join(saving, "-", static_cast<int>(from));
      dist::spawn<Cpu>(saving, [&](const Comm& comm) {
        const auto [place, mine] = part_of(x, from, comm.rank(), comm.size());
        const auto [place_of_flags, my_flags] = part_of(flags, from, comm.rank(), comm.size());
        dist::Parts parts;
        parts.add("x", shape, place, mine).add("flags", shape, place_of_flags, my_flags);
        parts.add("x16", shape, place, mine.as<bfloat16>().eval());
        dist::save_parts(path, comm, parts, {.step = 7, .metadata = "a \"text\"\n"});
      });
      CHECK(are_same(dist::whole<float>(path, "x"), x));
      CHECK(are_same(dist::whole<bool>(path, "flags"), flags));
      for (const int loading : {1, 2, 8}) {
        for (const Division to : divisions) {
          dist::spawn<Cpu>(loading, [&](const Comm& comm) {
            const auto [place, expected] = part_of(x, to, comm.rank(), comm.size());
            const auto [place_of_flags, flags_expected] = part_of(flags, to, comm.rank(), comm.size());
            const Tensor<float> mine = zeros(expected.shape());
            const Tensor<bfloat16> mine16 = zeros<bfloat16>(expected.shape());
            const Tensor<bool> my_flags = zeros<bool>(expected.shape());
            dist::Parts parts;
            parts.add("x16", shape, place, mine16).add("flags", shape, place_of_flags, my_flags);
            parts.add("x", shape, place, mine);
            const dist::CheckpointInfo info = dist::load_parts(path, comm, parts);
            const bool same = are_same(mine, expected) && are_same(my_flags, flags_expected) &&
                              are_same(mine16, expected.as<bfloat16>().eval());
            if (!same || info.ranks != saving || info.step != 7 || info.metadata != "a \"text\"\n")
              throw std::runtime_error(join("other values: ", saving, " -> ", loading));
          });
        }
      }
    }
  }
}

TEST_CASE("a rank may have several parts of a tensor, of any sizes") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run";
  const Tensor<float> x = values_of<float>().reshape({96}).clone();
  for (const bool loads : {false, true})
    dist::spawn<Cpu>(loads ? 2 : 3, [&](const Comm& comm) {
      std::vector<Tensor<float>> pieces;
      dist::Parts parts;
      for (std::int64_t first = 0, turn = 0; first < 96; first += loads ? 7 : 5, ++turn) {
        if (turn % comm.size() != comm.rank()) continue;
        const std::int64_t size = std::min<std::int64_t>(loads ? 7 : 5, 96 - first);
        const Tensor<float> mine = x.slice(0, first, first + size);
        pieces.push_back(loads ? zeros({size}) : mine.clone());
        parts.add("x", shape, dist::ElementRange{first}, pieces.back());
      }
      if (!loads) return dist::save_parts(path, comm, parts);
      dist::load_parts(path, comm, parts);
      std::int64_t first = 7 * comm.rank();
      for (const Tensor<float>& piece : pieces) {
        if (!are_same(piece, x.slice(0, first, first + piece.elements()))) throw std::runtime_error("another piece");
        first += 7 * comm.size();
      }
    });
  CHECK(are_same(dist::whole<float>(path, "x"), values_of<float>()));
}

TEST_CASE("equal parts of several ranks are written once, and the work is divided") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run";
  dist::spawn<Cpu>(3, [&](const Comm& comm) {
    dist::Parts parts;
    for (const char* name : {"a", "b", "c"}) parts.add(name, values_of<float>());
    parts.add_own("own", full({1}, static_cast<float>(comm.rank())));
    dist::save_parts(path, comm, parts);
  });
  std::uintmax_t bytes = 0;
  for (const int rank : {0, 1, 2}) {
    const auto size = fs::file_size(join(path, "/", dist::detail::file_of_rank(rank)));
    CHECK(size > 96 * 4);  // one of a, b and c each
    CHECK(size < 2 * 96 * 4);
    bytes += size;
  }
  CHECK(bytes < 6 * 96 * 4);
  const auto state = dist::whole_state(path);
  CHECK(state.size() == 3);
  CHECK(are_same(state.get<float>("b"), values_of<float>()));
  CHECK(dist::whole<float>(path, "rank.2.own")(0) == 2);
  io::save(folder.path / "one.safetensors", state);
  CHECK(are_same(io::load(folder.path / "one.safetensors").get<float>("c"), values_of<float>()));
}

namespace {
/// A run that trains a model on the samples of all ranks.
struct Run {
  explicit Run(const Comm& comm) : parallel(dist::distributed(model, comm)) {}
  nn::Sequential<float, Cpu> model{nn::Linear<float, Cpu>{4, 8}, nn::ReLU{}, nn::Linear<float, Cpu>{8, 1}};
  dist::Distributed<nn::Sequential<float, Cpu>> parallel;
  optim::Adam<float, Cpu> adam{model.parameters(), {.lr = 0.01}};
  optim::Scheduler scheduler{adam, optim::StepLR{.step_size = 2}};
  optim::GradScaler<Cpu> scaler{{.init_scale = 1024, .growth_interval = 2}};
  History history;
  std::int64_t epoch = 0;

  void train(int steps) {
    for (int i = 0; i < steps; ++i, ++epoch) {
      const auto x = randn<float>({8, 4});
      adam.zero_grad();
      scaler.scale(mean(square(parallel(trace(x))))).backward();
      scaler.step(adam);
      scaler.update();
      scheduler.step();
      history.add({static_cast<int>(epoch + 1), adam.lr()});
    }
  }
  [[nodiscard]] dist::Parts parts() {
    dist::Parts parts;
    parts.add("model", model).add("optimizer", adam).add("scheduler", scheduler).add("epoch", epoch);
    parts.add("scaler", scaler).add("history", history).add_generators<Cpu>();
    return parts;
  }
};
}  // namespace

TEST_CASE("a training run goes on bit for bit: model, moments, steps, rates, schedulers, generators, numbers") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run";
  std::vector<Tensor<float>> expected(2);
  dist::spawn<Cpu>(2, [&](const Comm& comm) {
    manual_seed(5);
    Run run(comm);
    const dist::Parts parts = run.parts();
    manual_seed(static_cast<std::uint64_t>(100 + comm.rank()));  // other samples on each rank
    run.train(1);
    dist::save_parts(path, comm, parts);
    run.train(3);
    dist::save_parts(path, comm, parts, {.step = 4});  // the list is used again, and the older checkpoint replaced
    run.train(3);
    expected[static_cast<std::size_t>(comm.rank())] = run.model.parameters()[0].value().clone();
  });
  CHECK(folder.entries() == 1);
  CHECK(dist::checkpoint_info(path).step == 4);
  CHECK(dist::whole<std::int64_t>(path, "optimizer.state.model.0.weight.step").item() == 4);
  CHECK(dist::whole<float>(path, "optimizer.state.model.0.weight.exp_avg").shape() == Shape{8, 4});
  dist::spawn<Cpu>(2, [&](const Comm& comm) {
    Run run(comm);
    const auto parts = run.parts();
    dist::load_parts(path, comm, parts);
    if (run.epoch != 4 || run.history.records().size() != 4 || run.scaler.state().options.init_scale != 4096)
      throw std::runtime_error("another epoch, history or scale");
    run.train(3);
    if (!are_same(run.model.parameters()[0].value(), expected[static_cast<std::size_t>(comm.rank())]))
      throw std::runtime_error("other bits");
  });
  const auto other = errors_of(3, [&](const Comm& comm) {
    Run run(comm);
    dist::load_parts(path, comm, run.parts());
  });
  for (const std::string& error : other)
    CHECK(contains(
        error, "'random' is of each rank by itself, and the checkpoint '" + path + "' is of 2 ranks; this run has 3"));
  for (const std::string& error : errors_of(3, [&](const Comm& comm) {
         Run run(comm);
         dist::load_parts(path, comm, run.parts(), {.allow_other_ranks = true});
         if (run.epoch != 4) throw ArgumentError("another epoch");
       }))
    CHECK(error == "");
}

TEST_CASE("rows of each third of a packed parameter are a block of three dimensions, and so are their moments") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run";
  const Tensor<float> whole = values_of<float>().slice(0, 0, 3).clone();  // (3, 8, 2), packed as (24, 2)
  for (const int ranks : {2, 4})
    dist::spawn<Cpu>(ranks, [&](const Comm& comm) {
      const std::int64_t rows = 8 / ranks, first = rows * comm.rank();
      const Tensor<float> mine = whole.slice(1, first, first + rows).reshape({3 * rows, 2});
      Parameter<float, Cpu> packed(ranks == 2 ? mine.clone() : zeros({3 * rows, 2}));
      optim::Adam<float, Cpu> adam{{packed}, {.lr = 0.1}};
      dist::Parts parts;
      parts.add("qkv", {3, 8, 2}, dist::Block{1, first}, packed).add("optimizer", adam);
      if (ranks == 2) return dist::save_parts(path, comm, parts);
      dist::load_parts(path, comm, parts);
      if (!are_same(packed.value(), mine)) throw std::runtime_error("other rows");
    });
  CHECK(are_same(dist::whole<float>(path, "qkv"), whole));
  CHECK(dist::whole<float>(path, "optimizer.state.qkv.exp_avg").shape() == Shape{3, 8, 2});
  dist::Parts parts;
  CHECK_THROWS_AS(parts.add("a", {3, 8, 2}, dist::Block{1, 0}, ones({7})), ShapeError);
  CHECK_THROWS_AS(parts.add("b", {4, 8}, dist::Block{0, 0}, ones({8, 2})), ShapeError);  // transposed
  CHECK_THROWS_AS(parts.add("c", {3, 8, 2}, dist::Block{1, 6}, ones({18})), ShapeError);
}

TEST_CASE("numbers of an optimizer that no optimizer has are refused before anything changes") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run";
  const auto refusal = [&](std::int64_t step, double lr, const Tensor<float>& values) {
    dist::spawn<Cpu>(1, [&](const Comm& comm) {
      dist::Parts parts;
      parts.add("w", ones({2}))
          .add("optimizer.state.w.exp_avg", ones({2}))
          .add("optimizer.state.w.exp_avg_sq", ones({2}));
      parts.add("optimizer.state.w.step", full<std::int64_t>({}, step)).add("optimizer.lr", full<double>({}, lr));
      parts.add("optimizer.param_groups.0.lr", full<double>({}, 0.1));
      parts.add("optimizer.param_groups.0.weight_decay", full<double>({}, 0.0));
      dist::save_parts(path, comm, parts);
    });
    return errors_of(1, [&](const Comm& comm) {
      Parameter<float, Cpu> w(values);
      optim::Adam<float, Cpu> adam{{w}, {.lr = 0.5}};
      dist::Parts parts;
      parts.add("w", {2}, {}, w).add("optimizer", adam);
      try {
        dist::load_parts(path, comm, parts);
      } catch (...) {
        if (w.value()(0) != 7 || adam.lr() != 0.5) throw std::runtime_error("changed");
        throw;
      }
      if (w.value()(0) != 1 || adam.lr() != lr || adam.steps()[0] != step) throw std::runtime_error("not loaded");
    })[0];
  };
  CHECK(refusal(3, 0.25, full({2}, 7.f)) == "");
  CHECK(contains(refusal(-3, 0.25, full({2}, 7.f)), "the step of 'w' is -3; expected 0 or more"));
  CHECK(refusal(3, -0.25, full({2}, 7.f)).starts_with("ArgumentError"));
}

TEST_CASE("the state of an optimizer of pieces is divided as the pieces") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run";
  const auto run = [&](int ranks, bool loads) {
    dist::spawn<Cpu>(ranks, [&](const Comm& comm) {
      const auto [place, mine] = part_of(values_of<float>(), Division::ranges, comm.rank(), comm.size());
      Parameter<float, Cpu> piece(mine), bias(ones({3}));
      std::vector<Parameter<float, Cpu>> parameters{bias};
      if (mine.elements() > 0) parameters.push_back(piece);
      dist::Parts parts;
      parts.add("bias", {3}, {}, bias);
      parts.add("w", shape, place, piece);
      optim::Adam<float, Cpu> adam{parameters, {.lr = 0.1}};  // moves the parameters
      parts.add("optimizer", adam);
      if (loads) {
        dist::load_parts(path, comm, parts);
      } else {
        for (int i = 0; i < 2; ++i) {
          adam.zero_grad();
          auto loss = sum(square(trace(bias)));
          loss.backward();
          if (mine.elements() > 0) sum(square(trace(piece))).backward();
          adam.step();
        }
        dist::save_parts(path, comm, parts);
      }
      if (ranks != 2 || !loads) return;
      const auto expected = dist::whole<float>(path, "optimizer.state.w.exp_avg_sq").reshape({96});
      const std::int64_t first = place.offset(), last = first + mine.elements();
      if (!are_same(adam.state(1, 1), expected.slice(0, first, last).clone()) || adam.steps()[1] != 2 ||
          !are_same(piece.value(), dist::whole<float>(path, "w").reshape({96}).slice(0, first, last).clone()) ||
          expected(95) == 0)
        throw std::runtime_error("other state");
    });
  };
  run(4, false);
  run(2, true);
}

namespace {
struct Grid;
struct Model : Along<Grid> {};
/// Two layers that are divided along Model, and the moments of their weights, saved or loaded by `ranks` ranks.
template <class F>
void with_divided_layers(int ranks, std::uint64_t seed, const F& f) {
  dist::spawn<Cpu>(ranks, [&](const Comm& comm) {
    const dist::Mesh<Cpu, Model> mesh(comm, {ranks});
    manual_seed(seed);
    const nn::Linear<float, Cpu> first{4, 8}, second{8, 4};
    const dist::ColumnLinear<float, Cpu, Model> column(first, mesh.along<Model>());
    const dist::RowLinear<float, Cpu, Model> row(second, mesh.along<Model>());
    const std::int64_t begin = 8 / ranks * comm.rank();
    dist::Parts parts;
    parts.add("first.weight", {8, 4}, dist::Block{0, begin}, column.weight.local());
    parts.add("first.bias", {8}, dist::Block{0, begin}, column.bias.local());
    parts.add("second.weight", {4, 8}, dist::Block{1, begin}, row.weight.local());
    parts.add("second.bias", {4}, {}, row.bias.local());
    optim::Adam<float, Cpu> adam{{column.weight.local(), row.weight.local()}, {.lr = 0.1}};
    parts.add("optimizer", adam);
    f(comm, parts);
  });
}
}  // namespace

TEST_CASE("layers that are divided along a dimension load on another number of ranks, and as one model") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run", again = folder.path / "again";
  with_divided_layers(4, 1, [&](const Comm& comm, const dist::Parts& parts) { dist::save_parts(path, comm, parts); });
  with_divided_layers(2, 2, [&](const Comm& comm, const dist::Parts& parts) {
    dist::load_parts(path, comm, parts);
    dist::save_parts(again, comm, parts);
  });
  manual_seed(1);
  const nn::Linear<float, Cpu> first{4, 8}, second{8, 4};
  const auto state = dist::whole_state(again);
  CHECK(are_same(state.get<float>("first.weight"), first.weight.value()));
  CHECK(are_same(state.get<float>("first.bias"), first.bias.value()));
  CHECK(are_same(state.get<float>("second.weight"), second.weight.value()));
  CHECK(are_same(state.get<float>("second.bias"), second.bias.value()));
  CHECK(state.get<float>("optimizer.state.second.weight.exp_avg").shape() == Shape{4, 8});
  const nn::Linear<float, Cpu> loaded{4, 8};
  nn::load_state_dict(loaded, dist::whole_state(again, "first."));
  CHECK(are_same(loaded.weight.value(), first.weight.value()));
}

TEST_CASE("parts with gaps, overlaps, other shapes or types are refused on all ranks") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run";
  const auto refused = [&](const char* type, const std::string& text, const auto& fill) {
    for (const std::string& error : errors_of(2, [&](const Comm& comm) {
           dist::Parts parts;
           fill(parts, comm.rank());
           dist::save_parts(path, comm, parts);
         })) {
      CHECK(error.starts_with(type));
      CHECK(contains(error, text));
    }
  };
  refused("ShapeError", "gap from element 4 on; expected each of its 9 elements in a part",
          [](auto& parts, int rank) { parts.add("x", {9}, dist::ElementRange{5 * rank}, ones({4})); });
  refused("ShapeError", "gap from element 0 on", [](auto& parts, int) {
    parts.add("x", {3, 4}, dist::Block{1, 2}, ones({3, 2}));
  });
  refused("ShapeError", "overlap from element 3 on",
          [](auto& parts, int rank) { parts.add("x", {8}, dist::ElementRange{3 * rank}, ones({5})); });
  refused("ShapeError", "divided in two ways", [](auto& parts, int rank) {
    if (rank == 0) parts.add("x", {4, 4}, dist::Block{1, 0}, ones({4, 2}));
    else parts.add("x", {4, 4}, dist::Block{0, 0}, ones({2, 4}));
  });
  refused("ArgumentError", "'x' is float32 of shape (5,) on rank 1, and float32 of shape (4,) on rank 0",
          [](auto& parts, int rank) { parts.add("x", ones({4 + rank})); });
  refused("ArgumentError", "'x' is int64 of shape (4,) on rank 1, and float32 of shape (4,) on rank 0",
          [](auto& parts, int rank) {
            if (rank == 0) parts.add("x", ones({4}));
            else parts.add("x", ones<std::int64_t>({4}));
          });
  CHECK(folder.entries() == 0);
  dist::Parts parts;
  CHECK(
      contains(message_of<ShapeError>([&] {
                 parts.add("x", {4, 4}, dist::Block{1, 3}, ones({4, 2}));
               }),
               "a part of shape (4, 2) as the block along dimension 1 from 3 of 'x', whose shape is (4, 4), does not"));
  CHECK_THROWS_AS(parts.add("x", {4}, dist::ElementRange{INT64_MAX}, ones({2})), ShapeError);
  CHECK_THROWS_AS(parts.add("x", {4, 4}, dist::Block{2, 0}, ones({4, 4})), ShapeError);
  CHECK_THROWS_AS(parts.add("\xff", ones({2})), ArgumentError);
  parts.add("x", ones({2}));
  CHECK_THROWS_AS(parts.add("x", ones({2})), ArgumentError);
}

TEST_CASE("what does not fit is refused on all ranks, and no part of any rank changes") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run";
  save_ranges(path, 3);
  const auto refused = [&](const char* first, const char* second, const std::string& text, const auto& fill) {
    const Tensor<float> kept[] = {full({6, 8, 2}, 9.f), full({6, 8, 2}, 9.f)};
    const auto errors = errors_of(2, [&](const Comm& comm) {
      dist::Parts parts;
      parts.add("x", kept[comm.rank()]);
      fill(parts, comm.rank());
      dist::load_parts(path, comm, parts);
    });
    CHECK(errors[0].starts_with(first));
    CHECK(errors[1].starts_with(second));
    for (const int rank : {0, 1}) {
      CHECK(contains(errors[static_cast<std::size_t>(rank)], text));
      CHECK(are_same(kept[rank], full({6, 8, 2}, 9.f)));
    }
  };
  refused("RankError 1", "ArgumentError", "has no tensor 'y'; there are 'x'", [](auto& parts, int rank) {
    if (rank == 1) parts.add("y", ones({2}));
  });
  const auto once = [&](const char* type, const std::string& text, const auto& part) {
    for (const std::string& error : errors_of(2, [&](const Comm& comm) {
           dist::Parts parts;
           parts.add("x", part);
           dist::load_parts(path, comm, parts);
         })) {
      CHECK(error.starts_with(type));
      CHECK(contains(error, text));
    }
  };
  once("ShapeError", "has shape (6, 8, 2), and (96,) on rank ", ones({96}));
  once("ArgumentError", "holds float32, and the part of rank ", ones<double>({6, 8, 2}));
  for (const std::string& error : errors_of(2, [&](const Comm& comm) { dist::load_parts(path, comm, dist::Parts()); }))
    CHECK(contains(error, "no rank has a part of 'x' of '"));
  for (const std::string& error :
       errors_of(2, [&](const Comm& comm) { dist::load_parts(path, comm, dist::Parts(), {.strict = false}); }))
    CHECK(error == "");
  const std::string file = path + "/rank-00001.safetensors";
  const auto of_file = [&](const std::string& text) { refused("DataError", "DataError", text, [](auto&, int) {}); };
  const std::string content = content_of(file);
  std::ofstream(file, std::ios::binary | std::ios::trunc) << content.substr(0, content.size() - 4);
  of_file("rank-00001.safetensors' as safetensors: ");
  fs::copy_file(path + "/rank-00002.safetensors", file, fs::copy_options::overwrite_existing);
  of_file("where the index has float32 of shape (32,) for a part of 'x'; the file is of another checkpoint");
  fs::remove(file);
  of_file("cannot read '" + file + "': No such file or directory; expected a safetensors file, with a part of 'x'; ");
  CHECK_THROWS_AS((void)dist::whole<float>(folder.path / "none", "x"), DataError);
  CHECK_THROWS_AS((void)dist::whole_state(path, "y"), ArgumentError);
}

TEST_CASE("a checkpoint has the record of rank 0's run; an index without one has an empty record") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run", index = path + "/index.json";
  save_ranges(path, 2);
  const io::RunRecord run = dist::checkpoint_info(path).run;
  CHECK(run.get("locus") == LOCUS_VERSION);
  io::RunRecord now = io::run_record();
  CHECK(io::difference(run, now.set("seed", std::string(run.get("seed")))) == "");  // a rank has a seed of its own
  const std::string text = content_of(index);
  const auto begin = text.find("\"run\":{"), end = text.find("\"tensors\":{");
  REQUIRE(begin < end);
  const auto with = [&](const std::string& member) {
    std::ofstream(index, std::ios::binary | std::ios::trunc) << text.substr(0, begin) << member << text.substr(end);
    return dist::checkpoint_info(path).run;
  };
  CHECK(with("").empty());
  CHECK(with("\"run\":{\"host\":\"a\"},").get("host") == "a");
  CHECK_THROWS_WITH_AS((void)with("\"run\":7,"), doctest::Contains("as the index of a checkpoint: its run: at byte 0"),
                       DataError);
  CHECK_THROWS_AS((void)with("\"run\":{\"host\":7},"), DataError);
}

TEST_CASE("a damaged index is refused with a DataError, or is as good as the sound one") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run", index = path + "/index.json";
  save_ranges(path, 2);
  std::string sound = content_of(index);
  const auto run = sound.find("\"run\":{") + 7;
  sound.replace(run, sound.find("},\"tensors\":{") - run, "\"host\":\"a\"");  // so that most damage is elsewhere
  const auto load = [&](const std::string& text) -> std::string {
    std::ofstream(index, std::ios::binary | std::ios::trunc) << text;
    try {
      (void)dist::whole_state(path);
      return "";
    } catch (const DataError& error) {
      return error.what();
    } catch (const OutOfMemory& error) {
      return error.what();
    }
  };
  CHECK(load(sound) == "");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = sound;
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    return load(text.replace(at, from.size(), to));
  };
  CHECK(contains(with("\"count\":24", "\"count\":23"), "\"x\": its parts have a gap from element 23 on"));
  CHECK(contains(with("\"first\":24", "\"first\":23"), "overlap from element 23 on"));
  CHECK(contains(with("\"first\":24", "\"first\":99999999999999999999"), "expected a number, 0 to "));
  CHECK(contains(with("\"count\":72", "\"count\":73"), "does not fit"));
  CHECK(contains(with("rank-00001", "../../etc"), "expected the name of a file of the folder"));
  CHECK(contains(with("[6,8,2]", "[6,8,4611686018427387904]"), "more than 2^"));
  CHECK(contains(with("\"F32\"", "\"F33\""), "has dtype \"F33\""));
  CHECK(contains(with("\"version\":1", "\"version\":2"), "its version is 2; expected 1"));
  CHECK(contains(with("\"ranks\":2", "\"ranks\":\"2\""), "expected a number"));
  CHECK(contains(with("\"step\"", "\"stop\""), "the index has no step"));
  for (std::size_t size = 0; size + 1 < sound.size(); size += 3) CHECK(load(sound.substr(0, size)) != "");
  std::uint32_t random = 1;
  for (int i = 0; i < 2000; ++i) {  // any exception but these two fails the test
    std::string text = sound;
    for (int changes = 0; changes < 1 + i % 3; ++changes) {
      random = random * 1664525u + 1013904223u;
      text[(random >> 8) % text.size()] = i % 2 ? "0123456789{}[],:\"-"[random % 18] : static_cast<char>(random >> 24);
    }
    (void)load(text);
  }
}

TEST_CASE("a rank that fails in the middle leaves the older checkpoint, and nothing else") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run";
  save_ranges(path, 2, 1);
  const auto errors = errors_of(3, [&](const Comm& comm) {
    const auto [place, mine] = part_of(values_of<float>(), Division::ranges, comm.rank(), comm.size());
    dist::Parts parts;
    parts.add("x", shape, place, mine);
    auto save = dist::detail::prepare_save(path, comm, parts, {.step = 2}, false);
    if (comm.rank() == 1) save.file = "/proc/none/file";
    dist::on_all_ranks(comm, [&] { save.write(); });
  });
  CHECK(errors[0].starts_with("RankError 1: rank 1 threw: cannot write '/proc/none/file'"));
  CHECK(errors[1].starts_with("DataError: cannot write '/proc/none/file'"));
  CHECK(errors[2] == errors[0]);
  CHECK(folder.entries() == 1);
  CHECK(dist::checkpoint_info(path).step == 1);
  for (const int victim : {0, 1}) {  // a process is killed when all have begun to write
    CHECK_THROWS_AS(dist::spawn_processes<Cpu>(2,
                                               [&](const Comm& comm) {
                                                 dist::Parts parts;
                                                 parts.add("x", ones({2}));
                                                 auto save = dist::detail::prepare_save(path, comm, parts, {}, false);
                                                 save.write();
                                                 comm.barrier();
                                                 if (comm.rank() == victim) std::raise(SIGKILL);
                                                 dist::on_all_ranks(comm, [] {});
                                               },
                                               {.timeout = 20}),
                    RankError);
    CHECK(dist::checkpoint_info(path).step == 1);
  }
  CHECK(*dist::newest_checkpoint(folder.path) == path);
  save_ranges(path, 1, 3);  // removes the folder of the killed rank 0
  CHECK(folder.entries() == 1);
  CHECK(dist::checkpoint_info(path).step == 3);
  save_ranges(folder.path / "old", 2, 5);
  fs::create_directory_symlink("old", folder.path / "link");
  save_ranges(folder.path / "link", 1, 6);  // replaces the folder behind the link
  CHECK(fs::is_symlink(folder.path / "link"));
  CHECK(dist::checkpoint_info(folder.path / "old").step == 6);
  CHECK(folder.entries() == 3);
  fs::create_directory(folder.path / "mine");
  std::ofstream(folder.path / "mine" / "letter") << "dear";
  CHECK(contains(message_of<DataError>([&] { save_ranges(folder.path / "mine", 1); }),
                 "the folder has 1 entries and no index.json, so it is no checkpoint"));
  std::ofstream(folder.path / "mine" / "index.json") << "{}";
  CHECK(contains(message_of<DataError>([&] { save_ranges(folder.path / "mine", 1); }),
                 "the folder has 'letter', which no checkpoint has and which would be removed"));
  CHECK(content_of(folder.path / "mine" / "letter") == "dear");
}

TEST_CASE("the newest checkpoint has the largest step") {
  const TemporaryFolder folder;
  CHECK_FALSE(dist::newest_checkpoint(folder.path / "none"));
  CHECK_FALSE(dist::newest_checkpoint(folder.path));
  save_ranges(folder.path / "a" / "b" / "step-9", 1, 9);
  save_ranges(folder.path / "a" / "b" / "step-10", 2, 10);
  fs::create_directory(folder.path / "a" / "b" / "step-11");  // no checkpoint
  const std::string newest = folder.path / "a" / "b" / "step-10";
  dist::spawn<Cpu>(2, [&](const Comm& comm) {
    const std::string within = folder.path / "a" / "b";
    if (dist::newest_checkpoint(within, comm) != newest) throw std::runtime_error("another one");
    if (dist::newest_checkpoint(within + "/none", comm)) throw std::runtime_error("one of none");
  });
}

TEST_CASE("a saver copies, and writes beside collectives; errors come from wait(), on all ranks") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run";
  dist::spawn<Cpu>(3, [&](const Comm& comm) {
    dist::PartsSaver saver(comm);
    const auto [place, mine] = part_of(values_of<float>(), Division::columns, comm.rank(), comm.size());
    dist::Parts parts;
    parts.add("x", shape, place, mine);
    for (int step = 1; step <= 3; ++step) {
      mine.copy_(
          part_of((values_of<float>() * static_cast<float>(step)).eval(), Division::columns, comm.rank(), 3).second);
      saver.save(path, parts, {.step = step});
      mine.fill_(-1);  // the copy is saved
      for (int i = 0; i < 20; ++i) comm.all_reduce(ones({100}));
    }
    saver.wait();
    if (!saver.ready()) throw std::runtime_error("not ready");
    saver.wait();
  });
  CHECK(folder.entries() == 1);
  CHECK(dist::checkpoint_info(path).step == 3);
  CHECK(are_same(dist::whole<float>(path, "x"), (values_of<float>() * 3.f).eval()));
  const auto errors = errors_of(3, [&](const Comm& comm) {
    dist::PartsSaver saver(comm);
    dist::Parts parts;
    parts.add("x", values_of<float>());
    dist::detail::PreparedSave save = dist::detail::prepare_save(path, comm, parts, {.step = 4}, true);
    if (comm.rank() == 2) save.file = "/proc/none/file";
    const Comm beside = comm.split(0);
    const Shared job(new dist::detail::SaveJob<Cpu>(std::move(save), beside));
    dist::detail::Worker worker;
    worker.add(Shared<dist::detail::Job>(job.get()));
    job->await();
    job->rethrow();
  });
  CHECK(errors[0].starts_with("RankError 2: rank 2 threw: cannot write '/proc/none/file'"));
  CHECK(errors[1] == errors[0]);
  CHECK(errors[2].starts_with("DataError: cannot write"));
  CHECK(dist::checkpoint_info(path).step == 3);
  CHECK(folder.entries() == 1);
}
