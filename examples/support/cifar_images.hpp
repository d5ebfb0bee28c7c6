#pragma once
// The images that the cifar10 example trains on.

#include "cifar_options.hpp"

#include <locus/data/sets/cifar.hpp>

struct CifarImages {
  locus::data::LabelledImages train, test;
};

/// CIFAR-10 from the folder of its binary version, or drawn images if no folder is named; as many as the options say.
/// throws locus::DataError
CifarImages read_images(const CifarOptions& options);
