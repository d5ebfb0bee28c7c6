"""Labels on another device than the scores."""
import jax
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

scores, labels = jax.device_put(jnp.ones((2, 3)), jax.devices()[0]), jnp.array([0, 2])
if MISTAKE:
    labels = jax.device_put(labels, jax.devices()[1])
loss = -jnp.take_along_axis(jax.nn.log_softmax(scores), labels[:, None], 1).mean()
passed()
verdict(loss > 1)
