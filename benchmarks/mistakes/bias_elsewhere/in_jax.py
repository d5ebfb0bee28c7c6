"""A layer's weights stand in two places."""
import jax
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

x, w, bias = jax.device_put(jnp.ones((4, 2)), jax.devices()[0]), jnp.ones((2, 3)), jnp.ones(3)
if MISTAKE:
    bias = jax.device_put(bias, jax.devices()[1])
y = x @ w + bias
passed()
verdict(y.sum() == 36)
