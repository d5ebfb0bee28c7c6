"""Training that fails and restarts from checkpoints."""

import dataclasses
import math
import random


@dataclasses.dataclass(frozen=True)
class Reliability:
    """between: seconds between two failures of one GPU, in the mean; save: seconds that a checkpoint stops training;
    restart: seconds until training goes on from the last checkpoint."""
    between: float
    save: float
    restart: float

    def of_job(self, ranks):
        """Seconds between two failures of a job."""
        return self.between / ranks


def useful_share(of_gpu, ranks, interval, days=400, seed=1):
    """Share of the time that advances training, by simulation: work is kept once a checkpoint after it is complete.
    Failures are exponentially distributed; they occur in work, in saves and in restarts alike."""
    drawn, mean = random.Random(seed), of_gpu.of_job(ranks)
    end, now, kept = days * 86400.0, 0.0, 0.0
    failure = drawn.expovariate(1 / mean)
    while now < end:
        if now + interval + of_gpu.save <= failure:
            now += interval + of_gpu.save
            kept += interval
            continue
        now = failure
        while True:  # until a restart ends before the next failure
            failure = now + drawn.expovariate(1 / mean)
            if now + of_gpu.restart <= failure:
                now += of_gpu.restart
                break
            now = failure
    return kept / now


def young(of_gpu, ranks):
    """The best interval to first order: Young, 1974."""
    return math.sqrt(2 * of_gpu.save * of_gpu.of_job(ranks))


def daly(of_gpu, ranks):
    """To higher order: Daly, 2006, equation 37."""
    save, mean = of_gpu.save, of_gpu.of_job(ranks)
    if save >= 2 * mean:
        return mean
    ratio = save / (2 * mean)
    return math.sqrt(2 * save * mean) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - save


def best_interval(of_gpu, ranks, days=400):
    """(interval, useful share) that the simulation finds best, on a grid of 12 % around Young's."""
    around = young(of_gpu, ranks)
    tried = [(useful_share(of_gpu, ranks, around * 1.12 ** power, days), around * 1.12 ** power) for power in range(-8, 9)]
    share, interval = max(tried)
    return interval, share
