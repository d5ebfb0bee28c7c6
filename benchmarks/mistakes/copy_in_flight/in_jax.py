"""A tensor is used while it is being copied."""
import jax
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

x = jnp.ones(4)
if MISTAKE:
    y = jax.device_put(x, jax.devices()[1]) * 1
else:
    y = x * 1
passed()
verdict(y.sum() == 4)
