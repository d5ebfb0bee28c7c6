#pragma once
// Several ranks: threads of one process, and processes that mpirun started, and the GPUs of both. Not part of
// locus.hpp.

#include <locus/distributed/model/batch_norm.hpp>
#include <locus/distributed/model/data_parallel.hpp>
#include <locus/distributed/model/distributed_model.hpp>
#include <locus/distributed/model/rank_zero.hpp>
#include <locus/distributed/mpi/mpi.hpp>
#include <locus/distributed/nccl/nccl.hpp>
#include <locus/distributed/sharded/sharded.hpp>
#include <locus/distributed/start/elastic.hpp>
#include <locus/distributed/start/launch.hpp>
#include <locus/distributed/start/spawn.hpp>
#include <locus/distributed/start/spawn_processes.hpp>
#include <locus/distributed/tcp/tcp.hpp>
