#pragma once
// Tables of comma-separated values, as RFC 4180 describes them: columns by name, as numbers, categories or texts.

#include <locus/core/moved.hpp>
#include <locus/core/printable.hpp>
#include <locus/io/csv_scanner.hpp>
#include <locus/tensor/copy.hpp>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <optional>

namespace locus { inline namespace LOCUS_ABI { namespace io {

struct CsvOptions {
  char delimiter = ',';      ///< between cells; ';' or '\t' in some files
  char quote = '"';          ///< around a cell that holds delimiters or line ends; '\0': none
  char decimal_point = '.';  ///< ',' in files from some countries
  bool header = true;        ///< whether the first line has the names of the columns; otherwise these are "0", "1", ...
  std::vector<std::string> missing_texts = {"", "NA", "N/A", "NaN", "nan", "null", "NULL"};  ///< cells without a value
};

/// Replacement of a missing value.
struct CsvMissing {
  std::optional<double> missing = {};  ///< such as NaN, 0, or -100, which losses ignore; absent: throws DataError
};

/// A column of names as numbers: names[codes(row)] is the cell.
struct CsvCategories {
  Tensor<std::int64_t> codes;      ///< (rows,)
  std::vector<std::string> names;  ///< in the order of their bytes, or as they were given
};

namespace detail {

/// A vector or an array of texts.
template <class C>
concept ListOfNames = !std::is_convertible_v<const C&, std::string_view> && requires(const C& list) {
  { *list.begin() } -> std::convertible_to<std::string_view>;
  list.end();
};

/// Whether a decimal number that is not 0, and out of double's range, is below 1: from the place of its first nonzero
/// digit relative to the point, and its exponent.
[[nodiscard]] LOCUS_COLD inline bool is_below_one(std::string_view text) {
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  const std::string_view digits = text.substr(0, e);
  const std::size_t point = std::min(digits.find('.'), e), first = std::min(digits.find_first_of("123456789"), e);
  // Place 1 is the digit of units, 0 the digit of tenths.
  const auto place = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first) + (first > point);
  if (e == text.size()) return place <= 0;
  const bool is_negative = text[e + 1] == '-';
  const char* const begin = text.data() + e + 1 + (is_negative || text[e + 1] == '+');
  std::int64_t exponent = 0;
  if (std::from_chars(begin, text.data() + text.size(), exponent).ec != std::errc()) return is_negative;
  return is_negative ? place <= exponent : place <= -exponent;
}

/// Parses an integer or floating-point number, with '.' as its point, that fills `text`. False if it is no number of T;
/// a number too small for T becomes 0.
template <class T>
[[nodiscard]] bool parse_number(std::string_view text, T& number) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const char *const begin = text.data(), *const end = begin + text.size();
  if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) {
    const auto [at, error] = std::from_chars(begin, end, number);
    if (at != end || text.empty()) return false;
    if (error != std::errc::result_out_of_range || std::is_integral_v<T>) return error == std::errc();
    number = 0;
    return is_below_one(text);
  } else if constexpr (std::is_same_v<T, float>) {
    const auto [at, error] = std::from_chars(begin, end, number);
    if (at == end && error == std::errc()) return !text.empty();
    double wide = 0;
    if (!parse_number(text, wide) || wide - wide != 0 || wide > 1 || wide < -1) return false;
    number = static_cast<float>(wide);
    return true;
  } else {
    double wide = 0;
    if (!parse_number(text, wide)) return false;
    number = convert<T>(wide);
    const auto narrow = convert<double>(number);
    return narrow - narrow == 0 || wide - wide != 0;  // no overflow
  }
}

}  // namespace detail

