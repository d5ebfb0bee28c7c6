// The messages of one rank for a collective of the library's engine of processes, as JSON.
//
//   record_messages all_reduce BYTES RANKS RANKS_OF_MACHINE RANK [in_rank_order]
//   record_messages barrier 0 16384 8 0
//
// The elements are float32. Sums are not computed; the bytes that their loops read and write are noted as work. Work
// between two transfers is one step.

#include "recording_link.hpp"

#include <locus/core/printable.hpp>
#include <locus/cpu/backend.hpp>
#include <locus/io/json.hpp>

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

using namespace locus;
using namespace scaling;

namespace {

/// Address space for elements that are copied at most.
[[nodiscard]] void* elements(std::int64_t bytes) {
  void* const data = mmap(nullptr, static_cast<std::size_t>(bytes) + 1, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) fail<OutOfMemory>({"record_messages: no address space for ", bytes, " bytes"});
  return data;
}
[[nodiscard]] dist::Kind kind_of(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(dist::Kind::barrier); ++i)
    if (name == name_of(static_cast<dist::Kind>(i))) return static_cast<dist::Kind>(i);
  fail<ArgumentError>({"record_messages: '", locus::detail::printable(name),
                       "' is no collective; expected all_reduce, broadcast, reduce, all_gather, reduce_scatter, "
                       "all_to_all or barrier"});
}

void write_steps(io::JsonWriter& json) {
  json.begin_array();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Step step = steps[i];
    while (step.what == Step::What::work && i + 1 < steps.size() && steps[i + 1].what == Step::What::work)
      step.number += steps[++i].number;
    constexpr const char* names[] = {"send", "receive", "wait", "work"};
    json.begin_array().value(names[static_cast<int>(step.what)]).value(step.peer).value(step.number).end_array();
  }
  json.end_array();
}

int record(int argc, char** argv) {
  if (argc < 6)
    fail<ArgumentError>({"record_messages: ", argc - 1,
                         " arguments; expected COLLECTIVE BYTES RANKS RANKS_OF_MACHINE RANK, and in_rank_order"});
  const std::int64_t bytes = std::atoll(argv[2]);
  const int ranks = std::atoi(argv[3]), of_machine = std::atoi(argv[4]), rank = std::atoi(argv[5]);
  dist::detail::require_ranks("record_messages", ranks);
  if (bytes < 0 || of_machine < 1 || rank < 0 || rank >= ranks)
    fail<ArgumentError>({"record_messages: ", bytes, " bytes, ", of_machine, " ranks of a machine, rank ", rank,
                         "; expected 0 bytes or more, 1 rank of a machine or more, and a rank below ", ranks});
  using Peers = dist::detail::MessagePeers<RecordingLink>;
  dist::MessageEngine<Cpu, RecordingLink> engine(Shared<Peers>(new Peers(60., rank, ranks, of_machine)), Cpu{},
                                                 dist::Options{.timeout = 60});
  dist::Collective<Cpu> call;
  call.what.kind = kind_of(argv[1]);
  call.what.type = ElementType::float32;
  call.what.count = bytes / 4;
  call.what.root = call.what.kind == dist::Kind::broadcast || call.what.kind == dist::Kind::reduce ? 0 : -1;
  if (argc > 6) call.what.sums = dist::Sums::in_rank_order;
  call.source = call.target = elements(bytes * ranks);
  call.reducer = &NotedSums<float>::reducer;
  call.sequence = 1;
  steps.clear();
  engine.run(call);
  io::JsonWriter json;
  write_steps(json);
  std::puts(json.text().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return record(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "record_messages: %s\n", error.what());
    return 1;
  }
}
