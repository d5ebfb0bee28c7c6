#pragma once
// The walk of Cpu's map over a plan, in runs that are dense for the loop. It does not depend on the functor, so that it
// is compiled once.

#include <locus/core/std/bounds.hpp>
#include <locus/cpu/loops/half_tiles.hpp>
#include <locus/cpu/loops/stage.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu {

/// A launch with the type of its functor erased.
struct MapCall {
  const char* function;   ///< type_text<F>()
  std::int64_t elements;  ///< of the launch
  PlanView plan;          ///< of all elements, or of a block
  int inputs;
  const ByteOperand* operands;  ///< inputs, then outputs
  MapRun run;
  const void* f;
  bool copies;            ///< the output is the only input, unchanged
  unsigned repeated = 0;  ///< inputs of which `run` reads one element, a bit for each
};

/// Large outputs are written by non-temporal stores, except those that are inputs too: they are in cache already.
[[gnu::noinline]] inline void stream_outputs(const MapCall& call, Stage& stage) {
  for (int out = call.inputs; out < call.plan.operands; ++out) {
    const ByteOperand& output = call.operands[out];
    bool is_read = call.elements * output.size < bytes_worth_streaming();
    for (int in = 0; in < call.inputs; ++in) is_read |= call.operands[in].data == output.data;
    if (!is_read) stage.stream_output(out);
  }
}

/// Elements [begin, end) of the plan.
inline void map_range(const MapCall& call, std::int64_t begin, std::int64_t end) {
  const PlanView& plan = call.plan;
  Stage stage(call.operands, plan.operands, plan, LOCUS_STAGE_TILES(plan.operands), call.repeated);
  stream_outputs(call, stage);
  const std::int64_t length = plan.inner_extent();
  Odometer row(plan, begin / length);
  std::int64_t at = begin % length;
  while (begin < end) {
    const std::int64_t n =
        locus::detail::smaller(locus::detail::smaller(length - at, end - begin), stage.longest_run());
    const void* in[max_operands];
    void* out[max_operands];
    const auto offset = [&](int i) { return row.offset[i] + at * plan.inner_stride(i); };
    for (int i = 0; i < call.inputs; ++i) in[i] = stage.input(i, offset(i), n);
    for (int i = call.inputs; i < plan.operands; ++i) out[i - call.inputs] = stage.output(i, offset(i));
    call.run(call.f, n, plan.first_index + begin, in, out);
    for (int i = call.inputs; i < plan.operands; ++i) stage.finish(i, offset(i), n);
    begin += n;
    at += n;
    if (at == length) {
      at = 0;
      row.next();
    }
  }
  if (stage.streams()) finish_streams();
}

/// Copies elements [begin, end) to a dense output, each to its place at once.
inline void copy_range(const MapCall& call, std::int64_t begin, std::int64_t end) {
  const PlanView& plan = call.plan;
  const int size = call.operands[0].size;
  const std::int64_t length = plan.inner_extent(), stride = plan.inner_stride(0);
  Odometer row(plan, begin / length);
  for (std::int64_t at = begin % length; begin < end; at = 0, row.next()) {
    const std::int64_t n = locus::detail::smaller(length - at, end - begin);
    const std::byte* const in = call.operands[0].data + (row.offset[0] + at * stride) * size;
    std::byte* const out = call.operands[1].data + (row.offset[1] + at) * size;
    if (stride == 1) std::memcpy(out, in, static_cast<std::size_t>(n * size));
    else gather(out, in, stride, n, size);
    begin += n;
  }
}

/// Whether copy_range() applies: not where the output is worth non-temporal stores.
[[nodiscard]] inline bool copies_in_place(const MapCall& call) {
  return call.copies && call.operands[0].data && call.operands[1].data && call.plan.inner_stride(1) == 1 &&
         call.plan.elements * call.operands[1].size < bytes_worth_streaming();
}

}}}  // namespace locus::LOCUS_ABI::cpu
