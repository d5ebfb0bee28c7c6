#pragma once
// What the experiments of first_run share: how they are listed, and how they answer.

#include <locus/core/check.hpp>

#include <functional>
#include <string>
#include <vector>

namespace first_run {

struct Experiment {
  std::string name;
  std::string question;
  std::function<void()> run;     ///< answers by note(); an exception is an answer, too
  bool may_end_process = false;  ///< whether that, or an exception, is no fault of Locus
};

/// One answer, as the line "what: answer". Shown at once: the next call may end the process.
inline void note(const std::string& what, const std::string& answer) {
  std::printf("%s: %s\n", what.c_str(), answer.c_str());
  std::fflush(stdout);
}

/// In the order in which they are run.
[[nodiscard]] std::vector<Experiment> machine_experiments();
[[nodiscard]] std::vector<Experiment> blas_experiments();
[[nodiscard]] std::vector<Experiment> kernel_experiments();

}  // namespace first_run
