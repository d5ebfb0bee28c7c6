// Runs on: host; loops, alone.
#include <locus/locus.hpp>

#include <doctest/doctest.h>
#include <support/reference.hpp>

#include <cstdlib>
#include <string>
#include <vector>

using namespace locus;

namespace {
/// The instruction sets that this program can use here.
std::vector<cpu::Isa> available() {
  std::vector<cpu::Isa> found;
  for (const cpu::Isa isa : cpu::every_isa)
    if (cpu::has_isa(isa)) found.push_back(isa);
  return found;
}

/// Restores the instruction set in use.
struct Restored {
  cpu::Isa before = cpu::isa();
  ~Restored() { cpu::set_isa(before); }
};

/// The instruction set that the environment variable chooses.
cpu::Isa chosen_by(const char* value) {
  const char* const was = std::getenv("LOCUS_CPU_ISA");
  const std::string before = was ? was : "";
  setenv("LOCUS_CPU_ISA", value, 1);
  const auto reset = [&] { was ? setenv("LOCUS_CPU_ISA", before.c_str(), 1) : unsetenv("LOCUS_CPU_ISA"); };
  try {
    const cpu::Isa isa = cpu::detail::choose_isa();
    reset();
    return isa;
  } catch (...) {
    reset();
    throw;
  }
}

std::string refusal_of(const char* value) {
  try {
    chosen_by(value);
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return "";
}

/// A little of every kind of loop: maps, folds of runs and of columns, rows; in sizes around a vector's.
std::vector<double> computed() {
  std::vector<double> values;
  const auto keep = [&](const auto& tensor) {
    const Tensor<double, Cpu> converted = tensor.template as<double>();
    values.insert(values.end(), converted.data(), converted.data() + converted.elements());
  };
  for (const std::int64_t n : {1, 7, 16, 33, 100}) {
    Generator<Cpu> generator{static_cast<std::uint64_t>(n)};
    const auto x = randn<float>({5, n}, generator), y = randn<float>({5, n}, generator);
    keep(exp(x) * y + 1.f);
    keep(relu(x - y));
    keep(x.as<half>());
    keep(x.as<bfloat16>());
    keep(x.as<std::int64_t>() % 3);
    keep(sum(x, 1));
    keep(max(x, 0));
    keep(softmax(x, 1));
    keep(layer_norm(x, {n}, y.slice(0, 0, 1).reshape({n})));
    keep(matmul(x, y.transpose()));
  }
  return values;
}
}  // namespace

TEST_CASE("the best instruction set that the processor has is in use, or the one that the environment names") {
  const Restored restored;
  CHECK(cpu::has_isa(cpu::lowest_isa));
  CHECK(cpu::has_isa(cpu::best_isa()));
  CHECK(chosen_by("") == cpu::best_isa());
  for (const cpu::Isa isa : available()) {
    CHECK(chosen_by(std::string(cpu::to_string(isa)).c_str()) == isa);
    CHECK(cpu::isa() == isa);
    CHECK(isa <= cpu::best_isa());
  }
}

TEST_CASE("an instruction set that is none, or that the program or the processor lacks, is refused") {
  const Restored restored;
  CHECK(refusal_of("sse9") ==
        "LOCUS_CPU_ISA: \"sse9\"; expected generic, avx2, avx512, avx512_bf16, amx_bf16, or no value");
  CHECK(cpu::isa() == restored.before);
  for (const cpu::Isa isa : cpu::every_isa) {
    if (cpu::has_isa(isa)) continue;
    const std::string name(cpu::to_string(isa));
    CHECK(refusal_of(name.c_str()).find(name) != std::string::npos);
    CHECK(refusal_of(name.c_str()).find("expected " + std::string(cpu::to_string(cpu::best_isa()))) !=
          std::string::npos);
    CHECK_THROWS_AS(cpu::set_isa(isa), ArgumentError);
  }
}

TEST_CASE("every instruction set computes the same, to a rounding") {
  const Restored restored;
  cpu::set_isa(cpu::lowest_isa);
  const std::vector<double> expected = computed();
  for (const cpu::Isa isa : available()) {
    cpu::set_isa(isa);
    CAPTURE(cpu::to_string(isa));
    const std::vector<double> values = computed();
    REQUIRE(values.size() == expected.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      CHECK(values[i] == doctest::Approx(expected[i]).epsilon(1e-5).scale(10));
  }
}
