#pragma once
// Where the fragments of a row are while it is worked on: in registers, or in shared memory and, where that is full, in
// a workspace.

#include <locus/cuda/row_plan.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// A block's memory for its rows, besides registers.
struct RowMemory {
  unsigned char* partials;
  unsigned char* shared;
  std::size_t shared_bytes;
  unsigned char* workspace;
};

/// Rows in registers: fragments of `item_count` values per thread.
template <int item_count>
class RegisterRows {
 public:
  static constexpr int items = item_count;
  static constexpr bool has_workspace = false, shifts = false;
  template <class R>
  struct Fragment {
    R values[items];
  };

  LOCUS_FN RegisterRows(const RowPlan&, const RowMemory&, int) {}
  LOCUS_FN void clear() {}
  template <class Visit>
  LOCUS_FN void for_each_tile(int64_t cols, int, int, const Visit& visit) const {
    visit(RowTile{0, 0, 0, static_cast<int>(cols)});
  }
  template <class R> [[nodiscard]] LOCUS_FN Fragment<R> make() { return {}; }
  template <class Values>
  [[nodiscard]] LOCUS_FN auto& at(Values& fragment, const RowTile&, int k) const {
    return fragment.values[k];
  }
};

/// Rows in the memory of their block of RowPlan::team_threads; neighbouring threads have neighbouring values.
class MemoryRows {
 public:
  static constexpr int items = memory_row_items, threads = RowPlan::team_threads;
  static constexpr bool has_workspace = true, shifts = true;
  template <class R>
  struct Fragment {
    R* values;
  };

  LOCUS_FN MemoryRows(const RowPlan& plan, const RowMemory& memory, int thread)
      : memory_(memory), tiles_(plan.tiles), thread_(thread), uses_workspace_(plan.workspace_bytes > 0) {}
  [[nodiscard]] LOCUS_FN bool uses_workspace() const { return uses_workspace_; }
  /// Forgets the fragments.
  LOCUS_FN void clear() { shared_used_ = workspace_used_ = 0; }
  [[nodiscard]] LOCUS_FN int64_t tiles() const { return tiles_; }
  template <class Visit>
  LOCUS_FN void for_each_tile(int64_t cols, int lanes, int shift, const Visit& visit) const {
#if LOCUS_ON_DEVICE
#pragma unroll 1
#endif
    for (int64_t tile = 0; tile < tiles_; ++tile) visit(RowTile::of(tile, cols, lanes, items, shift));
  }
  template <class R> [[nodiscard]] LOCUS_FN Fragment<R> make() { return {static_cast<R*>(take(sizeof(R))) + thread_}; }
  template <class R>
  [[nodiscard]] LOCUS_FN R& at(const Fragment<R>& fragment, const RowTile& tile, int k) const {
    return fragment.values[(tile.number * items + k) * threads];
  }

 private:
  [[nodiscard]] LOCUS_FN void* take(std::size_t bytes_per_value) {
    const std::size_t bytes = static_cast<std::size_t>(tiles_ * items * threads) * bytes_per_value;
    if (shared_used_ + bytes <= memory_.shared_bytes) {
      shared_used_ += bytes;
      return memory_.shared + (shared_used_ - bytes);
    }
    workspace_used_ += bytes;
    return memory_.workspace + (workspace_used_ - bytes);
  }

  RowMemory memory_;
  int64_t tiles_;
  int thread_;
  bool uses_workspace_;
  std::size_t shared_used_ = 0, workspace_used_ = 0;
};

}}}  // namespace locus::LOCUS_ABI::cuda
