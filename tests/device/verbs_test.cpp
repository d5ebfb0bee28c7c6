// Runs on: reference.
// Every verb and capability of Cpu compared with the reference device, over random plans. A faulty device shows that
// each comparison finds its faults.

#include <locus/cpu/backend.hpp>
#include <locus/cpu/histogram.hpp>
#include <locus/cpu/reduce/running_sums.hpp>
#include <locus/cpu/sorting.hpp>
#include <locus/cpu/streams.hpp>
#include <locus/device/capture.hpp>

#include <doctest/doctest.h>

#include <support/compare_capabilities.hpp>
#include <support/faulty_device.hpp>

using namespace locus;
using namespace locus_test;

static_assert(RowTeam<cpu::RowTeam> && RowTeam<cpu::StreamingRowTeam> && RowTeam<cpu::SummingTeam<float>>);
static_assert(RowTeam<SummingReferenceTeam<float>> && !RowTeam<int> && RowFunctor<Rows<float>> &&
              !RowFunctor<AddMixed>);
static_assert(CountsBytes<SummedRows<float>> && !CountsBytes<Rows<float>> && !WaitsForMemory<SummedRows<float>>);
static_assert(SumsColumns<Cpu> && AddsRunningSums<Cpu> && SortingDevice<Cpu> && HistogramDevice<Cpu>);
static_assert(StreamingDevice<Cpu> && !CapturingDevice<Cpu> && !SumsFactors<Cpu> && !KeepsForDerivatives<Cpu>);
static_assert(!StreamingDevice<ReferenceDevice> && !SumsColumns<Pinned> && !SortingDevice<Pinned>);

namespace {

template <class D, class... T>
std::string compare_products_of(std::uint64_t seed, int trials) {
  Difference difference;
  RandomLayouts random(seed);
  (compare_products<D, T>(difference, random, trials), ...);
  return difference.text();
}
template <class D>
std::string compare_blocks(std::uint64_t seed) {
  Difference difference;
  RandomLayouts random(seed);
  compare_memory<D>(difference, random);
  return difference.text();
}

using Compare = std::string (*)(std::uint64_t);
std::string compare_few_products(std::uint64_t seed) { return compare_products_of<FaultyDevice, float>(seed, 4); }

/// Checks that `compare` finds no difference without a fault, and a difference for each single fault.
void check_found(Compare compare, std::initializer_list<Fault> faults) {
  CHECK(compare(1) == "");
  for (const Fault one : faults) {
    CAPTURE(static_cast<int>(one));
    fault = one;
    Backend<FaultyDevice>::arena.resize(has(Fault::memory_overlaps) ? std::size_t{1} << 24 : 0);
    const std::string found = compare(1);
    fault = Fault::none;
    CHECK(found != "");
  }
}

}  // namespace

TEST_CASE("Cpu's map is that of the reference device") { CHECK(compare_maps<Cpu>(1) == ""); }

TEST_CASE("Cpu's rows are those of the reference device") { CHECK(compare_all_rows<Cpu>(2) == ""); }

TEST_CASE("Cpu's sums over rows are those of the reference device") { CHECK(compare_all_column_sums<Cpu>(3) == ""); }

TEST_CASE("Cpu's reductions are those of the reference device") { CHECK(compare_reductions<Cpu>(4) == ""); }

TEST_CASE("Cpu's products are those of the reference device") {
  CHECK(compare_products_of<Cpu, float, bfloat16, std::int32_t>(5, 8) == "");
}

TEST_CASE("Cpu's running sums are those of the reference device") { CHECK(compare_all_running_sums<Cpu>(6) == ""); }

TEST_CASE("Cpu sorts, selects and counts as the reference device does") { CHECK(compare_lists<Cpu>(7) == ""); }

TEST_CASE("Cpu's memory holds what is copied there") { CHECK(compare_blocks<Cpu>(9) == ""); }

TEST_CASE("a fault that is put into a verb is found") {
  check_found(&compare_maps<FaultyDevice>, {Fault::map_leaves_out_the_last, Fault::map_repeats_an_element,
                                            Fault::map_counts_from_one, Fault::map_takes_null_for_ones});
  check_found(&compare_all_rows<FaultyDevice>,
              {Fault::rows_leave_out_the_last, Fault::rows_are_short, Fault::team_ignores_strides,
               Fault::team_folds_an_element_twice, Fault::team_folds_before_the_update, Fault::team_overwrites});
  check_found(&compare_all_column_sums<FaultyDevice>,
              {Fault::column_sums_leave_out_a_row, Fault::column_sums_are_swapped, Fault::column_sums_overwrite});
  check_found(&compare_reductions<FaultyDevice>,
              {Fault::reduce_leaves_out_a_result, Fault::reduce_leaves_out_the_last, Fault::reduce_repeats_an_element,
               Fault::reduce_overwrites, Fault::reduce_of_bool_overwrites});
  check_found(&compare_few_products, {Fault::gemm_leaves_out_the_last, Fault::gemm_repeats_a_factor,
                                      Fault::gemm_forgets_the_bias, Fault::gemm_overwrites, Fault::gemm_tells_no_row});
  check_found(&compare_blocks<FaultyDevice>,
              {Fault::memory_overlaps, Fault::copies_are_short, Fault::memory_is_not_counted_back});
  check_found(&compare_all_running_sums<FaultyDevice>,
              {Fault::running_sums_are_never_in_reverse, Fault::running_sums_restart});
  check_found(&compare_lists<FaultyDevice>, {Fault::order_is_unstable, Fault::order_sorts_too_few,
                                             Fault::select_counts_from_one, Fault::count_leaves_out_the_last});
}
