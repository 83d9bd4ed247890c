"""What training by many machines takes, on paper: `python -m bench.machines` prints the tables of docs/machines.md.

A message takes a latency and its bytes divided by the bandwidth of the network, whatever others are on their way.
Gradients are summed in buckets; a part of that time is hidden behind the backward pass. Each machine spends time of its
own on gradients: it copies them to buckets, divides them and writes them back.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

MACHINES = (1, 2, 8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class Network:
    """A network: seconds that a message takes at least, and bytes in a second between two machines."""

    name: str
    latency: float
    bandwidth: float


@dataclass(frozen=True)
class Training:
    """A step on one machine: seconds of its passes, and bytes of gradients.

    Attributes:
        hidden: the part of the backward pass in which gradients can be on their way.
        handling: seconds that a machine itself spends on each byte of gradients.
    """

    name: str
    forward: float
    backward: float
    gradients: float
    bucket: float = 25 * 2**20
    hidden: float = 0.5
    handling: float = 0.5e-9

    @property
    def seconds(self) -> float:
        return self.forward + self.backward


def ring(machines: int, size: float, network: Network) -> float:
    """Seconds of a sum of so many bytes, when parts of it go round: 2 (N - 1) messages of one part each."""
    return 2 * (machines - 1) * (network.latency + size / machines / network.bandwidth)


def doubling(machines: int, size: float, network: Network) -> float:
    """Seconds of a sum by recursive doubling: log2 N exchanges of the whole."""
    return math.ceil(math.log2(machines)) * (network.latency + size / network.bandwidth)


def halving(machines: int, size: float, network: Network) -> float:
    """Seconds of a sum by recursive halving and doubling: 2 log2 N messages, as many bytes as in a ring."""
    rounds = 2 * math.ceil(math.log2(machines))
    return rounds * network.latency + 2 * (machines - 1) / machines * size / network.bandwidth


def allreduce(machines: int, size: float, network: Network) -> float:
    """Seconds of a sum by the quickest of these ways: MPI chooses one by size."""
    return min(way(machines, size, network) for way in (ring, doubling, halving))


def step(machines: int, training: Training, network: Network, share: float) -> float:
    """Seconds of a step of which each machine computes a share of the batch.

    The sum of the last bucket begins when the backward pass is over.
    """
    count = math.ceil(training.gradients / training.bucket)
    bucket = allreduce(machines, training.gradients / count, network)
    shown = max(bucket, count * bucket - training.hidden * training.backward * share)
    own = training.handling * training.gradients
    return training.seconds * share + (own + shown if machines > 1 else 0.0)


def fixed_batch(machines: int, training: Training, network: Network) -> float:
    """How many times as fast machines are that share one batch."""
    return training.seconds / step(machines, training, network, 1 / machines)


def growing_batch(machines: int, training: Training, network: Network) -> float:
    """How many times as much is done by machines each of which has a batch of its own."""
    return machines * training.seconds / step(machines, training, network, 1.0)


def last_worth_it(training: Training, network: Network) -> int:
    """The greatest number of machines, of 2, 4, 8 ..., that are at least half as fast as as many single ones."""
    machines = 1
    while machines < 1 << 20 and fixed_batch(2 * machines, training, network) >= machines:
        machines *= 2
    return machines


# A switch of 10 Gbit/s as it is in most buildings, and the network of a cluster.
NETWORKS = (Network("10 Gbit/s", 30e-6, 1.25e9), Network("200 Gbit/s", 2e-6, 25e9))
# The network of `python -m bench.data_parallel` with a batch of 512 on one core, and one of fifty times its size.
TRAININGS = (
    Training("small", 0.022, 0.048, 4 * 1_323_018, bucket=2**20),
    Training("large", 50 * 0.022, 50 * 0.048, 50 * 4 * 1_323_018),
)


def table(trainings: Sequence[Training], networks: Sequence[Network]) -> Iterator[str]:
    """The lines of a table: times as fast as one machine, with one batch and with a batch each."""
    pairs = [(training, network) for training in trainings for network in networks]
    names = [f"{training.name}, {network.name}" for training, network in pairs]
    yield f"| machines | {' | '.join(names)} |"
    yield f"|{'---|' * (len(pairs) + 1)}"
    for machines in MACHINES:
        cells = [
            f"{fixed_batch(machines, *pair):.3g} ({growing_batch(machines, *pair):.4g})" for pair in pairs
        ]  # fmt: skip
        yield f"| {machines} | {' | '.join(cells)} |"
    yield f"| most that are worth half of one each | {' | '.join(str(last_worth_it(*pair)) for pair in pairs)} |"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.machines", description=__doc__)
    parser.add_argument("--latency", type=float, help="of a message, in seconds")
    parser.add_argument("--bandwidth", type=float, help="in bytes a second")
    parser.add_argument("--forward", type=float, help="seconds of it on one machine")
    parser.add_argument("--backward", type=float, help="seconds of it on one machine")
    parser.add_argument("--gradients", type=float, help="bytes of them")
    options = parser.parse_args(argv)
    numbers = {name: value for name, value in vars(options).items() if value is not None}
    network = {name: numbers.pop(name) for name in ("latency", "bandwidth") if name in numbers}
    networks = [replace(NETWORKS[0], name="network", **network)] if network else NETWORKS
    trainings = [replace(TRAININGS[0], name="training", **numbers)] if numbers else TRAININGS
    print(*table(trainings, networks), sep="\n")


if __name__ == "__main__":
    main()
