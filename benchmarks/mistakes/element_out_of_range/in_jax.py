"""An element is read past the end."""
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

x = jnp.array([1.0, 2.0, 3.0])
i = jnp.array(2)
if MISTAKE:
    i = jnp.array(4)
last = x[i]
passed()
verdict(last == 3 and i == 2)
