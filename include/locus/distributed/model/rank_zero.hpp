#pragma once
// Work of ranks whose failure all ranks learn: of one rank for all, such as writing files, or of each rank.

#include <locus/distributed/model/same_model.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

namespace detail {
/// The exception of a call on a rank, and its text for the other ranks; both empty: none.
struct Outcome {
  std::exception_ptr failure{};
  std::string why{};
};
template <class F>
[[nodiscard]] Outcome outcome_of(int rank, const F& f) {
  try {
    f();
  } catch (const std::exception& error) {
    return {std::current_exception(), join("rank ", rank, " threw: ", error.what())};
  } catch (...) {
    return {std::current_exception(), join("rank ", rank, " threw something that is no std::exception")};
  }
  return {};
}

/// The texts of all ranks, by rank. cost: two all_gathers; the second, of the longest text, if there is any
template <class D>
[[nodiscard]] std::vector<std::string> texts_of_all(const Communicator<D>& comm, const std::string& text) {
  const auto rows_of = [&](const void* data, std::size_t size) {
    return comm.all_gather(bytes_on(comm, data, size)).template to<Cpu>();
  };
  const std::int64_t size = static_cast<std::int64_t>(text.size());
  const auto sizes = rows_of(&size, sizeof size);
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(comm.size()));
  std::memcpy(lengths.data(), sizes.data(), lengths.size() * sizeof size);
  std::int64_t longest = 0;
  for (const std::int64_t length : lengths) longest = length > longest ? length : longest;
  std::vector<std::string> texts(lengths.size());
  if (longest == 0) return texts;
  std::string padded = text;
  padded.resize(static_cast<std::size_t>(longest));
  const auto rows = rows_of(padded.data(), padded.size());
  for (std::size_t rank = 0; rank < texts.size(); ++rank)
    texts[rank].assign(reinterpret_cast<const char*>(rows.data()) + static_cast<std::int64_t>(rank) * longest,
                       static_cast<std::size_t>(lengths[rank]));
  return texts;
}
}  // namespace detail

/// Rank 0 calls f; the others wait until it ends, at most for the time-out. All ranks call it, with or without
/// something to do:
///
///     dist::on_rank_zero(comm, [&] { io::save("model.safetensors", nn::state_dict(model)); });
///
/// If f throws, the communicator stays usable.
/// throws the exception of f on rank 0; RankError with its text on the others
template <class D, class F>
void on_rank_zero(const Communicator<D>& comm, const F& f) {
  detail::Outcome outcome;
  if (comm.rank() == 0) outcome = detail::outcome_of(0, f);
  const std::string why = detail::text_of_first(comm, std::move(outcome.why));
  if (outcome.failure) std::rethrow_exception(outcome.failure);
  if (!why.empty()) throw RankError(why, 0);
}

/// Each rank calls f; all wait until all have ended, at most for the time-out. All ranks call it. If f throws on a
/// rank, all ranks throw, and the communicator stays usable:
///
///     dist::on_all_ranks(comm, [&] { io::save(join("part", comm.rank(), ".safetensors"), mine); });   // all, or none
///
/// throws the exception of f on the ranks where it threw; RankError with the text of the first of these on the others
template <class D, class F>
void on_all_ranks(const Communicator<D>& comm, const F& f) {
  const detail::Outcome outcome = detail::outcome_of(comm.rank(), f);
  const auto texts = detail::texts_of_all(comm, outcome.why);
  if (outcome.failure) std::rethrow_exception(outcome.failure);
  for (int rank = 0; rank < comm.size(); ++rank)
    if (const std::string& why = texts[static_cast<std::size_t>(rank)]; !why.empty()) throw RankError(why, rank);
}

}}}  // namespace locus::LOCUS_ABI::dist
