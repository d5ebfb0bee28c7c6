// Runs on: host; busy.
// A reference interpreter of launches: every decision of the host and the indexing of every kernel, replayed for random
// plans. Each element is visited once, where shape and strides say, and nothing outside of it.
#include <locus/cuda/launch_plan.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <type_traits>
#include <utility>

#include <support/plans.hpp>

namespace {
using namespace locus;
using locus_test::Layout;
using locus_test::offset_of;
using locus_test::RandomLayouts;

/// An operand of a launch in memory that is never accessed: only its address matters.
struct Operand {
  Layout layout;
  int size = 1;                     ///< bytes of an element
  const std::byte* data = nullptr;  ///< null: it reads as its index, or is not wanted
  bool is_index = false;
};

/// An address that is a multiple of `size`, and of 16 bytes half of the time.
const std::byte* random_address(RandomLayouts& random, int size) {
  const std::int64_t misaligned = random.below(2) == 0 ? 0 : random.below(16) * size;
  return reinterpret_cast<const std::byte*>((std::uintptr_t{1} << 40) + static_cast<std::uintptr_t>(misaligned));
}

Operand random_operand(RandomLayouts& random, const Shape& shape, bool repeats) {
  const int size = 1 << random.below(4);
  return {random.layout(shape, repeats, true), size, random_address(random, size)};
}

/// Calls use(VectorTiles<width>) for a width known at run time.
template <class Use>
void with_tiles(const cuda::MapGrid& grid, const Use& use) {
  if (grid.width == 1) use(cuda::VectorTiles<1>{grid.per_thread});
  if (grid.width == 2) use(cuda::VectorTiles<2>{grid.per_thread});
  if (grid.width == 4) use(cuda::VectorTiles<4>{grid.per_thread});
  if (grid.width == 8) use(cuda::VectorTiles<8>{grid.per_thread});
  if (grid.width == 16) use(cuda::VectorTiles<16>{grid.per_thread});
}

/// A GPU of any age, sometimes so narrow that small plans fill it.
cuda::GpuWidth random_gpu(RandomLayouts& random) {
  constexpr int capabilities[] = {80, 90, 100, 120};
  return {random.below(2) ? 1 : 132, random.below(2) ? 1 : 2048, capabilities[random.below(4)]};
}

/// Replays the accesses of a map of random operands. The last operand is written, and no two of its elements share
/// memory.
template <int N>
class MapReplay {
 public:
  MapReplay(RandomLayouts& random, const Shape& shape) : shape_(shape), gpu_(random_gpu(random)) {
    for (int i = 0; i < N; ++i) {
      operands_[i] = random_operand(random, shape, i + 1 < N);
      if (i + 1 < N && random.below(8) == 0) operands_[i].data = nullptr;
    }
    if (N > 1 && random.below(6) == 0) {
      operands_[0] = {{Dims::filled(shape.rank(), 0)}, 1, nullptr, true};
      reads_index_ = true;
    }
    // Alike layouts are the usual case, and merge.
    if (random.below(3) == 0)
      for (int i = 0; i + 1 < N; ++i)
        if (random.below(4) != 0) operands_[i].layout = operands_[N - 1].layout;
    for (std::int64_t index = 0; index < elements(shape); ++index)
      index_at_[offset_of(shape, operands_[N - 1].layout.strides, index)] = index;
    visits_.resize(static_cast<std::size_t>(elements(shape)));
  }

  /// Launches as cuda::map does, in parts within the limit. Returns the problem found; empty if there is none.
  const char* run(std::int64_t limit) {
    std::array<Strides, N> strides;
    for (std::size_t i = 0; i < N; ++i) strides[i] = operands_[i].layout.strides;
    const auto plan = make_plan<N>(shape_, strides);
    cuda::for_each_part(
        cuda::Piece(plan), reads_index_, [&](const cuda::Piece& part) { launch(part, limit); }, limit);
    if (index_at_.size() != visits_.size()) wrong("the test's own layout puts two elements in one place");
    for (const int times : visits_)
      if (times != 1) wrong("an element was not written once");
    return problem_;
  }
  [[nodiscard]] int launches(cuda::Access access) const { return launches_[static_cast<int>(access)]; }

