// Runs on: host.
#include <locus/io/csv.hpp>

#include <doctest/doctest.h>

#include <support/fuzz.hpp>
#include <support/reference.hpp>
#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>

#include <cmath>

using namespace locus;
using namespace locus_test;
using io::CsvTable;
using Texts = std::vector<std::string>;
using namespace std::string_literals;

namespace {

[[nodiscard]] std::string refusal(const auto& f) { return message_of<DataError>(f); }
[[nodiscard]] std::string refusal_of(std::string text, const io::CsvOptions& options = {}) {
  return refusal([&] { (void)CsvTable(text, options, "f.csv"); });
}
const char* const houses =
    "area,rooms, city \r\n65,3,Ghent\r\n90.5, 4 ,\"Sint-Niklaas, \"\"north\"\"\"\n\n+111,NA,Ghent";

}  // namespace

TEST_CASE("columns by name, as numbers, categories and texts") {
  const TemporaryFolder folder;
  const CsvTable table = io::read_csv(folder.write("houses.csv", houses));
  CHECK(table.rows() == 3);
  CHECK(table.columns() == Texts{"area", "rooms", "city"});
  CHECK((table.contains("rooms") && !table.contains("Rooms")));
  const Tensor<float> area = table.numbers("area");
  CHECK(area.shape() == Shape{3});
  CHECK_CLOSE(area, {65, 90.5, 111});
  CHECK_CLOSE(table.numbers<std::int64_t>("rooms", {.missing = -1}), {3, 4, -1});
  CHECK(std::isnan(table.numbers("rooms", {.missing = NAN})(2)));
  const Tensor<double> both = table.numbers<double>({"rooms", "area"}, {.missing = 0});
  CHECK(both.shape() == Shape{3, 2});
  CHECK_CLOSE(both.flatten(), {3, 65, 4, 90.5, 0, 111});
  CHECK_CLOSE(table.numbers(Texts{"area"}).flatten(), {65, 90.5, 111});
  CHECK(table.texts("city") == Texts{"Ghent", "Sint-Niklaas, \"north\"", "Ghent"});
  const auto [city, names] = table.categories("city");
  CHECK_CLOSE(city, {0, 1, 0});
  CHECK(names == Texts{"Ghent", "Sint-Niklaas, \"north\""});
  const auto rooms = table.categories("rooms", {.missing = -100});
  CHECK_CLOSE(rooms.codes, {0, 1, -100});
  CHECK(rooms.names == Texts{"3", "4"});
  // Codes that another table had.
  CHECK_CLOSE(table.categories("rooms", {"4", "NA", "3"}).codes, {2, 0, 1});
  CHECK_CLOSE(table.categories("rooms", rooms.names, {.missing = 7}).codes, {0, 1, 7});
}

TEST_CASE("a mistake in a cell is told with file, line and column") {
  const CsvTable table(houses, {}, "houses.csv");
  CHECK(
      refusal([&] { (void)table.numbers("city"); }) ==
      "'houses.csv', line 2: column 'city': 'Ghent' is no number of float32; read words with categories() or texts(), "
      "and list texts that mean a missing value in .missing_texts");
  CHECK(refusal([&] { (void)table.numbers("rooms"); }) ==
        "'houses.csv', line 5: column 'rooms': the value is missing; say what stands for it, as in {.missing = 0}, or "
        "NAN, of <cmath>");
  CHECK(contains(refusal([&] { (void)table.numbers<std::int32_t>("area"); }), "line 3: column 'area': '90.5'"));
  CHECK(contains(refusal([&] { (void)table.categories("rooms"); }), "line 5: column 'rooms': the value is missing"));
  CHECK(contains(refusal([&] { (void)table.categories("city", {"Ghent"}); }),
                 "is none of the categories, which are 'Ghent'"));
  CHECK(message_of<ArgumentError>([&] { (void)table.numbers("price"); }) ==
        "'houses.csv' has no column 'price'; there are 'area', 'rooms', 'city'");
  CHECK(message_of<ArgumentError>([&] {
          (void)table.categories("city", {"Ghent", "a\nb", "Mons", "a\nb"});
        }) == "'houses.csv', column 'city': two of the names are 'a\\nb'; give each category once");
  CHECK_THROWS_AS((void)table.categories("rooms", Texts{"3", "3"}), ArgumentError);
  CHECK_THROWS_AS((void)table.numbers<std::int64_t>("rooms", {.missing = 0.5}), ArgumentError);
  CHECK_THROWS_AS((void)table.numbers<std::uint8_t>("rooms", {.missing = -1}), ArgumentError);
  CHECK(contains(message_of<ArgumentError>([] { (void)CsvTable("a,a\n1,2").numbers("a"); }), "two columns 'a'"));
}

