#pragma once

#include <locus/locus.hpp>

/// The place of the operand that the mistake puts elsewhere; corrected, that of the others.
#ifdef MISTAKE
using Other = locus::Cuda;
#else
using Other = locus::Cpu;
#endif
