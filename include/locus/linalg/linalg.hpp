#pragma once
// Linear algebra: all headers of linalg. Not part of locus/locus.hpp. Programs link with -llapack, and, if tensors on
// Cuda are factored, with -lcusolver. A function waits for a Cuda device only to read a status on which an exception
// depends. On Cuda, LU factorizations take three more launches, and Cholesky's one, which look for NaN: cuSOLVER passes
// over it.

#include <locus/linalg/cholesky.hpp>
#include <locus/linalg/cond.hpp>
#include <locus/linalg/det.hpp>
#include <locus/linalg/eig.hpp>
#include <locus/linalg/eigh.hpp>
#include <locus/linalg/lstsq.hpp>
#include <locus/linalg/lu_factor.hpp>
#include <locus/linalg/matrix_exp.hpp>
#include <locus/linalg/matrix_norm.hpp>
#include <locus/linalg/matrix_power.hpp>
#include <locus/linalg/multi_dot.hpp>
#include <locus/linalg/pinv.hpp>
#include <locus/linalg/qr.hpp>
#include <locus/linalg/solve.hpp>
#include <locus/linalg/svd.hpp>
#include <locus/linalg/tensor_solve.hpp>
#include <locus/linalg/triangular.hpp>
