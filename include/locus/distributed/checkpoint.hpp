#pragma once
// Checkpoints of several ranks, each of which saves and loads its parts. Not part of locus.hpp.

#include <locus/distributed/checkpoint/load.hpp>
#include <locus/distributed/checkpoint/saver.hpp>