 private:
  void wrong(const char* why) { problem_ = why; }

  void launch(const cuda::Piece& part, std::int64_t limit) {
    const void* pointers[N];
    cuda::OperandSlot slots[N];
    cuda::MapTraffic traffic;
    int widest = 16;
    for (int i = 0; i < N; ++i) {
      const Operand& operand = operands_[i];
      pointers[i] = operand.data;
      if (!operand.is_index) {
        slots[i] = {&pointers[i], operand.size};
        widest = std::min(widest, 16 / operand.size);
        (i + 1 < N ? traffic.loaded : traffic.stored) += operand.size;
        traffic.loads += i + 1 < N;
      }
      slots[i].advance(part.offset[i]);
      start_[i] = part.offset[i];
      data_[i] = static_cast<const std::byte*>(pointers[i]);
    }
    if (part.elements > limit) wrong("a part has too many elements");
    const cuda::MapGrid grid(part, slots, N - 1, traffic, widest, gpu_);
    const int most = cuda::most_vectors_per_thread(traffic, grid.width);
    if (grid.per_thread < 1 || grid.per_thread > static_cast<std::uint32_t>(most)) wrong("vectors the kernel has not");
    ++launches_[static_cast<int>(grid.access)];
    with_tiles(grid, [&]<class Tiles>(Tiles tiles) {
      const std::int64_t taken = std::int64_t{Tiles::threads} * grid.per_thread * grid.width;
      if (grid.blocks < 1 || (grid.blocks > 1 && taken * (grid.blocks - 1) >= part.elements)) wrong("an idle block");
      if (grid.access == cuda::Access::contiguous) contiguous(tiles, part, grid);
      else strided(tiles, part, grid, limit);
    });
  }

  /// The body of map_contiguous.
  template <class Tiles>
  void contiguous(Tiles tiles, const cuda::Piece& part, const cuda::MapGrid& grid) {
    const auto elements = static_cast<std::uint32_t>(part.elements);
    std::int64_t same[N];
    const auto take = [&](std::uint32_t at, int width) {
      for (std::int64_t& offset : same) offset = at;
      access(same, width, false, part.first_index + at, nullptr);
    };
    for (std::uint32_t block = 0; block < grid.blocks; ++block) {
      for (std::uint32_t thread = 0; thread < Tiles::threads; ++thread) {
        for (std::uint32_t k = 0; k < grid.per_thread; ++k) {
          const std::uint32_t v = tiles.vector(block, thread, k);
          if (v < tiles.vectors(elements)) take(v * static_cast<std::uint32_t>(grid.width), grid.width);
        }
        const std::uint32_t at = tiles.leftover(thread, elements);
        if (grid.width > 1 && block == 0 && at < elements) take(at, 1);
      }
    }
  }

  /// The body of map_strided.
  template <class Tiles>
  void strided(Tiles tiles, const cuda::Piece& part, const cuda::MapGrid& grid, std::int64_t limit) {
    const cuda::Walk<N> walk(part);
    for (std::uint32_t block = 0; block < grid.blocks; ++block) {
      for (std::uint32_t thread = 0; thread < Tiles::threads; ++thread) {
        for (std::uint32_t k = 0; k < grid.per_thread; ++k) {
          const std::uint32_t at = tiles.vector(block, thread, k) * static_cast<std::uint32_t>(grid.width);
          if (at >= walk.elements) continue;
          std::int32_t offset[N];
          walk.offsets(at, offset);
          std::int64_t wide[N];
          for (int i = 0; i < N; ++i) {
            wide[i] = offset[i];
            if (wide[i] > limit || wide[i] < -limit) wrong("an offset beyond the limit");
          }
          access(wide, grid.width, true, walk.first_index + at, walk.stride[0]);
        }
      }
    }
  }

