#pragma once
// MPI communicators that wait to be freed after their ranks have left.

#include <locus/distributed/message/control_message.hpp>
#include <locus/distributed/mpi/mpi_session.hpp>

#if LOCUS_MPI
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// If a communicator is freed too early, MPI gives its id to the next one, which then takes the final control message
/// of a slower rank for its own first one. So all ranks free a communicator together, at their next meeting, once each
/// has read the final control messages of all others. The caller holds the session's mutex.
class MpiPendingFrees {
 public:
  /// Ranks make links in the same order; `number` counts them. `ends`: final control messages that were read.
  struct Link {
    std::int64_t number;
    MPI_Comm data, controls;
    int ends;
  };
  static void add(const Link& link) {
    auto place = links().begin();
    while (place != links().end() && place->number < link.number) ++place;
    links().insert(place, link);
  }
  [[nodiscard]] static std::size_t count() { return links().size(); }

  /// All processes of MPI_COMM_WORLD call it together.
  static void free_together() {
    constexpr std::size_t most = 16;  // at a time
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<std::int64_t> mine(most, -1);
    std::size_t count = 0;
    for (auto link = links().begin(); link != links().end() && count < most; ++link)  // by number
      if (is_drained(*link, size)) mine[count++] = link->number;
    std::vector<std::int64_t> all(most * static_cast<std::size_t>(size));
    check_mpi(MPI_Allgather(mine.data(), most, MPI_INT64_T, all.data(), most, MPI_INT64_T, MPI_COMM_WORLD),
              "MPI_Allgather");
    for (std::size_t i = 0; i < count; ++i) {
      int ranks = 0;
      for (const std::int64_t number : all) ranks += number == mine[i];
      if (ranks == size) free(mine[i]);
    }
  }

 private:
  static std::vector<Link>& links() {
    static auto& of_process =
        *new std::vector<Link>;  // never freed: the background thread adds to it after static objects ended
    return of_process;
  }
  [[nodiscard]] static bool is_drained(Link& link, int size) {
    for (int has_come = 1; link.ends + 1 < size;) {
      MPI_Status status;
      check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, 0, link.controls, &has_come, &status), "MPI_Iprobe");
      if (!has_come) return false;
      ControlMessage control;
      check_mpi(MPI_Recv(&control, sizeof control, MPI_BYTE, status.MPI_SOURCE, 0, link.controls, MPI_STATUS_IGNORE),
                "MPI_Recv");
      if (control.what != ControlMessage::What::end)
        return false;  // never drained: a rank failed, or waits for an answer
      ++link.ends;
    }
    return true;
  }
  static void free(std::int64_t number) {
    auto link = links().begin();
    while (link->number != number) ++link;
    MPI_Comm_free(&link->data);
    MPI_Comm_free(&link->controls);
    links().erase(link);
  }
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
#endif
