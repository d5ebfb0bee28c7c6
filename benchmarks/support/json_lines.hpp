#pragma once
// A program that answers requests, a line each, by lines of JSON: measure_pages.py runs such programs.

#include "environment.hpp"
#include "places.hpp"

#include <locus/core/printable.hpp>
#include <locus/io/json.hpp>

#include <cstdio>
#include <iostream>
#include <sstream>

namespace bench {

#if LOCUS_NVCC
using D = locus::Cuda;
#else
using D = locus::Cpu;
#endif

inline void print(const locus::io::JsonWriter& json) {
  std::printf("%s", json.text().c_str());
  std::fflush(stdout);
}

/// Wall seconds of one call.
template <class F>
[[nodiscard]] double seconds_of(const F& run) {
  const locus::Stopwatch watch;
  run();
  return watch.seconds();
}

/// The request of a line. throws ArgumentError unless the line has the fields of Request::form, and no more
template <class Request>
[[nodiscard]] Request request_of(const std::string& line, std::int64_t number) {
  std::istringstream fields(line);
  Request request;
  if (!(fields >> request) || !(fields >> std::ws).eof())
    locus::fail<locus::ArgumentError>(
        {"line ", number, " is \"", locus::detail::printable(line), "\"; expected ", Request::form});
  return request;
}

/// Prints the environment, then answers each line of standard input. Returns the exit status: 1 after an exception,
/// which it prints. Without a GPU, a program for GPUs fails at once.
template <class Request, class Answer>
[[nodiscard]] int answer_lines(const char* program, const Answer& answer) {
  try {
    const Places places = places_from(std::is_same_v<D, locus::Cuda> ? "cuda" : "cpu");
    locus::io::JsonWriter json(locus::io::JsonWriter::Form::compact);
    print(write_members(json.begin_object(), environment_of(places)).end_object());
    std::int64_t number = 0;
    for (std::string line; std::getline(std::cin, line);) answer(request_of<Request>(line, ++number));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << program << ": " << error.what() << "\n";
    return 1;
  }
}

}  // namespace bench
