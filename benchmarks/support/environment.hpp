#pragma once
// On what a benchmark ran.

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

/// All of it that the host knows.
[[nodiscard]] Environment host_environment();

/// All of it, as members of the JSON object that a writer is in.
template <class Writer>
Writer& write_members(Writer& json, const Environment& e) {
  json.member("date", e.date).member("commit", e.commit).member("compiler", e.compiler).member("cpu", e.cpu);
  json.member("cores", e.cores).member("threads", e.threads).member("gpu", e.gpu).member("cuda", e.cuda);
  return json.member("driver", e.driver);
}
