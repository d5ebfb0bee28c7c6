"""The cost of a step of training a perceptron with Adam: counts per step, and a model fitted to measured steps.

seconds = step + batch * image + traffic / bandwidth + spilled / memory + operations / rate

traffic: bytes of parameters, gradients and moments that a step moves; spilled: traffic of the parameters that exceed a
cache, from memory. The coefficients are at least 0; they minimize the sum of squares of (model / measured - 1) over the
measured steps, for the cache, a power of two, with the smallest such sum.
"""

import dataclasses
import itertools
import math
import statistics

INPUTS, CLASSES = 784, 10
CACHES = [2 ** power for power in range(18, 28)]  # bytes, 256 KiB to 128 MiB


@dataclasses.dataclass(frozen=True)
class Network:
    """784 inputs, `depth` layers of `hidden` outputs with ReLU, 10 classes; `batch` images per step."""
    hidden: int
    depth: int
    batch: int

    @property
    def later_weights(self):
        return (self.depth - 1) * self.hidden ** 2 + self.hidden * CLASSES

    @property
    def parameters(self):
        return INPUTS * self.hidden + self.later_weights + self.depth * self.hidden + CLASSES

    @property
    def operations(self):
        """Operations of products: a multiplication and an addition per weight and image, for the forward pass, the
        gradient of the weight and, except in the first layer, the gradient of the input."""
        return self.batch * (4 * INPUTS * self.hidden + 6 * self.later_weights)

    @property
    def name(self):
        return "-".join(map(str, [INPUTS, *[self.hidden] * self.depth, CLASSES]))


# Numbers of 4 bytes per parameter: read forward and backward, gradient written; Adam reads four and writes three.
TRAFFIC = 4 * (3 + 7)
HELD = 4 * 4  # bytes of each parameter in memory: value, gradient, two moments


def counts(network, cache):
    """The factors of the coefficients, in their order."""
    held = HELD * network.parameters
    spilled = max(0.0, 1 - cache / held) * TRAFFIC * network.parameters
    return [1.0, float(network.batch), float(TRAFFIC * network.parameters), spilled, float(network.operations)]


@dataclasses.dataclass(frozen=True)
class Model:
    """Seconds per count, and the errors at the fitted steps, relative to the measured times."""
    seconds: tuple
    cache: int  # bytes
    median_error: float
    worst_error: float

    def step(self, network):
        return sum(each * count for each, count in zip(self.seconds, counts(network, self.cache)))

    def epoch(self, network, images):
        """The last step of an epoch may have fewer images."""
        whole, rest = divmod(images, network.batch)
        last = self.step(dataclasses.replace(network, batch=rest)) if rest else 0.0
        return whole * self.step(network) + last


def solved(matrix, right):
    """The solution of a small symmetric system, or None if it is singular."""
    rows = [[*row, value] for row, value in zip(matrix, right)]
    for i in range(len(rows)):
        pivot = max(range(i, len(rows)), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        if abs(rows[i][i]) < 1e-12:
            return None
        for k in range(i + 1, len(rows)):
            factor = rows[k][i] / rows[i][i]
            rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
    answer = [0.0] * len(rows)
    for i in reversed(range(len(rows))):
        answer[i] = (rows[i][-1] - sum(rows[i][k] * answer[k] for k in range(i + 1, len(rows)))) / rows[i][i]
    return answer


def non_negative(rows):
    """(sum of squares, coefficients) of the x >= 0 that minimizes the sum of (row . x - 1)^2, by trying all sets of
    nonzero coefficients."""
    scales = [max(row[k] for row in rows) or 1.0 for k in range(len(rows[0]))]
    rows = [[value / scale for value, scale in zip(row, scales)] for row in rows]
    best = (math.inf, None)
    for chosen in (set_ for count in range(1, len(scales) + 1) for set_ in itertools.combinations(range(len(scales)), count)):
        matrix = [[sum(row[i] * row[k] for row in rows) for k in chosen] for i in chosen]
        found = solved(matrix, [sum(row[i] for row in rows) for i in chosen])
        if found is None or min(found) < 0:
            continue
        squares = sum((sum(x * row[k] for x, k in zip(found, chosen)) - 1) ** 2 for row in rows)
        if squares < best[0]:
            x = dict(zip(chosen, found))
            best = squares, tuple(x.get(k, 0.0) / scale for k, scale in enumerate(scales))
    return best


def errors(pairs):
    """(median, largest) of |model / measured - 1|"""
    off = [abs(modelled / measured - 1) for modelled, measured in pairs]
    return statistics.median(off), max(off)


def fit(steps):
    """The model of {network: measured seconds of a step}. raises ValueError for fewer steps than coefficients"""
    if len(steps) < 6:
        raise ValueError(f"a model of {len(steps)} measured steps; expected at least 6, one for each of its numbers")
    best = (math.inf, None, None)
    for cache in CACHES:
        rows = [[count / seconds for count in counts(network, cache)] for network, seconds in steps.items()]
        squares, found = non_negative(rows)
        if squares < best[0] * (1 - 1e-9):
            best = squares, found, cache
    model = Model(best[1], best[2], 0.0, 0.0)
    median, worst = errors([(model.step(network), seconds) for network, seconds in steps.items()])
    return dataclasses.replace(model, median_error=median, worst_error=worst)


def faster_from(ours, theirs, depth, batch, most=65536):
    """The hidden size from which the first model's steps take less time than the second's, up to `most`; None if not at
    `most`."""
    def is_faster(hidden):
        network = Network(hidden, depth, batch)
        return ours.step(network) < theirs.step(network)

    if not is_faster(most):
        return None
    slower, faster = 0, most  # both costs are sums of powers of the size: bisection from above
    while faster > 1 and is_faster(faster // 2):
        faster //= 2
    slower = faster // 2
    while faster - slower > 1:
        middle = (slower + faster) // 2
        slower, faster = (slower, middle) if is_faster(middle) else (middle, faster)
    return faster
