"""Indices elsewhere than the table."""
import jax
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

table, rows = jax.device_put(jnp.ones((4, 2)), jax.devices()[0]), jnp.array([0, 3])
if MISTAKE:
    rows = jax.device_put(rows, jax.devices()[1])
y = jnp.take(table, rows, axis=0)
passed()
verdict(y.sum() == 4)
