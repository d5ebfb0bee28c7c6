"""A column is subtracted from a row."""
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

x = jnp.array([1.0, 2.0, 3.0])
if MISTAKE:
    y = x.reshape(3, 1)
else:
    y = x
distance = ((x - y) ** 2).mean()
passed()
verdict(distance == 0)
