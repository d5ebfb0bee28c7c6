#pragma once
// How the tensors of ranks are related: tags for types, as the tags of places.

namespace locus {

/// Names an axis of a mesh of ranks, by inheritance: struct Data : Along<Grid> {}; where Grid names the mesh.
template <class Mesh>
struct Along {
  using mesh = Mesh;
};

enum class Spread : unsigned char {
  invariant,   ///< the same on all ranks; so is its gradient
  replicated,  ///< the same on all ranks; its gradient is the sum of the ranks' gradients
  varying,     ///< each rank has its own
  partial      ///< the value is the sum of the ranks' tensors; all ranks have its gradient
};

// Arguments of Over, one for each axis A along which a value is not invariant.

template <class A>
struct Invariant {
  using axis = A;
  static constexpr Spread spread = Spread::invariant;
};
template <class A>
struct Replicated {
  using axis = A;
  static constexpr Spread spread = Spread::replicated;
};
template <class A>
struct Varying {
  using axis = A;
  static constexpr Spread spread = Spread::varying;
};
template <class A>
struct Partial {
  using axis = A;
  static constexpr Spread spread = Spread::partial;
};

}  // namespace locus
