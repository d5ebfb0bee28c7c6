#pragma once
// Shared by the experiments of first_run: how they are listed, and how they answer.

#include <locus/core/check.hpp>

#include <functional>
#include <string>
#include <vector>

namespace first_run {

struct Experiment {
  std::string name;
  std::string question;
  std::function<void()> run;     ///< answers by note(); an exception is an answer, too
  bool may_end_process = false;  ///< ending the process, or an exception, is no fault of Locus
};

/// Prints one answer, as a line NAME: ANSWER. Shown at once: the next call may end the process.
inline void note(const std::string& what, const std::string& answer) {
  std::printf("%s: %s\n", what.c_str(), answer.c_str());
  std::fflush(stdout);
}

/// The row of the experiment's table from which this process answers.
[[nodiscard]] int first_row();
/// Goes on with the experiment at `row` in this process started anew, where the GPU answers again. throws Error
[[noreturn]] void start_again_at(int row);

/// The rows of a table, each an answer. A row that fails is named, and the next rows follow.
class Rows {
 public:
  template <class F>
  void add(const std::string& what, const F& answer) {
    const int row = next_++;
    if (row < first_row()) return;
    try {
      note(what, answer());
    } catch (const locus::Error& error) {
      note(what, error.what());
      start_again_at(row + 1);
    }
  }

 private:
  int next_ = 0;
};

/// In the order in which they are run.
[[nodiscard]] std::vector<Experiment> machine_experiments();
[[nodiscard]] std::vector<Experiment> blas_experiments();
[[nodiscard]] std::vector<Experiment> kernel_experiments();

}  // namespace first_run
