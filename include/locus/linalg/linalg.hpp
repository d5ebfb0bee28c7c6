#pragma once
// Linear algebra: all headers of linalg. Not part of locus/locus.hpp. Programs link with -llapack, and, where tensors
// on Cuda are factored, with -lcusolver. What waits for a Cuda device reads an answer on which an exception depends.
// There, LU factorizations take three launches more, and Cholesky's one, which look for NaN: cuSOLVER passes over them.

#include <locus/linalg/cholesky.hpp>
#include <locus/linalg/det.hpp>
#include <locus/linalg/eigh.hpp>
#include <locus/linalg/lstsq.hpp>
#include <locus/linalg/matrix_norm.hpp>
#include <locus/linalg/qr.hpp>
#include <locus/linalg/solve.hpp>
#include <locus/linalg/svd.hpp>
