"""Labels are floats."""
import jax
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

if MISTAKE:
    labels = jnp.array([0.0, 2.0])
else:
    labels = jnp.array([0, 2])
loss = -jnp.take_along_axis(jax.nn.log_softmax(jnp.ones((2, 3))), labels[:, None], 1).mean()
passed()
verdict(loss > 1)
