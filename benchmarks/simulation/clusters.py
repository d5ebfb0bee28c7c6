"""GPUs, machines and networks, and the time of collectives on them."""

import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Link:
    """A message takes latency + bytes / bandwidth: seconds, and bytes per second in each direction."""
    latency: float
    bandwidth: float


@dataclasses.dataclass(frozen=True)
class Gpu:
    """peak: operations per second; share: of the peak that products reach; memory: bytes per second that launches reach;
    launch: least seconds of a launch; queue: seconds of the host to queue one."""
    peak: float
    share: float
    memory: float
    launch: float
    queue: float

    def seconds(self, data, flops):
        return max(self.launch, data / self.memory, flops / (self.share * self.peak))


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Machines of `of_machine` GPUs with `cards` network cards, `of_rack` machines to a rack. network: one card.
    oversubscription: bandwidth of the machines of a rack over that of the rack. host: between two processes of a
    machine. pcie: between a GPU and its host. sums: bytes per second that a core reads and writes in sums.
    message: seconds of a process for a message, whatever its size."""
    inside: Link
    network: Link
    host: Link
    pcie: Link
    of_machine: int = 8
    cards: int = 8
    of_rack: int = 4
    oversubscription: float = 1.0
    sums: float = 10e9
    message: float = 1e-6

    def machines(self, ranks):
        return max(1, math.ceil(ranks / self.of_machine))

    @property
    def between(self):
        """Of a machine to others, all cards together, in one direction."""
        return self.cards * self.network.bandwidth

    def share_of_network(self, distance):
        """Bandwidth for each GPU of a machine that exchanges with the machine `distance` after it, as all others do."""
        crosses = distance >= self.of_rack
        return self.between / self.of_machine / (self.oversubscription if crosses else 1)


MICRO = 1e-6


class Nccl:
    """The time of NCCL's collectives by the model with which NCCL itself chooses among its algorithms and protocols
    (NVIDIA/nccl, src/graph/tuning.cc: baseLat, hwLat, and their use in ncclTopoTuneModel). in_network: switches make
    sums (NVLS within a machine; SHARP between machines), else rings and trees alone."""
    BASE = {"tree": (6.8, 14.0, 8.4), "ring": (6.6, 14.0, 8.4)}          # of the protocols LL, LL128, Simple
    INSIDE = {"tree": (0.6, 1.25, 4.0), "ring": (0.6, 1.9, 3.4), "nvls": 25}
    BETWEEN = {"tree": (5.0, 8.5, 14.0), "ring": (2.7, 4.0, 14.0), "nvls": 18}
    NET_OVERHEAD = (1.0, 1.0, 3.0)                                       # of a message, where a ring crosses machines
    LL_MOST = (141e9, 35e9)                                              # within a machine, and across

    def __init__(self, cluster, in_network=False):
        self.cluster, self.in_network = cluster, in_network
        self.name = "NCCL, sums in the network" if in_network else "NCCL, rings and trees"

    def machines(self, ranks, stride):
        return min(ranks, self.cluster.machines(ranks * stride))

    def bus(self, machines, ranks):
        """Bytes per second of all channels. Groups with a rank in each of the same machines share their cards. A ring
        leaves a rack once, with the bandwidth of one machine."""
        if machines == 1:
            return self.cluster.inside.bandwidth
        between = self.cluster.between * math.ceil(ranks / machines) / self.cluster.of_machine
        return min(self.cluster.inside.bandwidth, between, self.cluster.of_rack * between / self.cluster.oversubscription)

    def __ways(self, kind, ranks, machines):
        """(latency, bytes per second) of each algorithm and protocol."""
        bus, is_one = self.bus(machines, ranks), machines == 1
        rounds = 2 if kind == "all_reduce" else 1
        steps, crossings = rounds * (ranks - 1), 0 if is_one else rounds * (machines if rounds == 2 else machines - 1)
        for protocol in range(3):
            of_protocol = (min(bus / 4, self.LL_MOST[not is_one]), 0.92 * bus, bus)[protocol]
            inside = max(self.INSIDE["ring"][protocol], 0 if is_one else self.NET_OVERHEAD[protocol])
            latency = self.BASE["ring"][protocol] + (steps - crossings) * inside + crossings * self.BETWEEN["ring"][protocol]
            yield latency * MICRO, of_protocol * ranks / steps
            if kind == "all_reduce":
                of_tree = 0.92 * (min(bus / 3.8, self.LL_MOST[not is_one]), 0.9375 * bus, bus)[protocol]
                hops = math.ceil(ranks / machines) - 1
                latency = self.BASE["tree"][protocol] + 2 * (
                    hops * self.INSIDE["tree"][protocol] + math.log2(machines) * self.BETWEEN["tree"][protocol])
                yield latency * MICRO, of_tree / 2
        if self.in_network:
            yield (self.INSIDE["nvls"] + (0 if is_one else self.BETWEEN["nvls"])) * MICRO, 5 / 6 * bus

    def seconds(self, kind, data, ranks, stride=1):
        """data: bytes of one rank, of a row where there is a row for each rank. stride: between neighbours of a group."""
        if ranks < 2:
            return 0.0
        machines = self.machines(ranks, stride)
        if kind == "broadcast":
            latency = self.BASE["ring"][2] + (self.INSIDE if machines == 1 else self.BETWEEN)["tree"][2]
            return latency * MICRO + data / self.bus(machines, ranks)
        total = data if kind == "all_reduce" else data * ranks
        return min(latency + total / bandwidth for latency, bandwidth in self.__ways(kind, ranks, machines))


class InRankOrder:
    """Sums of Locus in the order of ranks, of elements that NCCL moves: DeviceEngine::reduce. Each rank receives its
    part from all others in groups of at most `distances` sends and receives, sums it, and sends the sum to all. Up to
    `most_sources` ranks are summed in one launch, more in a launch for each."""
    name = "sums in rank order, over NCCL"

    def __init__(self, cluster, gpu, distances, most_sources, piece):
        self.cluster, self.gpu = cluster, gpu
        self.distances, self.most_sources, self.piece = distances, most_sources, piece

    def __exchange(self, part, ranks):
        """Each sends `part` bytes to each."""
        inside = min(ranks, self.cluster.of_machine) - 1
        outside = ranks - 1 - inside
        groups = math.ceil((ranks - 1) / self.distances)
        links = max(inside * part / self.cluster.inside.bandwidth,
                    outside * part * self.cluster.of_machine / self.cluster.between)
        latency = self.cluster.network.latency if outside else self.cluster.inside.latency
        return groups * (latency + Nccl.BASE["ring"][2] * MICRO) + max(links, (ranks - 1) * self.cluster.message)

    def seconds(self, kind, data, ranks, stride=1):
        if ranks < 2:
            return 0.0
        if kind != "all_reduce":
            return Nccl(self.cluster).seconds(kind, data, ranks, stride)
        total = 0.0
        for piece in range(math.ceil(data / self.piece)):
            part = min(self.piece, data - piece * self.piece) / ranks
            launches = 1 if ranks <= self.most_sources else ranks - 1
            sums = launches * max(self.gpu.launch, (ranks + 1) * part / launches / self.gpu.memory)
            total += 2 * self.__exchange(part, ranks) + sums
        return total


class Processes:
    """Processes of dist::tcp whose elements travel through the host: StagedEngine over MessageEngine, whose
    recorded messages are simulated. All ranks do the same at the same time, so one stands for all: the transfers that it
    receives take as long as those that it sends."""
    name = "processes by TCP, through the host"

    def __init__(self, cluster, recorder):
        self.cluster, self.recorder = cluster, recorder
        self.known = {}

    def seconds(self, kind, data, ranks, stride=1):
        """Of all ranks: stride is 1."""
        if ranks < 2:
            return 0.0
        key = kind, data, ranks
        if key not in self.known:
            staged = 2 * (self.cluster.pcie.latency + data / self.cluster.pcie.bandwidth)
            self.known[key] = staged + self.of_messages(self.recorder.messages(kind, data, ranks, self.cluster.of_machine), ranks)
        return self.known[key]

    def of_messages(self, steps, ranks, rank=0):
        """Seconds of the recorded steps of a rank. A transfer occupies its link; a wait ends when the last transfer
        before its mark has arrived; each message and each sum occupies the process."""
        machine, of_machine = self.cluster, self.cluster.of_machine
        now, arrivals, free = 0.0, [], {}
        for what, peer, number in steps:
            if what == "work":
                now += number / machine.sums
            elif what == "wait":
                now = max([now] + arrivals[:number])
            else:
                now += machine.message
                arrivals.append(0.0)
                distance = abs(peer // of_machine - rank // of_machine)
                is_local = distance == 0
                link = machine.host if is_local else Link(machine.network.latency, machine.share_of_network(distance))
                begin = max(now, free.get((what, is_local), 0.0))
                free[what, is_local] = begin + number / link.bandwidth
                arrivals[-1] = free[what, is_local] + link.latency
        return now
