#pragma once
// Scanner of comma-separated values: finds where cells begin and end.

#include <locus/core/printable.hpp>
#include <locus/core/system/input_file.hpp>
#include <locus/core/system/out_of_memory.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

/// A cell's range in the text, without enclosing quotation marks.
struct CsvCell {
  std::size_t begin = 0, end = 0;
  bool is_quoted = false, has_quotes = false;  ///< has_quotes: doubled quotation marks, each pair meaning one
};

struct CsvScanner {
  std::string text;
  char delimiter, quote;
  std::string name;  ///< of the file, for messages

  /// Begin of the first row, after a byte order mark and blank lines. throws DataError for UTF-16 and for zero bytes
  [[nodiscard]] std::size_t begin() const {
    const std::string_view all = text;
    if (all.starts_with("\xff\xfe") || all.starts_with("\xfe\xff"))
      refuse(0, "the text is UTF-16; save the file as UTF-8");
    if (const std::size_t zero = all.find('\0'); zero != all.npos)
      refuse(zero, "there is a zero byte; expected text, of UTF-8 or ASCII");
    return skip_blank_lines(all.starts_with("\xef\xbb\xbf") ? 3 : 0);
  }
  [[nodiscard]] std::size_t end() const { return text.size(); }
  [[nodiscard]] std::size_t skip_blank_lines(std::size_t at) const {
    while (at < text.size() && ends_line(text[at])) ++at;
    return at;
  }

  /// Reads the cells of the row that begins at `at`; moves `at` behind the row's line end. throws DataError
  void read_row(std::size_t& at, std::vector<CsvCell>& cells) const {
    cells.clear();
    for (;; ++at) {
      cells.push_back(read_cell(at, cells.size()));
      if (at == text.size() || text[at] != delimiter) break;
    }
    if (at < text.size() && text[at] == '\r') ++at;
    if (at < text.size() && text[at] == '\n') ++at;
  }
  [[nodiscard]] std::string text_of(const CsvCell& cell) const {
    const std::string_view raw = std::string_view(text).substr(cell.begin, cell.end - cell.begin);
    if (!cell.has_quotes) return std::string(cell.is_quoted ? raw : trim(raw));
    std::string result;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      result += raw[i];
      if (raw[i] == quote) ++i;  // the second of two
    }
    return result;
  }
  [[nodiscard]] std::string_view trimmed(const CsvCell& cell) const {
    return trim(std::string_view(text).substr(cell.begin, cell.end - cell.begin));
  }

  /// throws DataError naming the line of position `at`
  [[noreturn]] LOCUS_COLD void refuse(std::size_t at, std::string_view why) const {
    std::size_t line = 1;
    for (std::size_t i = 0; i < at && i < text.size(); ++i)
      line += text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'));
    fail<DataError>({"'", locus::detail::printable(name), "', line ", line, ": ", why});
  }

 private:
  [[nodiscard]] static bool ends_line(char c) { return c == '\n' || c == '\r'; }
  [[nodiscard]] static std::string_view trim(std::string_view raw) {
    while (!raw.empty() && (raw.front() == ' ' || raw.front() == '\t')) raw.remove_prefix(1);
    while (!raw.empty() && (raw.back() == ' ' || raw.back() == '\t')) raw.remove_suffix(1);
    return raw;
  }
  [[nodiscard]] CsvCell read_cell(std::size_t& at, std::size_t number) const {
    const std::size_t size = text.size(), first = at;
    if (quote == '\0' || at == size || text[at] != quote) {
      while (at < size && text[at] != delimiter && !ends_line(text[at])) {
        if (quote != '\0' && text[at] == quote) refuse_quote(first, number);
        ++at;
      }
      return {first, at};
    }
    CsvCell cell{++at, at, true};
    for (;; ++at) {
      if (at == size)
        refuse(first, join("cell ", number + 1, " begins with a quotation mark that nothing closes before the end"));
      if (text[at] != quote) continue;
      if (at + 1 == size || text[at + 1] != quote) break;
      cell.has_quotes = true;
      ++at;
    }
    cell.end = at++;
    if (at < size && text[at] != delimiter && !ends_line(text[at]))
      refuse(at, join("text follows the quotation mark that closes cell ", number + 1,
                      "; expected the delimiter, the end of the line, or a doubled mark within the cell"));
    return cell;
  }
  [[noreturn]] LOCUS_COLD void refuse_quote(std::size_t at, std::size_t number) const {
    refuse(
        at,
        join("a quotation mark within cell ", number + 1,
             ", which does not begin with one; expected the whole cell in marks, and doubled ones in it; where marks "
             "mean nothing, say .quote = '\\0'"));
  }
};

}}}  // namespace locus::LOCUS_ABI::io::detail
