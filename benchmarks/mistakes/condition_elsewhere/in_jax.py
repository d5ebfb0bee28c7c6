"""A mask elsewhere than the values."""
import jax
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

x, mask = jax.device_put(jnp.ones(3), jax.devices()[0]), jnp.array([True, False, True])
if MISTAKE:
    mask = jax.device_put(mask, jax.devices()[1])
y = jnp.where(mask, x, 0)
passed()
verdict(y.sum() == 2)
