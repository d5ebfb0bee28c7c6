#pragma once
// What one rank does for all: writing files, for example.

#include <locus/distributed/model/same_model.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// Rank 0 calls f, and the others wait for it to end: as long as the time-out says. All ranks call it, with or without
/// something to do:
///
///     dist::on_rank_zero(comm, [&] { io::save("model.safetensors", nn::state_dict(model)); });
///
/// The communicator goes on where f throws. throws what f throws, on rank 0; on the others RankError, which says so
template <class D, class F>
void on_rank_zero(const Communicator<D>& comm, const F& f) {
  std::exception_ptr failure;
  std::string why;
  if (comm.rank() == 0) {
    try {
      f();
    } catch (const std::exception& error) {
      failure = std::current_exception();
      why = join("rank 0 threw: ", error.what());
    } catch (...) {
      failure = std::current_exception();
      why = "rank 0 threw something that is no std::exception";
    }
  }
  why = detail::text_of_first(comm, std::move(why));
  if (failure) std::rethrow_exception(failure);
  if (!why.empty()) throw RankError(why, 0);
}

}}}  // namespace locus::LOCUS_ABI::dist
