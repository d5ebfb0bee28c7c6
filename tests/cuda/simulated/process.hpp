#pragma once
// Cases that run in processes of their own, for decisions and findings that a process makes once and for good.

#include <doctest/doctest.h>

#include <support/temporary_folder.hpp>

#include <sys/mman.h>
#include <sys/wait.h>

#ifdef LOCUS_SIMULATED_COVERAGE
extern "C" void __gcov_dump();
#endif

namespace simulated {

using Environment = std::vector<std::pair<const char*, std::string>>;

/// The result of `use` in a new process with this environment. `said` is its output on stderr.
template <class Use>
auto in_new_process(const Environment& environment, const Use& use, std::string* said = nullptr) {
  using Result = decltype(use());
  const locus_test::TemporaryFolder folder;
  const std::string file = folder.path / "stderr";
  void* const shared = mmap(nullptr, sizeof(Result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const result = new (shared) Result{};
  const pid_t child = fork();
  if (child == 0) {
    for (const char* const variable : {"LOCUS_AUTOTUNE", "LOCUS_PLANS", "LOCUS_CUDA_POOL", "LOCUS_MEMORY_LIMIT"})
      unsetenv(variable);
    for (const auto& [name, value] : environment) setenv(name, value.c_str(), 1);
    if (said && !freopen(file.c_str(), "wb", stderr)) _exit(2);
    try {
      *result = use();
    } catch (const std::exception& error) {  // or else this process would go on with the next case
      std::fprintf(stderr, "%s\n", error.what());
      std::fflush(stderr);
      _exit(3);
    }
    std::fflush(stderr);
#ifdef LOCUS_SIMULATED_COVERAGE
    __gcov_dump();  // the process ends without the exit handlers
#endif
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  if (said) *said = locus_test::content_of(file);
  const Result copy = *result;
  munmap(shared, sizeof(Result));
  return copy;
}

}  // namespace simulated
