#pragma once
// The machine and the build of a benchmark.

#include <string>

struct Environment {
  std::string date;      ///< UTC
  std::string commit;    ///< as git describes it; empty where git does not answer
  std::string compiler;  ///< of the host
  std::string cpu;
  int cores = 0;
  int threads = 0;
  std::string gpu;   ///< empty: none
  std::string cuda;  ///< toolkit the program was built with; empty: none
  int driver = 0;    ///< newest CUDA that the driver knows, as 1000 * major + 10 * minor
};

/// All members but threads and the GPU.
[[nodiscard]] Environment host_environment();

/// Writes all members into the writer's current JSON object.
template <class Writer>
Writer& write_members(Writer& json, const Environment& e) {
  json.member("date", e.date).member("commit", e.commit).member("compiler", e.compiler).member("cpu", e.cpu);
  json.member("cores", e.cores).member("threads", e.threads).member("gpu", e.gpu).member("cuda", e.cuda);
  return json.member("driver", e.driver);
}
