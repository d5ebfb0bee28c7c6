#pragma once
// Several ranks: threads of one process. Not part of locus.hpp.

#include <locus/dist/spawn.hpp>