  /// A thread loads and stores a vector that begins at these offsets; inputs with an `inner` stride of 0 are repeated.
  void access(const std::int64_t (&offset)[N], int width, bool may_repeat, std::int64_t index,
              const std::int32_t* inner) {
    for (int j = 0; j < width; ++j) {
      const auto found = index_at_.find(start_[N - 1] + offset[N - 1] + j);
      if (found == index_at_.end()) return wrong("a store outside of the output");
      const std::int64_t element = found->second;
      ++visits_[static_cast<std::size_t>(element)];
      if (reads_index_ && index + j != element) return wrong("an index of another element");
      for (int i = 0; i + 1 < N; ++i) {
        if (!operands_[i].data) continue;
        const bool repeated = width > 1 && may_repeat && inner[i] == 0;
        const std::int64_t at = start_[i] + offset[i] + (repeated ? 0 : j);
        if (at != offset_of(shape_, operands_[i].layout.strides, element)) return wrong("a load of another element");
      }
    }
    for (int i = 0; i < N; ++i) {
      const bool single = width == 1 || (may_repeat && inner[i] == 0 && i + 1 < N);
      if (!operands_[i].data || single) continue;
      const std::byte* const address = data_[i] + offset[i] * operands_[i].size;
      const auto bytes = static_cast<std::uintptr_t>(operands_[i].size * width);
      if (bytes > 16 || reinterpret_cast<std::uintptr_t>(address) % bytes != 0) return wrong("a misaligned vector");
    }
  }

  Shape shape_;
  cuda::GpuWidth gpu_;
  Operand operands_[N];
  bool reads_index_ = false;
  std::map<std::int64_t, std::int64_t> index_at_;  ///< of the output's elements
  std::vector<int> visits_;
  std::int64_t start_[N] = {};
  const std::byte* data_[N] = {};
  const char* problem_ = "";
  int launches_[3] = {};
};

/// Limits at which small plans are split, too.
std::int64_t random_limit(RandomLayouts& random) {
  return random.below(2) == 0 ? cuda::piece_limit : 1 + random.below(random.below(2) ? 4000 : 100);
}

Shape random_shape(RandomLayouts& random) {
  constexpr std::int64_t sizes[] = {4, 60, 600, 600, 5000};
  return random.shape(sizes[random.below(5)], max_rank);
}

template <int N>
void replay_maps(int plans, int (&launches)[3]) {
  RandomLayouts random(20 + N);
  for (int trial = 0; trial < plans; ++trial) {
    const Shape shape = random_shape(random);
    const std::int64_t limit = random_limit(random);
    MapReplay<N> replay(random, shape);
    const std::string problem = replay.run(limit);
    INFO("operands ", N, " trial ", trial, " shape ", to_string(shape), " limit ", limit);
    CHECK(problem == "");
    for (int i = 0; i < 3; ++i) launches[i] += replay.launches(static_cast<cuda::Access>(i));
  }
}

TEST_CASE("12,000 random maps: every element is computed once, from and to where the strides say") {
  int launches[3] = {};
  replay_maps<1>(2000, launches);
  replay_maps<2>(4000, launches);
  replay_maps<3>(3000, launches);
  replay_maps<5>(2000, launches);
  replay_maps<9>(1000, launches);
  MESSAGE("launches: ", launches[0], " contiguous, ", launches[1], " of vectors, ", launches[2], " of elements");
  for (const int count : launches) CHECK(count > 500);
}

/// Replays the accesses of a reduction of random operands. No two elements of the first input share memory, so that the
/// address of a summand identifies it; nor do two of the output.
template <int N>
class ReduceReplay {
 public:
  ReduceReplay(RandomLayouts& random, const Shape& shape) : shape_(shape) {
    folded_ = static_cast<unsigned>(random.below(std::int64_t{1} << shape.rank()));
    if (random.below(4) == 0) folded_ = ~0u;
    const Layout output = random.layout(kept_shape(), false, true);
    output_ = Dims::filled(shape.rank(), 99);
    for (int d = 0, kept = 0; d < shape.rank(); ++d)
      if (!is_folded(d)) output_[d] = output.strides[kept++];
    for (int i = 0; i < N; ++i) {
      operands_[i] = random_operand(random, shape, i > 0);
      if (i > 0 && random.below(8) == 0) operands_[i].data = nullptr;
    }
    reads_index_ = N > 1 && random.below(3) == 0;
    if (reads_index_) operands_[N - 1] = {{Dims::filled(shape.rank(), 0)}, 1, nullptr, true};
    for (std::int64_t index = 0; index < elements(shape); ++index)
      index_at_[offset_of(shape, operands_[0].layout.strides, index)] = index;
    visits_.resize(static_cast<std::size_t>(elements(shape)));
  }

