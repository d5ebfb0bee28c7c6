"""Two tensors of other extents are added."""
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

if MISTAKE:
    y = jnp.ones(4)
else:
    y = jnp.ones(3)
z = jnp.ones(3) + y
passed()
verdict(z.sum() == 6)