TEST_CASE("numbers of every type, rounded once") {
  const CsvTable table("x\n-1.5e3\n .25 \n\"7\"\n-inf\n1e-400\n0.1\n");
  CHECK_CLOSE(table.numbers("x"), {-1500, 0.25, 7, -INFINITY, 0, 0.1f});
  CHECK_CLOSE(table.numbers<double>("x"), {-1500, 0.25, 7, -INFINITY, 0, 0.1});
  CHECK_CLOSE(table.numbers<half>("x"), {-1500, 0.25, 7, -INFINITY, 0, 0.0999755859375});
  CHECK_CLOSE(table.numbers<bfloat16>("x"), {-1504, 0.25, 7, -INFINITY, 0, 0.10009765625});
  CHECK_CLOSE(CsvTable("x\n1e-60\n-1e-42\n").numbers("x"), {0, double{-1e-42f}});
  CHECK_CLOSE(CsvTable("x\n9223372036854775807\n-0\n+5").numbers<std::int64_t>("x"), {9223372036854775807., 0, 5});
  CHECK(CsvTable("x\n9007199254740993").numbers<std::int64_t>("x")(0) == 9007199254740993);
  CHECK_CLOSE(CsvTable("x\n255").numbers<std::uint8_t>("x"), {255});
  const std::string zeros(400, '0');
  CHECK_CLOSE(CsvTable("x\n0." + zeros + "1e+5\n-.0e999\n1000e-400\n0.01e-99999999999999999999\n1" + zeros +
                       "e-400\n0." + zeros + "1e401")
                  .numbers<double>("x"),
              {0, 0, 0, 0, 1, 1});
  for (const std::string& bad :
       {"1e39"s, "-1e999"s, "0.1e999"s, "-0.5e400"s, ".5E+4000"s, "1" + zeros + "e-5",
        "0." + zeros + "1e+99999999999999999999", "1.5.2"s, "1 2"s, "0x10"s, "--1"s, "+-1"s, "1e"s, "."s}) {
    CAPTURE(bad);
    const CsvTable wrong("x\n" + bad);
    CHECK(contains(refusal([&] { (void)wrong.numbers("x"); }), "is no number of float32"));
    CHECK((bad == "1e39" || contains(refusal([&] { (void)wrong.numbers<double>("x"); }), "is no number of float64")));
  }
  CHECK_THROWS_AS((void)CsvTable("x\n256").numbers<std::uint8_t>("x"), DataError);
  CHECK_THROWS_AS((void)CsvTable("x\n-1").numbers<std::uint64_t>("x"), DataError);
  CHECK_THROWS_AS((void)CsvTable("x\n70000").numbers<half>("x"), DataError);
}

TEST_CASE("files of other programs: byte order marks, line ends, delimiters, decimal points, no heading") {
  CHECK(CsvTable("\xef\xbb\xbfx,y\r\n1,2\r\n").columns() == Texts{"x", "y"});
  CHECK_CLOSE(CsvTable("x\r1\r2\r").numbers("x"), {1, 2});
  CHECK(CsvTable("\n\r\nx,y\n\n1,2\n\n\n").rows() == 1);
  CHECK_CLOSE(CsvTable("x;y\n1,5;2\n", {.delimiter = ';', .decimal_point = ','}).numbers().flatten(), {1.5, 2});
  CHECK_THROWS_AS((void)CsvTable("x;y\n1.5;2\n", {.delimiter = ';', .decimal_point = ','}).numbers(), DataError);
  CHECK_CLOSE(CsvTable("1\t2\n3\t4", {.delimiter = '\t', .header = false}).numbers("1"), {2, 4});
  CHECK(CsvTable("5\" pipe,1", {.quote = '\0', .header = false}).texts("0") == Texts{"5\" pipe"});
  CHECK(CsvTable("'a,b',c", {.quote = '\'', .header = false}).texts("0") == Texts{"a,b"});
  CHECK(CsvTable("x,y\n\"two\nlines\",\n").texts("x") == Texts{"two\nlines"});
  CHECK(CsvTable("x,y\n\"\",\n").texts("y") == Texts{""});
  CHECK_CLOSE(CsvTable("x\n?\n1", {.missing_texts = {"?"}}).numbers("x", {.missing = 9}), {9, 1});
  const CsvTable heading_alone("x,y\n");
  CHECK(heading_alone.rows() == 0);
  CHECK(heading_alone.numbers().shape() == Shape{0, 2});
  CHECK(heading_alone.categories("x").names.empty());
}