  /// Launches as cuda::reduce does, in parts within the limit. Returns the problem found; empty if there is none.
  const char* run(std::int64_t limit) {
    std::array<PlanOperand, N + 1> operands;
    for (std::size_t i = 0; i < N; ++i) operands[i].strides = &operands_[i].layout.strides;
    operands[N].strides = &output_;
    const auto plan = make_reduce_plan<N>(shape_, operands, folded_);
    const cuda::Piece kept(plan.kept), reduced(plan.reduced);
    summands_ = plan.reduced.elements;
    const void* pointers[N];
    cuda::OperandSlot slots[N];
    for (int i = 0; i < N; ++i) {
      pointers[i] = operands_[i].data;
      if (!operands_[i].is_index) slots[i] = {&pointers[i], operands_[i].size};
    }
    const bool outputs_first = cuda::prefers_outputs(kept, reduced, slots);
    cuda::for_each_part(
        kept, false,
        [&](const cuda::Piece& part) {
          const int width = outputs_first && !reads_index_ ? cuda::columns_of_thread(part, reduced, slots, 4, 0) : 1;
          wide_ += width > 1;
          fold({part, reduced, outputs_first, reads_index_, limit, width});
        },
        limit);
    for (const int times : visits_)
      if (times != 1) wrong("a summand was not read once");
    if (static_cast<std::int64_t>(results_.size()) != plan.kept.elements) wrong("an output was not written");
    for (const auto& [offset, count] : results_)
      if (count != summands_) wrong("an output has not all of its summands");
    return problem_;
  }
  [[nodiscard]] int steps() const { return steps_; }
  [[nodiscard]] int second_stages() const { return second_stages_; }
  /// Parts whose threads fold several outputs.
  [[nodiscard]] int wide() const { return wide_; }

 private:
  void wrong(const char* why) { problem_ = why; }
  [[nodiscard]] bool is_folded(int d) const { return (folded_ >> d & 1u) != 0; }
  [[nodiscard]] Shape kept_shape() const {
    Shape kept;
    for (int d = 0; d < shape_.rank(); ++d)
      if (!is_folded(d)) kept.push_back(shape_[d]);
    return kept;
  }

  /// The launches for a piece of the outputs. Every partial result is the number of its summands here.
  void fold(const cuda::FoldPlan& plan) {
    const std::int64_t outputs = plan.kept.elements;
    std::vector<std::int64_t> partials(static_cast<std::size_t>(plan.slots() * outputs), -1);
    plan.for_each_step([&](const cuda::FoldStep& step) {
      ++steps_;
      second_stages_ += step.folded;
      if (outputs > plan.limit || (!step.folded && step.reduced.elements > plan.limit)) wrong("too large a step");
      const cuda::Walk<N + 1> kept(plan.kept);
      const auto finish = [&](std::uint32_t output, std::int64_t total) {
        std::int32_t offset[N + 1];
        kept.offsets(output, offset);
        if (!results_.emplace(plan.kept.offset[N] + offset[N], total).second) wrong("an output is written twice");
      };
      for (std::uint32_t block = 0; block < step.tiles.blocks(); ++block)
        for (int column = 0; column < plan.width; ++column)
          fold_block(plan, step, kept, {block, static_cast<std::uint32_t>(column)}, partials, finish);
    });
  }

