#pragma once
// Tensors as text in NumPy's format, followed by type, place and extents, as in
//
//     std::cout << from({{1, 2.5}, {-3, 4}});
//
//     [[ 1.   2.5]
//      [-3.   4. ]]
//     Tensor<float32, cpu> (2, 3)
//
// At most four decimals, and no more than an element needs; scientific if magnitudes differ by a factor above 1000, or
// are large or small. Beyond 1000 elements, only three at both ends of every dimension are shown. Lines break after 100
// columns.

#include <locus/core/std/bounds.hpp>
#include <locus/tensor/copy.hpp>

#include <iosfwd>
#include <vector>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

inline constexpr std::int64_t print_summary_above = 1000, print_edge = 3;
inline constexpr std::size_t print_columns = 100;
inline constexpr int print_decimals = 4;

/// The common format of all numbers of one tensor.
class NumberFormat {
 public:
  explicit NumberFormat(const std::vector<double>& numbers) {
    double largest = 0, smallest = __builtin_inf();
    for (const double number : numbers) {
      const double magnitude = __builtin_fabs(number);
      if (!__builtin_isfinite(number) || magnitude == 0) continue;
      largest = magnitude > largest ? magnitude : largest;
      smallest = magnitude < smallest ? magnitude : smallest;
    }
    scientific_ = largest >= 1e8 || (largest > 0 && (smallest < 1e-4 || largest / smallest > 1000));
    for (const double number : numbers) {
      if (__builtin_isfinite(number)) decimals_ = larger(decimals_, decimals_of(raw(number, print_decimals)));
    }
  }

  /// The imaginary part of a complex number: its sign, always, and j behind its last digit.
  [[nodiscard]] std::string imaginary(double number) const {
    std::string text = (*this)(number);
    if (text.front() != '-') text.insert(0, 1, '+');
    const auto last = text.find_last_not_of(' ');
    return text.insert(last + 1, 1, 'j');
  }

  /// Aligns fixed-point numbers at the point: trailing zeros become blanks.
  [[nodiscard]] std::string operator()(double number) const {
    if (!__builtin_isfinite(number)) return __builtin_isnan(number) ? "nan" : number < 0 ? "-inf" : "inf";
    std::string text = raw(number, decimals_);
    if (!scientific_) {
      for (auto i = text.size(); i-- > 0 && text[i] == '0';) text[i] = ' ';
    }
    return text;
  }

 private:
  /// Always with a decimal point.
  [[nodiscard]] std::string raw(double number, int decimals) const {
    char text[48];
    std::snprintf(text, sizeof text, scientific_ ? "%#.*e" : "%#.*f", decimals, number);
    return text;
  }
  [[nodiscard]] static int decimals_of(const std::string& text) {
    const auto point = text.find('.');
    auto end = text.find('e');
    if (end == std::string::npos) end = text.size();
    while (text[end - 1] == '0') --end;
    return static_cast<int>(end - point - 1);
  }

  bool scientific_ = false;
  int decimals_ = 0;
};

/// A host tensor as text.
template <class T, class D>
class Printer {
 public:
  explicit Printer(const Tensor<T, D>& tensor) : tensor_(tensor), summarized_(tensor.elements() > print_summary_above) {
    if (tensor.empty()) return;
    std::vector<T> shown;
    visit(0, tensor.data(), [&](const T& value) { shown.push_back(value); });
    write_texts(shown);
  }

  [[nodiscard]] std::string text() {
    if (tensor_.empty()) return "[]";
    std::string out;
    append(0, out);
    return out;
  }

 private:
  /// Calls f(position) for the positions shown of a dimension, and gap() where positions are left out.
  template <class F, class Gap>
  void positions(int dim, const F& f, const Gap& gap) const {
    const std::int64_t extent = tensor_.size(dim);
    const bool shortened = summarized_ && extent > 2 * print_edge;
    for (std::int64_t i = 0; i < extent; ++i) {
      if (shortened && i == print_edge) {
        gap();
        i = extent - print_edge;
      }
      f(i);
    }
  }

  template <class F>
  void visit(int dim, const T* at, const F& f) const {
    if (dim == tensor_.rank()) return f(*at);
    positions(
        dim, [&](std::int64_t i) { visit(dim + 1, at + i * tensor_.strides()[dim], f); }, [] {});
  }

