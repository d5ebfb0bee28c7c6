"""A softmax does not say along which axis."""
import jax
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

x = jnp.ones((2, 4))
if MISTAKE:
    y = jax.nn.softmax(x)
else:
    y = jax.nn.softmax(x, 1)
passed()
verdict(y[0, 0] == 0.25)