  /// One of the outputs of every thread of a block.
  struct BlockColumn {
    std::uint32_t block, column;
  };
  /// The body of reduce_chunks.
  template <class Finish>
  void fold_block(const cuda::FoldPlan& plan, const cuda::FoldStep& step, const cuda::Walk<N + 1>& kept,
                  const BlockColumn& at_block, std::vector<std::int64_t>& partials, const Finish& finish) {
    const cuda::ReduceTiles& tiles = step.tiles;
    const auto [block, column] = at_block;
    const auto width = static_cast<std::uint32_t>(plan.width);
    const std::uint32_t outputs = tiles.outputs * width;
    std::int64_t totals[cuda::ReduceTiles::threads] = {};
    for (std::uint32_t thread = 0; thread < tiles.threads; ++thread) {
      const std::uint32_t output = tiles.output(block, thread) * width + column;
      if (output >= outputs) continue;
      const std::uint32_t begin = step.folded ? 0 : tiles.begin(block), lane = tiles.lane(thread);
      const std::uint32_t end = step.folded ? tiles.summands : tiles.end(block);
      for (std::uint32_t at = begin + lane; at < end; at += tiles.lanes) {
        totals[thread] +=
            step.folded ? take(partials, std::int64_t{at} * outputs + output) : read(plan, step, kept, output, at);
      }
    }
    fold_team(tiles, totals);
    for (std::uint32_t thread = 0; thread < tiles.threads; ++thread) {
      const std::uint32_t output = tiles.output(block, thread) * width + column;
      if (output >= outputs || tiles.lane(thread) != 0) continue;
      if (partials.empty() || step.folded) {
        finish(output, totals[thread]);
        continue;
      }
      const auto at = static_cast<std::size_t>((std::int64_t{step.slot} + tiles.chunk_of(block)) * outputs + output);
      if (at >= partials.size() || partials[at] != -1) return wrong("a partial result outside of the workspace");
      partials[at] = totals[thread];
    }
  }

  /// A result of a chunk, which must be there and is read once.
  std::int64_t take(std::vector<std::int64_t>& partials, std::int64_t at) {
    if (at >= static_cast<std::int64_t>(partials.size()) || partials[static_cast<std::size_t>(at)] < 0)
      return wrong("a partial result that nobody wrote"), 0;
    return std::exchange(partials[static_cast<std::size_t>(at)], -2);
  }

  /// Reads a summand of every input; it counts as one.
  std::int64_t read(const cuda::FoldPlan& plan, const cuda::FoldStep& step, const cuda::Walk<N + 1>& kept,
                    std::uint32_t output, std::uint32_t at) {
    const cuda::Walk<N> reduced(step.reduced);
    std::int32_t base[N + 1], offset[N];
    const auto width = static_cast<std::uint32_t>(plan.width);
    kept.offsets(output / width * width, base);  // the columns of a thread are neighbours, or one element
    for (int i = 0; i <= N; ++i) base[i] += static_cast<std::int32_t>(output % width * plan.kept.inner_stride(i));
    reduced.offsets(at, offset);
    std::int64_t place[N];
    for (int i = 0; i < N; ++i) place[i] = plan.kept.offset[i] + step.reduced.offset[i] + base[i] + offset[i];
    const auto found = index_at_.find(place[0]);
    if (found == index_at_.end()) return wrong("a load outside of the input"), 0;
    ++visits_[static_cast<std::size_t>(found->second)];
    std::int64_t rest = found->second, of_summand = 0, step_of_summand = 1, of_output = 0;
    for (int d = shape_.rank() - 1; d >= 0; --d) {
      const std::int64_t coordinate = rest % shape_[d];
      rest /= shape_[d];
      of_output += is_folded(d) ? 0 : coordinate * output_[d];
      if (!is_folded(d)) continue;
      of_summand += coordinate * step_of_summand;
      step_of_summand *= shape_[d];
    }
    if (of_output != plan.kept.offset[N] + base[N]) wrong("a summand of another output");
    if (reads_index_ && of_summand != reduced.first_index + at) wrong("an index of another summand");
    for (int i = 1; i < N; ++i) {
      if (operands_[i].data && place[i] != offset_of(shape_, operands_[i].layout.strides, found->second))
        wrong("a load of another element");
    }
    return 1;
  }