TEST_CASE("texts that are no table") {
  CHECK(refusal_of("") == "'f.csv', line 1: there is nothing in it; expected rows of cells");
  CHECK(refusal_of("x,y\n1,2\n\n3\n") == "'f.csv', line 4: a row of 1 cells; expected 2, as in the first line");
  CHECK(contains(refusal_of("x,y\n\"a\nb\",2\n1,2,3"), "line 4: a row of 3 cells"));
  CHECK(contains(refusal_of("x\r\n1\r\n\"2"), "line 3: cell 1 begins with a quotation mark that nothing closes"));
  CHECK(contains(refusal_of("x\n\"1\" \n"), "line 2: text follows the quotation mark that closes cell 1"));
  CHECK(contains(refusal_of("x,y\n1, \"a\"\n"), "line 2: a quotation mark within cell 2"));
  CHECK(contains(refusal_of(std::string("x\n1\0", 4)), "line 2: there is a zero byte"));
  CHECK(contains(refusal_of("\xff\xfex"), "UTF-16"));
  CHECK_THROWS_AS(CsvTable("x", {.delimiter = '"'}), ArgumentError);
  CHECK_THROWS_AS(CsvTable("x", {.delimiter = '\n'}), ArgumentError);
  CHECK_THROWS_AS(CsvTable("x", {.decimal_point = '1'}), ArgumentError);
  const TemporaryFolder folder;
  CHECK(contains(refusal([&] { (void)io::read_csv(folder.path / "none.csv"); }), "No such file"));
  CHECK(contains(refusal([&] { (void)io::read_csv(folder.path); }), "is a folder"));
}

TEST_CASE("what is written as RFC 4180 says is read again, and other bytes are a table or a DataError") {
  Philox random(fuzz_seed(7), 0, 0);
  const auto below = [&](std::int64_t n) { return random.bounded(n); };
  const std::string alphabet = "\",\n\r \t;'.-+eE017nafix\xef\xbb\xbf\0"s;
  const auto bytes = [&](std::int64_t most) {
    std::string text;
    for (std::int64_t left = below(most + 1); left > 0; --left)
      text += alphabet[static_cast<std::size_t>(below(static_cast<std::int64_t>(alphabet.size())))];
    return text;
  };
  std::int64_t tables = 0;
  for (std::int64_t trial = fuzz_count(3000); trial > 0; --trial) {
    CAPTURE(trial);
    std::vector<Texts> rows(static_cast<std::size_t>(1 + below(3)), Texts(static_cast<std::size_t>(1 + below(3))));
    std::string text;
    for (auto& row : rows) {
      for (auto& cell : row) {
        cell = bytes(5);
        std::erase(cell, '\0');
        text += &cell == &row.front() ? "\"" : ",\"";
        for (const char c : cell) text += c == '"' ? std::string("\"\"") : std::string(1, c);
        text += '"';
      }
      text += below(2) == 0 ? "\n" : "\r\n";
    }
    const CsvTable whole(text, {.header = false});
    REQUIRE(whole.rows() == static_cast<std::int64_t>(rows.size()));
    for (std::size_t column = 0; column < rows[0].size(); ++column)
      for (std::size_t row = 0; row < rows.size(); ++row)
        CHECK(whole.texts(std::to_string(column))[row] == rows[row][column]);

    for (std::int64_t changes = below(4); changes > 0; --changes) {
      const auto at = static_cast<std::size_t>(below(static_cast<std::int64_t>(text.size())));
      text.replace(at, static_cast<std::size_t>(below(3)), bytes(2));
      if (text.empty()) text = "x";
    }
    for (const std::string& input : {text, bytes(24)}) {
      try {
        const CsvTable table(input, {.decimal_point = below(2) == 0 ? '.' : ','});
        ++tables;
        const std::string& name = table.columns().front();
        (void)table.texts(name);
        (void)table.categories(name, {.missing = -1});
        (void)table.numbers<std::int32_t>({.missing = 1});
        (void)table.numbers({.missing = NAN});
      } catch (const DataError&) {
      } catch (const ArgumentError&) {  // two columns of a name
      }
    }
  }
  CHECK(tables > 0);
}
