// The entry point of every test program. Its last line counts test cases, skipped ones apart.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <support/skip.hpp>

namespace {

bool skip_noted = false;

/// Tests compare convolutions of float with float64: without TF32, except where one allows it.
[[maybe_unused]] const int no_tf32 = setenv("LOCUS_TF32_CONVOLUTIONS", "0", 0);

class CaseCounter final : public doctest::IReporter {
 public:
  explicit CaseCounter(const doctest::ContextOptions& options) : options_(options) {}

  void test_run_end(const doctest::TestRunStats& stats) override {
    if (options_.count || options_.list_test_cases) return;
    const unsigned failed = stats.numTestCasesFailed;
    std::fflush(stderr);
    std::printf("%u passed, %u failed, %u skipped\n", stats.numTestCasesPassingFilters - failed - skipped_, failed,
                skipped_);
    std::fflush(stdout);
  }
  void test_case_start(const doctest::TestCaseData&) override { skip_noted = false; }
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    if (skip_noted && stats.failure_flags == 0) ++skipped_;
  }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

 private:
  const doctest::ContextOptions& options_;
  unsigned skipped_ = 0;
};

REGISTER_LISTENER("count", 1, CaseCounter);

}  // namespace

void locus_test::note_skip(const char* reason) {
  skip_noted = true;
  std::printf("skipped: %s\n", reason);
}