  /// The tree of fold_team; between its barriers, threads may run in any order.
  static void fold_team(const cuda::ReduceTiles& tiles, std::int64_t (&totals)[cuda::ReduceTiles::threads]) {
    for (std::uint32_t width = tiles.lanes / 2; width > 0; width /= 2) {
      std::int64_t memory[cuda::ReduceTiles::threads] = {};
      for (std::uint32_t thread = 0; thread < tiles.threads; ++thread)
        if (tiles.lane(thread) >= width && tiles.lane(thread) < 2 * width) memory[thread] = totals[thread];
      for (std::uint32_t thread = 0; thread < tiles.threads; ++thread)
        if (tiles.lane(thread) < width)
          totals[thread] += memory[tiles.thread_of(tiles.team(thread), tiles.lane(thread) + width)];
    }
  }

  Shape shape_;
  unsigned folded_ = 0;
  Strides output_;
  Operand operands_[N];
  bool reads_index_ = false;
  std::int64_t summands_ = 0;
  std::map<std::int64_t, std::int64_t> index_at_;  ///< of the first input's elements
  std::vector<int> visits_;
  std::map<std::int64_t, std::int64_t> results_;  ///< how many summands, by the output's offset
  const char* problem_ = "";
  int steps_ = 0, second_stages_ = 0, wide_ = 0;
};

template <int N>
void replay_reductions(int plans, int (&counts)[3]) {
  RandomLayouts random(40 + N);
  for (int trial = 0; trial < plans; ++trial) {
    const Shape shape = trial % 20 == 0 ? random.shape(60000, 3) : random_shape(random);
    const std::int64_t limit = random.below(2) == 0 ? cuda::piece_limit : 20 + random.below(4000);
    ReduceReplay<N> replay(random, shape);
    const std::string problem = replay.run(limit);
    INFO("inputs ", N, " trial ", trial, " shape ", to_string(shape), " limit ", limit);
    CHECK(problem == "");
    counts[0] += replay.steps();
    counts[1] += replay.second_stages();
    counts[2] += replay.wide();
  }
}

cuda::MapTraffic traffic_of(const std::vector<int>& input_bytes, int output_bytes) {
  return {static_cast<int>(input_bytes.size()), std::accumulate(input_bytes.begin(), input_bytes.end(), 0),
          output_bytes};
}

/// How a dense map of `n` elements, from inputs of so many bytes per element to one of four, is shared out.
cuda::MapGrid dense_grid(std::int64_t n, const std::vector<int>& input_bytes, const cuda::GpuWidth& gpu) {
  cuda::Piece piece;
  const std::int64_t strides[max_launch_operands][max_rank] = {{1}, {1}, {1}, {1}, {1}, {1}};
  piece.operands = static_cast<int>(input_bytes.size()) + 1;
  piece.elements = piece.extent[0] = n;
  piece.stride = strides;
  std::vector<const void*> pointers(input_bytes.size() + 1, reinterpret_cast<const void*>(std::uintptr_t{1} << 40));
  std::vector<cuda::OperandSlot> slots;
  int widest = 4;
  for (std::size_t i = 0; i < input_bytes.size(); ++i) {
    slots.push_back({&pointers[i], input_bytes[i]});
    widest = std::min(widest, 16 / input_bytes[i]);
  }
  slots.push_back({&pointers.back(), 4});
  const int inputs = static_cast<int>(input_bytes.size());
  return {piece, slots.data(), inputs, traffic_of(input_bytes, 4), widest, gpu};
}

TEST_CASE("map: half of the threads that a GPU holds keep its memory busy, as far as the kernels go") {
  constexpr std::int64_t large = std::int64_t{1} << 28;
  for (const int capability : {80, 86, 90, 100, 120}) {
    const cuda::GpuWidth gpu{132, 2048, capability};
    for (const std::vector<int>& bytes :
         std::vector<std::vector<int>>{{4}, {8}, {4, 4}, {8, 4}, {4, 4, 4}, {8, 8, 8}}) {
      const cuda::MapGrid grid = dense_grid(large, bytes, gpu);
      REQUIRE(grid.access == cuda::Access::contiguous);
      int loaded = 0;
      for (const int size : bytes) loaded += size * grid.width;
      const auto in_flight = [&](std::int64_t vectors) { return 1024 * loaded * vectors; };
      INFO("sm_", capability, " bytes loaded ", loaded, " vectors ", grid.per_thread);
      const int most = cuda::most_vectors_per_thread(traffic_of(bytes, 4), grid.width);
      CHECK((in_flight(grid.per_thread) >= gpu.bytes_in_flight() || static_cast<int>(grid.per_thread) == most));
      CHECK((grid.per_thread == 1 || in_flight(grid.per_thread - 1) < gpu.bytes_in_flight()));
    }
  }
  CHECK(dense_grid(large, {4}, {108, 2048, 80}).per_thread == 1);
  CHECK(dense_grid(large, {4}, {132, 2048, 90}).per_thread == 2);
}

TEST_CASE("map: the registers of all threads keep every GPU's memory busy, whatever the operands") {
  for (int choice = 1; choice < 5 * 5 * 5 * 5; ++choice) {
    std::vector<int> bytes;
    for (int rest = choice; rest; rest /= 5)
      if (rest % 5) bytes.push_back(1 << (rest % 5 - 1));
    for (const int output : {1, 2, 4, 8}) {
      const int width = 16 / std::max(output, *std::max_element(bytes.begin(), bytes.end()));
      const cuda::MapTraffic traffic = traffic_of(bytes, output);
      const int in_flight = 2048 * cuda::most_vectors_per_thread(traffic, width) * width * traffic.loaded;
      for (const int capability : {80, 90, 100}) {
        // Half of a copy's traffic is loads; with a smaller share, the memory is busy storing.
        const double share = std::min(1., 2. * traffic.loaded / (traffic.loaded + output));
        INFO("sm_", capability, " loaded ", traffic.loaded, " stored ", output, " width ", width);
        CHECK(in_flight >= share * static_cast<double>(cuda::GpuWidth{132, 2048, capability}.bytes_in_flight()));
      }
    }
  }
}

TEST_CASE("map: a short run is spread over all multiprocessors") {
  const cuda::GpuWidth gpu{132, 2048, 90};
  CHECK(dense_grid(1 << 20, {4}, gpu).per_thread == 1);
  CHECK(dense_grid(1 << 20, {4}, gpu).blocks == (1 << 20) / 4 / cuda::map_threads);
  CHECK(dense_grid(1 << 22, {4}, gpu).per_thread == 2);
}

TEST_CASE("4,000 random reductions: every summand reaches its output once, through as much workspace as was reserved") {
  int counts[3] = {};
  replay_reductions<1>(1500, counts);
  replay_reductions<2>(1500, counts);
  replay_reductions<4>(1000, counts);
  MESSAGE("launches: ", counts[0], ", of which ", counts[1], " fold what others left");
  CHECK(counts[1] > 300);
  CHECK(counts[2] > 100);
}

TEST_CASE("reductions of narrow columns read vectors where strides and addresses allow it") {
  static_assert(cuda::widest_columns<const half*>() == 4 && cuda::widest_columns<const float*, const bool*>() == 4);
  static_assert(cuda::widest_columns<const float*>() == 1 && cuda::widest_columns<const half*, LinearIndex>() == 1);
  static_assert(cuda::widest_columns<const bool*, const double*>() == 1);  // four would be 32 bytes
  alignas(16) static std::byte memory[16];
  const auto plan_of = [](const Shape& shape, const Strides& strides) {
    const Strides columns{0, 1};
    return make_reduce_plan<1>(shape, {PlanOperand{nullptr, &strides}, PlanOperand{nullptr, &columns}}, 1u);
  };
  const auto loads = [&](const Shape& shape, const Strides& strides, int offset = 0) {
    const auto plan = plan_of(shape, strides);
    const cuda::Piece kept(plan.kept), reduced(plan.reduced);
    const void* data = memory + offset;
    const cuda::OperandSlot slot{&data, 2};
    const cuda::ColumnLoads found = cuda::column_loads(kept, reduced, &slot, 4);
    return std::pair{cuda::columns_of_thread(kept, reduced, &slot, 4), found.vectors + 2 * found.repeated};
  };
  CHECK(loads({1000, 768}, {768, 1}) == std::pair{4, 1u});
  CHECK(loads({1000, 768}, {768, 1}, 2) == std::pair{4, 0u});  // the same order, by single loads
  CHECK(loads({1000, 768}, {770, 1}) == std::pair{4, 0u});
  CHECK(loads({1000, 768}, {1, 0}) == std::pair{4, 2u});
  CHECK(loads({1000, 766}, {766, 1}).first == 1);
  CHECK(loads({1000, 768}, {1536, 2}).first == 1);
  CHECK(loads({60, 768}, {768, 1}).first == 1);  // too few elements
}

TEST_CASE("integer products: every element of every matrix is one thread's, and meets every term once") {
  RandomLayouts random(60);
  constexpr int tile = cuda::ProductTiles::tile;
  for (int trial = 0; trial < 300; ++trial) {
    const std::int64_t count = 1 + random.below(4), rows = 1 + random.below(70), cols = 1 + random.below(70);
    const std::int64_t depth = random.below(40);
    const cuda::ProductTiles tiles(count, rows, cols);
    const std::int64_t blocks = trial % 2 ? tiles.blocks() : 1 + random.below(tiles.blocks());  // fewer go round
    std::vector<std::int64_t> computed(static_cast<std::size_t>(count * rows * cols), -1);
    bool right = tiles.blocks() >= 1 && tiles.blocks() <= tiles.tasks;
    for (std::int64_t block = 0; block < blocks; ++block) {
      for (std::int64_t task = block; task < tiles.tasks; task += blocks) {
        for (int thread = 0; thread < tiles.threads; ++thread) {
          const std::int64_t i = tiles.matrix(task), x = thread % tile, y = thread / tile;
          const std::int64_t row = tiles.row(task) + y, col = tiles.col(task) + x;
          if (row >= rows || col >= cols) continue;
          std::int64_t& of = computed[static_cast<std::size_t>((i * rows + row) * cols + col)];
          right &= i < count && of == -1;
          of = 0;
          // left[y][j] is loaded by the thread with x = j, right[j][x] by the one with y = j.
          for (std::int64_t k = 0; k < depth; k += tile)
            for (int j = 0; j < tile; ++j) of += k + j < depth;
        }
      }
    }
    INFO("matrices ", count, " rows ", rows, " cols ", cols, " depth ", depth);
    CHECK(right);
    CHECK(std::all_of(computed.begin(), computed.end(), [&](std::int64_t terms) { return terms == depth; }));
  }
  CHECK(cuda::ProductTiles(1 << 20, 1 << 10, 1 << 10).blocks() == 1 << 20);
}

}  // namespace
