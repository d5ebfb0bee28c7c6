#pragma once
// Line protocol of the programs that cpu.py runs in turns, Locus's and its peers': a line names a workload, as "softmax
// 1000 1000"; the answer is a line of JSON with the seconds of one run, in some samples. C++17 without Locus, so that
// peers are compiled as their users compile.
//
//   echo "softmax 1000 1000" | cpu_rows
//
// Operands are random and equal in all programs. Every run uses the same operands, so that they stay in a cache that
// holds them. Before the first answer, the result is compared with float64.

#include "host_reference.hpp"
#include "host_work.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <time.h>

namespace bench {

/// A workload with its operands in memory: the timed function, and a copy of its result.
struct Prepared {
  std::function<void()> run;
  std::function<std::vector<float>()> result;
};
/// Functions that prepare a workload, by name of the operation.
using Operations = std::map<std::string, std::function<Prepared(const Work&)>>;

namespace detail {

/// Wall time, or, if BENCHMARK_CLOCK is set, CPU time of the process, which does not count preemption.
inline double now() {
  static const clockid_t clock = std::getenv("BENCHMARK_CLOCK") ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

inline double seconds_of(const std::function<void()>& run, long times) {
  const double start = now();
  for (long i = 0; i < times; ++i) run();
  return (now() - start) / static_cast<double>(times);
}

/// Five samples of about `sample_seconds`, with as many runs each as fit. Three samples of a single run if it takes
/// longer, and one if it takes over 0.1 s. Warms up threads, memory and caches first.
inline std::vector<double> samples_of(const std::function<void()>& run, double sample_seconds) {
  double once = seconds_of(run, 1);
  for (double warm = once; warm < sample_seconds; warm += 4 * once) once = seconds_of(run, 4);
  if (once > sample_seconds && once < 0.3) once = std::min(once, seconds_of(run, 1));
  const long times = std::max(1L, static_cast<long>(sample_seconds / once));
  const int samples = once > 0.1 ? 1 : once > sample_seconds ? 3 : 5;
  std::vector<double> seconds;
  for (int i = 0; i < samples; ++i) seconds.push_back(seconds_of(run, times));
  return seconds;
}

/// Quotes a text as a JSON string.
inline std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c >= ' ' ? c : ' ';
  }
  return result + '"';
}

inline void say_hello(const std::string& library, const Operations& operations) {
  std::cout << "{\"library\": " << quoted(library) << ", \"operations\": [";
  const char* separator = "";
  for (const auto& operation : operations) {
    std::cout << separator << quoted(operation.first);
    separator = ", ";
  }
  std::cout << "]}" << std::endl;
}

inline void answer(const std::vector<double>& seconds, double error, const std::string& problem) {
  std::cout.precision(6);
  std::cout << "{\"error\": " << (error < 1e30 ? error : 1e30) << ", \"problem\": " << quoted(problem)
            << ", \"seconds\": [";
  for (std::size_t i = 0; i < seconds.size(); ++i) std::cout << (i ? ", " : "") << seconds[i];
  std::cout << "]}" << std::endl;
}

class Server {
 public:
  Server(const Operations& operations, double sample_seconds)
      : operations_(operations), sample_seconds_(sample_seconds) {}

  /// Keeps the last workload in memory until the next one.
  void serve(const std::string& line) {
    std::vector<double> seconds;
    try {
      if (line != line_) prepare(line);
      if (problem_.empty() && prepared_.run) seconds = samples_of(prepared_.run, sample_seconds_);
    } catch (const std::exception& error) {
      problem_ = error.what();
    }
    // Waits until worker threads sleep, since some libraries let them spin: another program runs next.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    answer(seconds, error_, problem_);
  }

 private:
  void prepare(const std::string& line) {
    line_ = line;
    prepared_ = {};
    problem_.clear();
    error_ = 0;
    if (line.empty()) return;  // only frees the last workload
    const Work work(line);
    const auto found = operations_.find(work.operation);
    if (found == operations_.end()) throw std::invalid_argument("there is no operation " + work.operation);
    prepared_ = found->second(work);
    prepared_.run();
    error_ = error_of(work, prepared_.result());
    if (!(error_ <= 1)) problem_ = "wrong: off by " + std::to_string(error_) + " times what rounding allows";
  }

  const Operations& operations_;
  double sample_seconds_;
  std::string line_, problem_;
  Prepared prepared_;
  double error_ = 0;
};

}  // namespace detail

/// Answers the lines of the input. BENCHMARK_SAMPLE_SECONDS: length of a sample; default 0.003.
inline int serve(const std::string& library, const Operations& operations) {
  const char* const text = std::getenv("BENCHMARK_SAMPLE_SECONDS");
  detail::Server server(operations, text ? std::atof(text) : 0.003);
  detail::say_hello(library, operations);
  for (std::string line; std::getline(std::cin, line);) server.serve(line);
  return 0;
}

}  // namespace bench