/// A table of comma-separated values, kept as text; cells are parsed on request.
///
///     const io::CsvTable table = io::read_csv("houses.csv");
///     const Tensor<float> x = table.numbers({"area", "rooms"});          // (rows, 2)
///     const Tensor<float> age = table.numbers("age", {.missing = std::numeric_limits<double>::quiet_NaN()});
///     const auto [city, names] = table.categories("city");               // int64 codes, and their names
class CsvTable {
 public:
  /// `name`: the file, for messages. throws DataError naming the line for rows of unequal lengths, quotation marks that
  /// are not closed or stand within an unquoted cell, UTF-16 and zero bytes; ArgumentError for delimiters that cannot
  /// be told apart
  explicit CsvTable(std::string text, const CsvOptions& options = {}, std::string name = "the text")
      : options_(options), scanner_{std::move(text), options.delimiter, options.quote, std::move(name)} {
    const char d = options.delimiter, q = options.quote, p = options.decimal_point;
    if (d == q || d == '\0' || d == '\n' || d == '\r' || q == '\n' || q == '\r' || (p == d && q == '\0') ||
        (p >= '0' && p <= '9') || p == '-' || p == '+' || p == 'e' || p == 'E')
      fail<ArgumentError>({"read_csv: the delimiter ", quoted(d), ", the quotation mark ", quoted(q),
                           " and the decimal point ", quoted(p),
                           "; expected different characters of no other meaning"});
    std::vector<detail::CsvCell> cells;
    std::size_t at = scanner_.begin();
    if (at == scanner_.end()) scanner_.refuse(at, "there is nothing in it; expected rows of cells");
    const std::size_t first = at;
    scanner_.read_row(at, cells);
    for (std::size_t i = 0; i < cells.size(); ++i)
      names_.push_back(options.header ? scanner_.text_of(cells[i]) : std::to_string(i));
    if (!options.header) starts_.push_back(first);
    while ((at = scanner_.skip_blank_lines(at)) != scanner_.end()) {
      starts_.push_back(at);
      const std::size_t start = at;
      scanner_.read_row(at, cells);
      if (cells.size() != names_.size())
        scanner_.refuse(start,
                        join("a row of ", cells.size(), " cells; expected ", names_.size(), ", as in the first line"));
    }
  }

  [[nodiscard]] std::int64_t rows() const {
    require_present();
    return static_cast<std::int64_t>(starts_.size());
  }
  /// The names of the columns, from left to right.
  [[nodiscard]] const std::vector<std::string>& columns() const {
    require_present();
    return names_;
  }
  [[nodiscard]] bool contains(std::string_view column) const {
    return std::find(columns().begin(), columns().end(), column) != columns().end();
  }

  /// The numbers of a column; T is float unless said otherwise.
  /// shape: (rows,)
  /// throws ArgumentError for a column that is missing or there twice; DataError naming file, line and column for a
  /// cell that is no number of T, and, without options.missing, for a missing value
  template <DType T = float>
    requires(!std::is_same_v<T, bool>)
  [[nodiscard]] Tensor<T> numbers(std::string_view column, const CsvMissing& options = {}) const {
    return numbers_of<T>({index_of(column)}, options).reshape({rows()});
  }
  /// The numbers of several columns. shape: (rows, columns)
  template <DType T = float>
    requires(!std::is_same_v<T, bool>)
  [[nodiscard]] Tensor<T> numbers(std::initializer_list<std::string_view> columns,
                                  const CsvMissing& options = {}) const {
    return numbers_of<T>(indices_of(columns), options);
  }
  template <DType T = float, detail::ListOfNames C>
    requires(!std::is_same_v<T, bool>)
  [[nodiscard]] Tensor<T> numbers(const C& columns, const CsvMissing& options = {}) const {
    return numbers_of<T>(indices_of(columns), options);
  }
  /// The numbers of all columns. shape: (rows, columns)
  template <DType T = float>
    requires(!std::is_same_v<T, bool>)
  [[nodiscard]] Tensor<T> numbers(const CsvMissing& options = {}) const {
    std::vector<std::size_t> indices(names_.size());
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = i;
    return numbers_of<T>(indices, options);
  }

  /// A column of names as codes, for the names that occur, in the order of their bytes. options.missing is the code of
  /// a missing value.
  /// throws as numbers() for a missing value without options.missing
  [[nodiscard]] CsvCategories categories(std::string_view column, const CsvMissing& options = {}) const {
    std::vector<std::string> names = texts(column);
    std::erase_if(names, [this](const std::string& name) { return is_missing(name); });
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return coded(column, std::move(names), options);
  }
  /// A column of names as codes for given names, for example of another table, so that codes agree.
  /// throws DataError naming file, line and column for a cell that is none of these names; ArgumentError for a name
  /// that is given twice
  [[nodiscard]] CsvCategories categories(std::string_view column, std::initializer_list<std::string_view> names,
                                         const CsvMissing& options = {}) const {
    return coded(column, {names.begin(), names.end()}, options);
  }
  template <detail::ListOfNames C>
  [[nodiscard]] CsvCategories categories(std::string_view column, const C& names,
                                         const CsvMissing& options = {}) const {
    return coded(column, {names.begin(), names.end()}, options);
  }

