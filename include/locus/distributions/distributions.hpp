#pragma once
// Probability distributions: torch.distributions. Not part of locus/locus.hpp. Programs that use MultivariateNormal
// link with -llapack.

#include <locus/distributions/bernoulli.hpp>
#include <locus/distributions/beta.hpp>
#include <locus/distributions/categorical.hpp>
#include <locus/distributions/exponential.hpp>
#include <locus/distributions/gamma.hpp>
#include <locus/distributions/independent.hpp>
#include <locus/distributions/kl.hpp>
#include <locus/distributions/multivariate_normal.hpp>
#include <locus/distributions/normal.hpp>
#include <locus/distributions/poisson.hpp>
#include <locus/distributions/uniform.hpp>