  void write_texts(const std::vector<T>& shown) {
    texts_.reserve(shown.size());
    if constexpr (is_complex<T>) {
      write_complex_texts(shown);
    } else if constexpr (FloatingDType<T>) {
      std::vector<double> numbers;
      for (const T& value : shown) numbers.push_back(convert<double>(value));
      const NumberFormat format(numbers);
      for (const double number : numbers) texts_.push_back(format(number));
    } else {
      for (const T& value : shown) texts_.push_back(join(value));
    }
    for (const auto& text : texts_) width_ = larger(width_, text.size());
  }

  /// Real parts are aligned, and so are imaginary parts.
  void write_complex_texts(const std::vector<T>& shown) {
    std::vector<double> reals, imags;
    for (const T& z : shown) reals.push_back(z.real), imags.push_back(z.imag);
    const NumberFormat real(reals), imag(imags);
    std::size_t real_width = 0, imag_width = 0;
    for (const T& z : shown) {
      real_width = larger(real_width, real(z.real).size());
      imag_width = larger(imag_width, imag.imaginary(z.imag).size());
    }
    const auto aligned = [](std::size_t width, const std::string& text) {
      return std::string(width - text.size(), ' ') + text;
    };
    for (const T& z : shown)
      texts_.push_back(aligned(real_width, real(z.real)) + aligned(imag_width, imag.imaginary(z.imag)));
  }

  void append(int dim, std::string& out) {
    if (dim == tensor_.rank()) {
      const std::string& text = texts_[next_++];
      out.append(width_ - text.size(), ' ') += text;
    } else {
      out += '[';
      dim + 1 == tensor_.rank() ? append_row(dim, out) : append_blocks(dim, out);
      out += ']';
    }
  }

  void append_row(int dim, std::string& out) {
    std::size_t column = static_cast<std::size_t>(dim) + 1;
    bool first = true;
    const auto separate = [&](std::size_t width) {
      if (!first && column + 1 + width > print_columns) {
        column = static_cast<std::size_t>(dim) + 1;
        out.append("\n").append(column, ' ');
      } else if (!first) {
        out += ' ';
        ++column;
      }
      column += width;
      first = false;
    };
    positions(
        dim, [&](std::int64_t) { separate(width_), append(dim + 1, out); }, [&] { separate(3), out += "..."; });
  }

  void append_blocks(int dim, std::string& out) {
    const auto lines = static_cast<std::size_t>(tensor_.rank() - dim - 1);
    bool first = true;
    const auto separate = [&] {
      if (!first) out.append(lines, '\n').append(static_cast<std::size_t>(dim) + 1, ' ');
      first = false;
    };
    positions(
        dim, [&](std::int64_t) { separate(), append(dim + 1, out); }, [&] { separate(), out += "..."; });
  }

  const Tensor<T, D>& tensor_;
  bool summarized_;
  std::vector<std::string> texts_;
  std::size_t width_ = 0, next_ = 0;
};

template <class X>
concept Printable = HasPlace<X> && requires(const X& x) { x.eval().value().strides(); };
template <class X>
concept PrintableHere = Printable<X> && HostAccessible<device_of<X>>;
template <class X>
concept PrintableElsewhere = Printable<X> && !HostAccessible<device_of<X>>;

}  // namespace detail

/// The text described at the top of the file. Computes a pending x. cost: linear in the characters shown, and a launch
/// if pending
template <detail::PrintableHere X>
[[nodiscard]] std::string to_string(const X& x) {
  const auto& tensor = x.eval().value();
  return join(detail::Printer(tensor).text(), "\nTensor<", dtype_name<value_of<X>>(), ", ", to_string(tensor.device()),
              "> ", tensor.shape());
}
template <class Traits, detail::PrintableHere X>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const X& x) {
  return out << to_string(x);
}

/// A 16-bit number, written as a float.
template <class Traits, class T>
  requires(std::is_same_v<T, half> || std::is_same_v<T, bfloat16>)
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, T x) {
  return out << static_cast<float>(x);
}

/// A complex number, as in Python: (1-2j).
template <class R>
[[nodiscard]] std::string to_string(const Complex<R>& z) {
  std::string imag = join(z.imag);
  if (imag.front() != '-') imag.insert(0, 1, '+');
  return join("(", z.real, imag, "j)");
}
template <class Traits, class R>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const Complex<R>& z) {
  return out << to_string(z);
}

/// A shape, written as by to_string.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const Dims& dims) {
  return out << to_string(dims);
}

// Memory that the host cannot read is not printed: the copy would be hidden.
#include <locus/refuse/tensor/print.inc>

}}  // namespace locus::LOCUS_ABI