  /// The cells of a column as they are, missing ones too, without quotation marks.
  [[nodiscard]] std::vector<std::string> texts(std::string_view column) const {
    std::vector<std::string> result;
    result.reserve(starts_.size());
    for_each_cell(index_of(column), [&](std::int64_t, const std::string& text) { result.push_back(text); });
    return result;
  }

 private:
  [[nodiscard]] static std::string quoted(char c) { return "'" + locus::detail::printable({&c, 1}) + "'"; }
  /// throws ArgumentError where the table was moved from
  void require_present() const { presence_.require("CsvTable"); }
  [[nodiscard]] std::size_t index_of(std::string_view column) const {
    require_present();
    const auto at = std::find(names_.begin(), names_.end(), column);
    if (at == names_.end()) {
      locus::detail::NameList names;
      for (const auto& name : names_) names.add(name);
      fail<ArgumentError>({"'", locus::detail::printable(scanner_.name), "' has no column '",
                           locus::detail::printable(column), "'; there are ", names.text()});
    }
    if (std::find(at + 1, names_.end(), column) != names_.end())
      fail<ArgumentError>({"'", locus::detail::printable(scanner_.name), "' has two columns '",
                           locus::detail::printable(column), "'; give them different names in the file"});
    return static_cast<std::size_t>(at - names_.begin());
  }
  template <class C>
  [[nodiscard]] std::vector<std::size_t> indices_of(const C& columns) const {
    std::vector<std::size_t> indices;
    for (const auto& column : columns) indices.push_back(index_of(column));
    return indices;
  }
  [[nodiscard]] CsvCategories coded(std::string_view column, std::vector<std::string> names,
                                    const CsvMissing& options) const {
    const std::size_t index = index_of(column);
    std::vector<std::size_t> order(names.size());  // of the names by their bytes
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return names[a] < names[b]; });
    for (std::size_t i = 1; i < order.size(); ++i)
      if (names[order[i - 1]] == names[order[i]])
        fail<ArgumentError>({"'", locus::detail::printable(scanner_.name), "', column '",
                             locus::detail::printable(column), "': two of the names are '",
                             locus::detail::printable(names[order[i]]), "'; give each category once"});
    CsvCategories result{Tensor<std::int64_t>({rows()}), {}};
    for_each_cell(index, [&](std::int64_t row, const std::string& text) {
      std::int64_t& code = result.codes.data()[row];
      if (is_missing(text) && !std::count(names.begin(), names.end(), text)) {
        code = value_of_missing<std::int64_t>(row, index, options);
        return;
      }
      const auto at = std::lower_bound(order.begin(), order.end(), text,
                                       [&](std::size_t a, const std::string& sought) { return names[a] < sought; });
      if (at == order.end() || names[*at] != text) refuse_category(row, index, text, names);
      code = static_cast<std::int64_t>(*at);
    });
    result.names = std::move(names);
    return result;
  }
  [[nodiscard]] bool is_missing(std::string_view text) const {
    const std::vector<std::string>& texts = options_.missing_texts;
    return std::find(texts.begin(), texts.end(), text) != texts.end();
  }
  /// Calls f(row, text) for each cell of a column.
  template <class F>
  void for_each_cell(std::size_t column, const F& f) const {
    std::vector<detail::CsvCell> cells;
    for (std::size_t row = 0; row < starts_.size(); ++row) {
      std::size_t at = starts_[row];
      scanner_.read_row(at, cells);
      f(static_cast<std::int64_t>(row), scanner_.text_of(cells[column]));
    }
  }

  template <class T>
  [[nodiscard]] Tensor<T> numbers_of(const std::vector<std::size_t>& columns, const CsvMissing& options) const {
    const Tensor<T> result({rows(), static_cast<std::int64_t>(columns.size())});
    T* out = result.data();
    std::vector<detail::CsvCell> cells;
    for (std::size_t row = 0; row < starts_.size(); ++row) {
      std::size_t at = starts_[row];
      scanner_.read_row(at, cells);
      for (const std::size_t column : columns) *out++ = number_in<T>(row, column, cells[column], options);
    }
    return result;
  }
  template <class T>
  [[nodiscard]] T number_in(std::size_t row, std::size_t column, const detail::CsvCell& cell,
                            const CsvMissing& options) const {
    std::string_view text = scanner_.trimmed(cell);
    if (is_missing(text)) return value_of_missing<T>(static_cast<std::int64_t>(row), column, options);
    std::string with_point;
    if (options_.decimal_point != '.') {
      with_point = text;
      for (char& c : with_point) {
        if (c == '.') c = ',';  // no part of a number
        else if (c == options_.decimal_point) c = '.';
      }
      text = with_point;
    }
    T number{};
    if (!detail::parse_number(text, number)) refuse_number<T>(row, column, scanner_.trimmed(cell));
    return number;
  }
  template <class T>
  [[nodiscard]] T value_of_missing(std::int64_t row, std::size_t column, const CsvMissing& options) const {
    if (!options.missing)
      refuse(static_cast<std::size_t>(row), column,
             "the value is missing; say what stands for it, as in {.missing = 0}, or NAN, of <cmath>");
    const double value = *options.missing;
    if constexpr (std::is_integral_v<T>) {
      if (!(value >= -9007199254740992. && value <= 9007199254740992.) ||
          static_cast<double>(static_cast<T>(static_cast<std::int64_t>(value))) != value)
        fail<ArgumentError>({"read_csv: missing is ", value, ", which is no ", dtype_name<T>(), "; give one that is"});
      return static_cast<T>(static_cast<std::int64_t>(value));
    } else {
      return convert<T>(value);
    }
  }
  template <class T>
  [[noreturn]] LOCUS_COLD void refuse_number(std::size_t row, std::size_t column, std::string_view text) const {
    refuse(
        row, column,
        join("'", locus::detail::printable(text), "' is no number of ", dtype_name<T>(),
             "; read words with categories() or texts(), and list texts that mean a missing value in .missing_texts"));
  }
  [[noreturn]] LOCUS_COLD void refuse_category(std::int64_t row, std::size_t column, const std::string& text,
                                               const std::vector<std::string>& names) const {
    locus::detail::NameList known;
    for (const auto& name : names) known.add(name);
    refuse(static_cast<std::size_t>(row), column,
           join("'", locus::detail::printable(text), "' is none of the categories, which are ", known.text()));
  }
  [[noreturn]] LOCUS_COLD void refuse(std::size_t row, std::size_t column, const std::string& why) const {
    scanner_.refuse(starts_[row], join("column '", locus::detail::printable(names_[column]), "': ", why));
  }

  CsvOptions options_;
  detail::CsvScanner scanner_;
  std::vector<std::string> names_;
  std::vector<std::size_t> starts_;  ///< of the rows, in the text
  locus::detail::Presence presence_;
};

/// Reads a file of comma-separated values: of UTF-8 with or without a byte order mark; lines end by \n, \r\n or \r, and
/// blank ones are left out. Cells with delimiters, quotation marks or line ends are quoted, with quotation marks inside
/// doubled, as in RFC 4180. Numbers may have spaces around them.
/// throws DataError for a file that cannot be read, and as CsvTable; OutOfMemory
/// cost: the file's text in memory, and eight bytes for each row; each call of numbers() goes over the text once
[[nodiscard]] inline CsvTable read_csv(const std::string& path, const CsvOptions& options = {}) {
  return locus::detail::or_out_of_memory({"read_csv: out of memory for '", path, "'"}, [&] {
    detail::InputFile file(path, "a file of comma-separated values");
    std::string text(static_cast<std::size_t>(file.bytes()), '\0');
    text.resize(file.read(text.data(), text.size()));
    return CsvTable(std::move(text), options, path);
  });
}

}}}  // namespace locus::LOCUS_ABI::io
