#pragma once
// File descriptors that close themselves, and a check of paths.

#include <locus/core/check.hpp>
#include <locus/core/printable.hpp>

#include <cerrno>
#include <csignal>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

/// throws DataError for an empty path, and for a path with a NUL, where the system would cut it
inline void require_path(const char* verb, const std::string& path) {
  if (path.empty()) fail<DataError>({"cannot ", verb, " a file without a name; expected a path"});
  if (path.find('\0') != std::string::npos)
    fail<DataError>({"cannot ", verb, " '", locus::detail::printable(path, 200),
                     "': a path cannot hold a zero byte; expected one without"});
}

/// During its lifetime, a write of this thread beyond the limit of file sizes (ulimit -f) fails with EFBIG; SIGXFSZ,
/// which would end the process, is blocked.
class WithoutSizeSignal {
 public:
  WithoutSizeSignal() {
    sigset_t pending;
    sigemptyset(&size_);
    sigaddset(&size_, SIGXFSZ);
    was_pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    (void)pthread_sigmask(SIG_BLOCK, &size_, &before_);
  }
  WithoutSizeSignal(const WithoutSizeSignal&) = delete;
  WithoutSizeSignal& operator=(const WithoutSizeSignal&) = delete;
  /// Discards a SIGXFSZ of a write in between; preserves errno.
  ~WithoutSizeSignal() {
    const int error = errno;
    const timespec at_once{};
    if (!was_pending_)
      while (sigtimedwait(&size_, nullptr, &at_once) < 0 && errno == EINTR) {}
    (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  sigset_t size_, before_;
  bool was_pending_;
};

/// Owns a file descriptor, or none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { (void)close(); }

  [[nodiscard]] explicit operator bool() const { return number_ >= 0; }
  [[nodiscard]] int number() const { return number_; }
  /// Returns 0 or an errno.
  int close() {
    const int number = std::exchange(number_, -1);
    return number >= 0 && ::close(number) != 0 && errno != EINTR ? errno : 0;
  }

 private:
  int number_;
};

}}}  // namespace locus::LOCUS_ABI::io::detail
