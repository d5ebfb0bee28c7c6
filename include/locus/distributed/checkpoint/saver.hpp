#pragma once
// dist::PartsSaver: checkpoints of ranks that are written beside the training.

#include <locus/distributed/checkpoint/save.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

namespace detail {

/// The failure of a rank, as a message between ranks.
struct FailureMessage {
  std::int32_t rank = -1;  ///< -1: none failed
  char text[1020] = {};
};

/// Writes a rank's file, and agrees with the other ranks by messages: they wait for no collective and no GPU.
template <class D>
class SaveJob final : public Job {
 public:
  SaveJob(PreparedSave save, const Communicator<D>& comm) : save_(std::move(save)), comm_(comm) {}

 private:
  bool run() override {
    const Outcome mine = outcome_of(comm_.rank(), [&] { save_.write(); });
    FailureMessage all = message_of(mine);
    if (comm_.rank() > 0) {
      send(all, 0);
      all = received(0);
    } else {
      publish(all);
    }
    save_.tensors = {};
    settle();
    if (mine.failure) std::rethrow_exception(mine.failure);
    if (all.rank >= 0) throw RankError(all.text, all.rank);
    return true;
  }
  /// On rank 0. throws its own exception after the other ranks were told
  void publish(FailureMessage& all) {
    for (int rank = 1; rank < comm_.size(); ++rank) {
      const FailureMessage of_rank = received(rank);
      if (all.rank < 0) all = of_rank;
    }
    Outcome renamed;
    if (all.rank < 0) all = message_of(renamed = outcome_of(0, [&] { save_.publish(); }));
    for (int rank = 1; rank < comm_.size(); ++rank) send(all, rank);
    save_.staged.reset();
    if (renamed.failure) settle(), std::rethrow_exception(renamed.failure);
  }
  /// Returns when all ranks have the result, so that a rank that throws it, and leaves, keeps it from none. Errors do
  /// not matter any more: this rank has the result.
  void settle() const noexcept {
    try {
      for (int rank = 1; rank < comm_.size(); ++rank) {
        if (comm_.rank() == 0) (void)received(rank);
        else if (comm_.rank() == rank) send({}, 0);
      }
      for (int rank = 1; rank < comm_.size(); ++rank) {
        if (comm_.rank() == 0) send({}, rank);
        else if (comm_.rank() == rank) (void)received(0);
      }
    } catch (...) {}
  }
  [[nodiscard]] FailureMessage message_of(const Outcome& outcome) const {
    FailureMessage message{outcome.failure ? comm_.rank() : -1};
    std::snprintf(message.text, sizeof message.text, "%s", outcome.why.c_str());
    return message;
  }
  void send(const FailureMessage& message, int to) const { comm_.send(bytes_on(comm_, &message, sizeof message), to); }
  [[nodiscard]] FailureMessage received(int from) const {
    FailureMessage message;
    const auto bytes = bytes_on(comm_, &message, sizeof message);
    comm_.recv(bytes, from);
    std::memcpy(&message, bytes.template to<Cpu>().data(), sizeof message);
    return message;
  }

  PreparedSave save_;
  Communicator<D> comm_;
};

}  // namespace detail

/// Saves checkpoints as save_parts() does, beside the training: save() returns when the parts are copied to the host,
/// and a thread writes them. One checkpoint at a time. The thread has a communicator of its own, so that the training
/// goes on with other collectives; a checkpoint becomes visible when all ranks have written, also without wait(). All
/// ranks make the same calls of save() and wait().
///
///     dist::PartsSaver saver(comm);
///     for (...) {
///       ...
///       if (step % 1000 == 0) saver.save(join("run/step-", step), parts, {.step = step});
///     }
///     saver.wait();
///
/// cost: a split() once; a copy of this rank's parts in host memory until they are written
template <class D>
class PartsSaver {
 public:
  /// All ranks call it. throws as Communicator::split
  explicit PartsSaver(const Communicator<D>& comm) : comm_(comm), beside_(comm.split(0)) {}
  PartsSaver(const PartsSaver&) = delete;
  PartsSaver& operator=(const PartsSaver&) = delete;
  /// Waits for the checkpoint in progress, and drops its errors: call wait() before. An exception that destroys the
  /// saver makes a checkpoint in progress fail on all ranks.
  ~PartsSaver() {
    if (std::uncaught_exceptions() > exceptions_) beside_.abort("an exception, while a checkpoint was written");
  }

  /// Copies the parts, and begins to write them. Waits for the checkpoint in progress first, and throws its errors.
  /// throws also as save_parts(), where ranks disagree; OutOfMemory for the copies
  void save(const std::string& folder, const Parts& parts, const SavePartsOptions& options = {}) {
    wait();
    auto prepared = detail::prepare_save(folder, comm_, parts, options, true);
    try {
      job_ = Shared(new detail::SaveJob<D>(std::move(prepared), beside_));
      worker_.add(Shared<detail::Job>(job_.get()));
    } catch (...) {
      job_ = {};
      beside_.abort("it has no thread to write a checkpoint");
      throw;
    }
  }
  /// Whether no checkpoint is in progress on this rank. Other ranks may differ.
  [[nodiscard]] bool ready() const { return !job_ || job_->done(); }
  /// Returns when the checkpoint in progress is complete, if there is one. throws, on all ranks, as save_parts()
  void wait() {
    if (!job_) return;
    const Shared<detail::SaveJob<D>> job = std::exchange(job_, {});
    job->await();
    job->rethrow();
  }

 private:
  Communicator<D> comm_, beside_;
  int exceptions_ = std::uncaught_exceptions();
  Shared<detail::SaveJob<D>> job_;
  detail::Worker worker_;
};

}}}  // namespace locus::LOCUS_ABI::dist
