#pragma once
// Work of one rank for all, such as writing files.

#include <locus/distributed/model/same_model.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// Rank 0 calls f; the others wait until it ends, at most for the time-out. All ranks call it, with or without
/// something to do:
///
///     dist::on_rank_zero(comm, [&] { io::save("model.safetensors", nn::state_dict(model)); });
///
/// If f throws, the communicator stays usable.
/// throws the exception of f on rank 0; RankError with its text on the others
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
