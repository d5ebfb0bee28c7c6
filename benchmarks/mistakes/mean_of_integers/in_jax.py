"""The mean of integers."""
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

n = jnp.array([1, 2])
if MISTAKE:
    y = n.mean()
else:
    y = n.astype(float).mean()
passed()
verdict(y == 1.5)
