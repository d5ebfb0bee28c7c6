// Runs on: host.
#include <locus/core/system/environment.hpp>

#include <locus/cpu/conv/conv.hpp>
#include <locus/cpu/threads/parallel.hpp>
#include <locus/device/trace/launch_trace.hpp>
#include <locus/device/trace/phase_trace.hpp>
#include <locus/distributed/engine/engine.hpp>

#include <doctest/doctest.h>

#include <support/environment_variable.hpp>
#include <support/thrown.hpp>

using namespace locus;
using namespace locus_test;

TEST_CASE("a switch in the environment is 1 or 0") {
  for (const char* const unset : {static_cast<const char*>(nullptr), ""}) {
    const Variable variable("LOCUS_TESTED", unset);
    CHECK(detail::switch_from_environment("LOCUS_TESTED", true));
    CHECK_FALSE(detail::switch_from_environment("LOCUS_TESTED", false));
  }
  for (const bool otherwise : {false, true}) {
    const Variable on("LOCUS_TESTED", "1");
    CHECK(detail::switch_from_environment("LOCUS_TESTED", otherwise));
    const Variable off("LOCUS_TESTED", "0");
    CHECK_FALSE(detail::switch_from_environment("LOCUS_TESTED", otherwise));
  }
  for (const char* const text : {"off", "false", "yes", "2", "1 ", "00"}) {
    const Variable variable("LOCUS_DIST_DEBUG", text);
    const std::string message = message_of<ArgumentError>([] { (void)dist::detail::from_environment({}); });
    CHECK(message == join("LOCUS_DIST_DEBUG is \"", text, "\"; expected 1, or 0"));
  }
}

TEST_CASE("switches that are read once refuse another text, and are read again") {
  for (const char* const text : {"off", "jsonx", "json ", "json:", "JSON", "2", "1json", "01"}) {
    const Variable trace("LOCUS_TRACE", text);
    const std::string message = join("LOCUS_TRACE is \"", text, "\"; expected 0, 1, json or json:FILE");
    CHECK(message_of<ArgumentError>([] { (void)launches_are_traced(); }) == message);
    CHECK(message_of<ArgumentError>([] { (void)phases_are_traced(); }) == message);
  }
  {
    const Variable winograd("LOCUS_WINOGRAD", "off");
    CHECK(message_of<ArgumentError>([] { (void)cpu::winograd_is_allowed(); }) ==
          "LOCUS_WINOGRAD is \"off\"; expected 1, or 0");
  }
  const Variable trace("LOCUS_TRACE", nullptr), winograd("LOCUS_WINOGRAD", nullptr);
  CHECK_FALSE(launches_are_traced());
  CHECK_FALSE(phases_are_traced());
  for (const char* const text : {"0", "1", "json", "json:a b.json"}) {
    const Variable told("LOCUS_TRACE", text);
    CHECK(detail::trace_from_environment() == text);
  }
  CHECK(cpu::winograd_is_allowed());
}

TEST_CASE("a time-out in the environment is seconds without a unit, of any size") {
  const auto timeout = [](const char* text) {
    const Variable variable("LOCUS_DIST_TIMEOUT", text);
    return dist::detail::from_environment({}).timeout;
  };
  CHECK(timeout(nullptr) == 60);
  CHECK(timeout("") == 60);
  CHECK(timeout("0.5") == 0.5);
  CHECK(timeout("2147484") == 2147484);
  CHECK(timeout("1e300") == 1e300);
  for (const char* const text : {"1m", "60s", "1:00", "0", "-1", "nan", "many", "5 6"})
    CHECK(message_of<ArgumentError>([&] { (void)timeout(text); }) ==
          join("LOCUS_DIST_TIMEOUT is \"", text, "\"; expected seconds above 0, as 60 or 0.5, without a unit"));
}

TEST_CASE("a number of threads in the environment is a number") {
  const auto threads = [](const char* own, const char* others) {
    const Variable locus("LOCUS_NUM_THREADS", own), openmp("OMP_NUM_THREADS", others);
    return cpu::detail::threads_of_environment();
  };
  CHECK(threads("3", "5") == 3);
  CHECK(threads("0", "5") == 5);
  CHECK(threads(nullptr, "4,2") == 4);
  CHECK(threads(nullptr, "many") == 0);
  CHECK(threads(nullptr, nullptr) == 0);
  for (const char* const text : {"2x", "-1", "many", "1e3", "99999999999"})
    CHECK(message_of<ArgumentError>([&] { (void)threads(text, nullptr); }) ==
          join("LOCUS_NUM_THREADS is \"", text, "\"; expected a number of threads, 0 to 2147483647"));
}
