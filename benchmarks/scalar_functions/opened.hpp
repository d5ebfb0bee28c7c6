#pragma once
// The libraries that a program measures: shared objects that it is given.

#include "library.hpp"

#include <locus/core/check.hpp>
#include <locus/core/printable.hpp>

#include <dlfcn.h>

#include <map>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace accuracy {

struct Opened {
  std::string name, version;
  std::map<std::string, Loop, std::less<>> functions;
};

/// Those of this type. throws DataError for a file that is no shared object of libraries/
[[nodiscard]] inline std::vector<Opened> opened(std::span<char* const> paths, std::string_view type) {
  std::vector<Opened> result;
  for (const char* path : paths) {
    void* const object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object)
      locus::fail<locus::DataError>(
          {"cannot open ", path, ": ", dlerror(), "; expected a shared object of libraries/"});
    const auto open = reinterpret_cast<Open>(dlsym(object, open_name));
    if (!open)
      locus::fail<locus::DataError>({path, " does not define ", open_name, "; expected a shared object of libraries/"});
    const Libraries libraries = open();
    for (const Library& library : std::span(libraries.data, libraries.count)) {
      if (library.type != type) continue;
      Opened& one = result.emplace_back(Opened{library.name, library.version, {}});
      for (const Function& f : std::span(library.functions, library.count)) one.functions.emplace(f.name, f.run);
    }
  }
  return result;
}

/// The libraries of a list with commas that have the function. throws ArgumentError for an unknown name
template <class Subject>
[[nodiscard]] std::vector<Subject> subjects_of(const std::string& list, const std::string& function,
                                               std::span<const Opened> libraries) {
  std::vector<Subject> subjects;
  std::stringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    bool is_known = false;
    for (const Opened& library : libraries) {
      if (library.name != name) continue;
      is_known = true;
      const auto found = library.functions.find(function);
      if (found != library.functions.end()) subjects.push_back({&library, found->second});
    }
    if (!is_known)
      locus::fail<locus::ArgumentError>(
          {"\"", locus::detail::printable(name), "\" is no library of an opened shared object"});
  }
  return subjects;
}

}  // namespace accuracy
