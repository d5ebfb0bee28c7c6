#pragma once
// Fourier transforms: all headers of fft. Not part of locus/locus.hpp. Programs whose tensors on Cuda are transformed
// link with -lcufft.

#include <locus/fft/frequencies.hpp>
#include <locus/fft/stft.hpp>
#include <locus/fft/transforms.hpp>
