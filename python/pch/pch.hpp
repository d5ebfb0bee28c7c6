// Precompiled once for all sources of the module: nanobind and the tensor are most of what a source includes.
#include "../src/call.hpp"
