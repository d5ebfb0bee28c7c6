"""The host reads an element of the GPU's memory."""
import jax
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

x = jnp.ones((2, 3))
if MISTAKE:
    x = jax.device_put(x, jax.devices()[1])
first = float(x[0, 1])
passed()
verdict(first == 1)
