"""Tensors of two places are joined."""
import jax
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

a, b = jax.device_put(jnp.ones(2), jax.devices()[0]), jnp.ones(3)
if MISTAKE:
    b = jax.device_put(b, jax.devices()[1])
y = jnp.concatenate([a, b])
passed()
verdict(y.size == 5)
