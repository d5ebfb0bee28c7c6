"""Two tensors in two places are added."""
import jax
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

x, w = jax.device_put(jnp.ones((2, 3)), jax.devices()[0]), jnp.ones((2, 3))
if MISTAKE:
    w = jax.device_put(w, jax.devices()[1])
y = x + w
passed()
verdict(y.sum() == 12)
