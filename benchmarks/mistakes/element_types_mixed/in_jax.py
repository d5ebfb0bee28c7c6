"""A large integer meets a float."""
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

n, one = jnp.array([16777217]), jnp.array([1.0])
if MISTAKE:
    y = n * one
else:
    y = n * one.astype(int)
passed()
verdict(int(y[0]) == 16777217)
