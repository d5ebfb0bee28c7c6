"""A model is applied to an input elsewhere."""
import jax
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

w, x = jax.device_put(jnp.ones((2, 3)), jax.devices()[0]), jnp.ones((4, 2))
if MISTAKE:
    x = jax.device_put(x, jax.devices()[1])
y = jax.jit(lambda w, x: jax.nn.relu(x @ w))(w, x)
passed()
verdict(y.sum() == 24)
