"""The inner extents of a matrix product differ."""
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

if MISTAKE:
    b = jnp.ones((4, 5))
else:
    b = jnp.ones((3, 5))
y = jnp.ones((2, 3)) @ b
passed()
verdict(y.sum() == 30)
