#pragma once
// Several ranks: threads of one process, and processes that mpirun started, and the GPUs of both. Not part of
// locus.hpp.

#include <locus/dist/batch_norm.hpp>
#include <locus/dist/data_parallel.hpp>
#include <locus/dist/distributed.hpp>
#include <locus/dist/launch.hpp>
#include <locus/dist/mpi.hpp>
#include <locus/dist/nccl.hpp>
#include <locus/dist/rank_zero.hpp>
#include <locus/dist/spawn.hpp>
#include <locus/dist/spawn_processes.hpp>
#include <locus/dist/tcp.hpp>
