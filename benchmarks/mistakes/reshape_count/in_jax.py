"""A new shape has another number of elements."""
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

x = jnp.ones((2, 3))
if MISTAKE:
    y = x.reshape(4, 2)
else:
    y = x.reshape(3, 2)
passed()
verdict(y.size == 6)
