"""backward() of a loss that is no number."""
import jax
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

w = jnp.array([1.0, 2.0])
if MISTAKE:
    g = jax.grad(lambda w: w**2)(w)
else:
    g = jax.grad(lambda w: (w**2).sum())(w)
passed()
verdict(g[1] == 4)
