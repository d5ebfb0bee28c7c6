#pragma once
// A library whose scalar functions are measured. Each is a shared object that floats.cpp and sixteen_bits.cpp open, so
// that it is compiled with its own flags, and a library that is not installed is left out.

#include <cstddef>

namespace accuracy {

/// z = f(x), or f(x, y), of n numbers of the library's type. Functions of one argument do not read y.
using Loop = void (*)(const void* x, const void* y, void* z, std::size_t n);

struct Function {
  const char* name;  ///< as in reference.cpp
  Loop run;
};

/// One way in which a library computes: a type, an instruction set, a promised bound.
struct Library {
  const char* name;
  const char* version;
  const char* type;  ///< float, half or bfloat16
  const Function* functions;
  std::size_t count;
};

struct Libraries {
  const Library* data;
  std::size_t count;
};

/// The function that each shared object defines, extern "C", and its name.
using Open = Libraries (*)();
inline constexpr const char* open_name = "accuracy_libraries";

}  // namespace accuracy
