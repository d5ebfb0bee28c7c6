#pragma once
// Children of fork() that may hang.

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>

namespace locus_test {

/// The exit status of a child that exits with the result of in_child(); 98: killed by a signal; 99: still running after
/// twenty seconds.
template <class F>
int status_of_child(const F& in_child) {
  std::fflush(nullptr);  // or a child that exits prints it, too
  const pid_t child = fork();
  if (child == 0) _exit(in_child());
  for (int i = 0; i < 20'000; ++i) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
    usleep(1000);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return 99;
}

}  // namespace locus_test
