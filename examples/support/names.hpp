#pragma once
// Family names by language: a small list of some common ones, or a folder of lists.

#include <string>
#include <vector>

/// The names of a language, in UTF-8.
struct Language {
  std::string name;
  std::vector<std::string> names;
};

/// Twenty common names of each of twenty languages, in ASCII as they are often written abroad.
[[nodiscard]] std::vector<Language> common_names();

/// FOLDER/LANGUAGE.txt, a name a line, sorted by language.
/// throws DataError for a folder or file that cannot be read, a file without names, or fewer than two files
[[nodiscard]] std::vector<Language> read_names(const std::string& folder);
