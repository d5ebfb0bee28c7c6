#pragma once
// Checkpoints of several ranks, each of which saves and loads its parts. Not part of locus.hpp.

// First: g++ lists the way to a refused function, and is to print few lines.
#include <locus/distributed/sharded/sharded.hpp>

#include <locus/distributed/checkpoint/load.hpp>
#include <locus/distributed/checkpoint/saver.hpp>
