#!/usr/bin/env python3
"""benchmarks/scaling.py: recorded programs are the decisions of the library, and simulations of them keep to bounds and
agree with one another. Takes some seconds.

usage: scaling_test.py FOLDER    with record_steps and record_messages
"""

import dataclasses
import heapq
import math
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve()
BENCHMARKS = HERE.parents[2] / "benchmarks"
sys.path[:0] = [str(HERE.parents[1] / "tools"), str(BENCHMARKS), str(BENCHMARKS / "simulation")]
import cases  # noqa: E402
import common  # noqa: E402
import clusters  # noqa: E402
import failures  # noqa: E402
import fleets  # noqa: E402
import hosts  # noqa: E402
import programs  # noqa: E402
import scaling  # noqa: E402
import validation  # noqa: E402
from scaling import CLUSTER, GPU, MIB  # noqa: E402

FOLDER = pathlib.Path(sys.argv[1]).resolve()
RECORDER = programs.Recorder(FOLDER)


def kinds(program):
    return [entry[0] for entry in program.entries]


class Recordings(cases.Scratch):
    def test_buckets_are_those_of_the_reducer(self):
        weights = [10 * 1024 + 10, 1024 * 1024, 1024, 784 * 1024, 1024]
        for options, count in (({}, 2), ({"bucket_bytes": MIB, "first_bucket_bytes": 1}, 5), ({"first_bucket_bytes": 1 << 30}, 1)):
            program = RECORDER.step("perceptron", **options)
            sums = [entry[2] for entry in program.entries if entry[0] == "all_reduce"]
            self.assertLessEqual(len(program.buckets), count)
            self.assertTrue(0 <= sum(sums) - sums[-1] - 4 * program.parameters < 64 * 6)  # parameters begin at multiples of 64 bytes
            self.assertEqual(sums[-1], 6)  # a flag for each parameter
        self.assertEqual(program.parameters, sum(weights))

    def test_static_graphs_send_no_flags(self):
        self.assertEqual(kinds(RECORDER.step("perceptron", static_graph=True)).count("all_reduce"), 2)

    def test_overlap_is_the_place_of_the_first_sum(self):
        def launches_after_first_sum(program):
            return kinds(program)[kinds(program).index("all_reduce"):].count("launch")
        late, early = (RECORDER.step("gpt2", overlap=overlap) for overlap in (False, True))
        self.assertEqual(kinds(late).count("launch"), kinds(early).count("launch"))
        self.assertLess(launches_after_first_sum(late), 10)
        self.assertGreater(launches_after_first_sum(early), 200)

    def test_operations_and_memory_are_those_of_the_model(self):
        program, tokens = RECORDER.step("gpt2"), 8 * 2048
        attention = 24 * 2048 * tokens * 2048 / 2 * 4  # causal, forward
        self.assertTrue(math.isclose(program.flops, 6 * program.parameters * tokens + 3.5 * attention, rel_tol=0.02))
        self.assertEqual(program.parameter_bytes, 2 * program.parameters)
        self.assertTrue(math.isclose(program.kept_bytes, 16 * program.parameters, rel_tol=0.01))  # 2 + 2 + 3 * 4 bytes

    def test_sharded_models_gather_and_scatter(self):
        whole = RECORDER.step("gpt2")
        for ranks, of_copy in ((8, 0), (64, 0), (64, 8), (4096, 0)):
            program, sharing = scaling.sharded(RECORDER, ranks, of_copy), of_copy or ranks
            gathered = [entry[2] for entry in program.entries if entry[0] == "all_gather"]
            scattered = [entry[2] for entry in program.entries if entry[0] == "reduce_scatter"]
            self.assertTrue(1 <= sum(scattered) * sharing / program.parameter_bytes < 1.02)
            self.assertTrue(1 < sum(gathered) * sharing / program.parameter_bytes <= 2.02)  # the last unit stays for the way back
            summed = [tuple(entry[3:5]) for entry in program.entries if entry[0] == "all_reduce"]
            self.assertEqual(set(summed), {(ranks // of_copy, of_copy)} if of_copy else set())
            self.assertLess(program.peak_bytes, whole.peak_bytes)
            self.assertLess(program.kept_bytes, 16 * program.parameters / sharing + program.parameter_bytes)

    def test_buffers_are_broadcast(self):
        self.assertEqual(kinds(RECORDER.step("resnet50")).count("broadcast"), 1)

    def test_wrong_arguments_are_refused(self):
        for command, text in ((["record_steps", "gpt3"], "expected gpt2, resnet50 or perceptron"),
                              (["record_steps", "gpt2", "--buckets", "1"], "'--buckets' is no option"),
                              (["record_messages", "sum", "4", "2", "2", "0"], "is no collective"),
                              (["record_messages", "barrier", "0", "2", "2", "5"], "a rank below 2"),
                              (["record_messages", "barrier"], "expected COLLECTIVE BYTES")):
            done = subprocess.run([FOLDER / command[0], *command[1:]], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn(text, done.stderr)


def seconds_of_all(cluster, collective, data, ranks):
    """Seconds of a collective, each rank of which is recorded and simulated by itself. Send k of a pair of ranks is its
    receive k. A transfer begins when both are called and both links are free."""
    lists = [RECORDER.messages(collective, data, ranks, cluster.of_machine, rank) for rank in range(ranks)]
    now, at, ends = [0.0] * ranks, [0] * ranks, [[] for _ in range(ranks)]
    called, free, heap = {}, {}, [(0.0, rank) for rank in range(ranks)]
    blocked = set()

    def transfer(sender, receiver, size, sent, received):
        is_local = sender // cluster.of_machine == receiver // cluster.of_machine
        distance = abs(sender // cluster.of_machine - receiver // cluster.of_machine)
        link = cluster.host if is_local else clusters.Link(cluster.network.latency, cluster.share_of_network(distance))
        out, into = ("out", sender, is_local), ("in", receiver, is_local)
        end = max(sent[0], received[0], free.get(out, 0.0), free.get(into, 0.0)) + size / link.bandwidth
        free[out] = free[into] = end
        ends[sender][sent[1]] = ends[receiver][received[1]] = end + link.latency
        for rank in (sender, receiver):
            if rank in blocked:
                blocked.discard(rank)
                heapq.heappush(heap, (now[rank], rank))

    while heap:
        _, rank = heapq.heappop(heap)
        if at[rank] == len(lists[rank]):
            continue
        what, peer, number = lists[rank][at[rank]]
        if what == "wait":
            if None in ends[rank][:number]:
                blocked.add(rank)
                continue
            now[rank] = max([now[rank]] + ends[rank][:number])
        elif what == "work":
            now[rank] += number / cluster.sums
        else:
            now[rank] += cluster.message
            ends[rank].append(None)
            pair, other = ((rank, peer), "receive") if what == "send" else ((peer, rank), "send")
            mine = (now[rank], len(ends[rank]) - 1)
            if called.get((other, pair)):
                theirs = called[other, pair].pop(0)
                transfer(*pair, number, *((mine, theirs) if what == "send" else (theirs, mine)))
            else:
                called.setdefault((what, pair), []).append(mine)
        at[rank] += 1
        heapq.heappush(heap, (now[rank], rank))
    assert not blocked and all(at[rank] == len(lists[rank]) for rank in range(ranks))
    return max(now)


class Collectives(cases.Scratch):
    def test_one_rank_of_processes_stands_for_all(self):
        small = dataclasses.replace(CLUSTER, of_machine=4)
        processes = clusters.Processes(small, RECORDER)
        for collective, data, ranks in (("all_reduce", 1 << 10, 16), ("all_reduce", MIB, 16), ("all_reduce", 9 * MIB, 8),
                                        ("all_reduce", 9 * MIB, 4), ("barrier", 0, 32), ("all_gather", 512, 32)):
            one = processes.of_messages(RECORDER.messages(collective, data, ranks, 4), ranks)
            self.assertTrue(math.isclose(one, seconds_of_all(small, collective, data, ranks), rel_tol=0.1),
                            (collective, data, ranks, one, seconds_of_all(small, collective, data, ranks)))

    def test_no_sum_is_faster_than_its_bytes(self):
        for way in scaling.ways(RECORDER):
            self.assertEqual(way.seconds("all_reduce", MIB, 1), 0)
            for ranks in (8, 64, 1024):
                least = 32 * MIB / CLUSTER.inside.bandwidth / 2  # where switches sum, a byte is sent once and comes back once
                self.assertGreater(way.seconds("all_reduce", 32 * MIB, ranks), least)
                self.assertGreaterEqual(way.seconds("all_reduce", 32 * MIB, 2 * ranks), way.seconds("all_reduce", 32 * MIB, ranks) * 0.999)

    def test_groups_are_on_as_many_machines_as_their_ranks_say(self):
        nccl, size = clusters.Nccl(CLUSTER), 32 * MIB
        self.assertEqual((nccl.machines(8, 1), nccl.machines(64, 8), nccl.machines(16, 4)), (1, 64, 8))
        self.assertGreater(nccl.seconds("all_reduce", size, 8, 8), 3 * nccl.seconds("all_reduce", size, 8, 1))
        self.assertEqual(nccl.bus(8, 8) * 8, nccl.bus(8, 64))

    def test_a_narrow_network_between_racks_costs(self):
        narrow = dataclasses.replace(CLUSTER, oversubscription=8.0)
        for make in (lambda c: clusters.Nccl(c), lambda c: clusters.Processes(c, RECORDER)):
            self.assertGreater(make(narrow).seconds("all_reduce", 32 * MIB, 512), make(CLUSTER).seconds("all_reduce", 32 * MIB, 512))
            self.assertEqual(make(narrow).seconds("all_reduce", 32 * MIB, 8), make(CLUSTER).seconds("all_reduce", 32 * MIB, 8))

    def test_limits_of_sums_in_rank_order_are_those_of_the_headers(self):
        way = scaling.in_rank_order()
        self.assertEqual((way.distances, way.most_sources, way.piece), (1024, 64, 64 * MIB))


class Steps(cases.Scratch):
    def test_a_step_is_between_computing_and_all_sums_after_it(self):
        for name in scaling.WORKLOADS:
            program = RECORDER.step(name)
            one = fleets.seconds_of_step(program, GPU, fleets.Alone(), 1)
            for way in scaling.ways(RECORDER):
                sums = sum(way.seconds(entry[0], entry[2], 64) for entry in program.entries if entry[0] in ("all_reduce", "broadcast"))
                step = fleets.seconds_of_step(program, GPU, way, 64)
                self.assertGreaterEqual(step, one * (1 - 1e-9))
                self.assertLessEqual(step, (one + sums) * (1 + 1e-9))

    def test_overlap_does_not_cost(self):
        for name in scaling.WORKLOADS:
            on, off = (fleets.seconds_of_step(RECORDER.step(name, overlap=overlap), GPU, clusters.Nccl(CLUSTER), 64)
                       for overlap in (True, False))
            self.assertLessEqual(on, off * (1 + 1e-9))

    def test_ranks_that_are_alike_are_one(self):
        program, way = RECORDER.step("resnet50"), clusters.Nccl(CLUSTER)
        alike = fleets.seconds_of_step(program, GPU, way, 64, fleets.Stragglers(0, 0))
        self.assertTrue(math.isclose(alike, fleets.seconds_of_step(program, GPU, way, 64)))

    def test_the_slowest_rank_decides(self):
        program, way, drawn = RECORDER.step("resnet50"), clusters.Nccl(CLUSTER), fleets.Stragglers(0.1, 0)
        slowest = max(drawn.of_steps(64, 1)[0])
        alone = fleets.seconds_of_step(program, GPU, way, 64)
        self.assertTrue(math.isclose(fleets.seconds_of_step(program, GPU, way, 64, drawn), alone * slowest, rel_tol=0.01))

    def test_host_and_device_are_queues(self):
        gpu = clusters.Gpu(peak=1e12, share=1, memory=1e12, launch=1e-6, queue=1e-5)
        program = programs.Program("", 2, 0, 0, 0, 0, [["launch", 0, 1e9, 0], ["record", 0, 1], ["wait", 1, 1], ["all_reduce", 1, 1, 2, 1, ""],
                                                    ["record", 1, 2], ["launch", 0, 5e9, 0], ["wait", 0, 2]])

        class Slow:
            def seconds(self, kind, data, ranks, stride=1):
                return 9e-3
        self.assertTrue(math.isclose(fleets.seconds_of_step(program, gpu, Slow(), 2), 10e-3, rel_tol=1e-3))
        self.assertTrue(math.isclose(fleets.seconds_of_step(program, gpu, fleets.Alone(), 2), 6e-3, rel_tol=1e-3))


class Hosts(cases.Scratch):
    def test_threads_share_cores(self):
        run = [[("run", 3.0)] for _ in range(3)]
        self.assertTrue(math.isclose(hosts.Threads(2).run(run), 4.5))
        self.assertTrue(math.isclose(hosts.Threads(2, slowdown=1.5).run(run[:2]), 4.5))
        self.assertTrue(math.isclose(hosts.Threads(2).run([[("run", 1.0), ("set", 1)], [("wait", 1), ("run", 2.0)]]), 3.0))
        self.assertTrue(math.isclose(hosts.Threads(2).run([[("run", 1.0), ("meet", 0, 2)], [("meet", 0, 2), ("run", 2.0)]]), 3.0))
        with self.assertRaises(RuntimeError):
            hosts.Threads(2).run([[("wait", 1)]])

    def test_a_host_agrees_with_a_fleet_where_ranks_have_cores(self):
        program = RECORDER.step("perceptron", batch=64, bucket_bytes=MIB)
        host = hosts.Host(cores=8, one=1.0, slowdown=1.0, call=lambda data, ranks: [("meet",), ("run", data * 1e-7), ("meet",)])
        costs = [hosts.cost_on_host(entry) for entry in program.entries]

        class Way:
            def seconds(self, kind, data, ranks, stride=1):
                return data * 1e-7

        class Same:
            queue = 0.0

            def seconds(self, data, flops):
                return hosts.cost_on_host(["launch", 0, data, flops]) / sum(costs)
        self.assertTrue(math.isclose(host.seconds_of_step(program, 2), fleets.seconds_of_step(program, Same(), Way(), 2), rel_tol=1e-6))

    def test_costs_of_bytes_are_those_measured(self):
        rows = [{"way": "locus, threads", "bytes": size, "least": 1e-6 + size * 1e-10} for size in (1024, 1 << 16, MIB, 16 * MIB)]
        steps = [{"way": "one rank", "least": 1e-3}, {"way": "no reduction", "least": 1.2e-3}]
        for ranks, slowdown in ((2, 1.2), (4, 1.0)):  # four ranks of two cores take twice the time in any case
            calibration = validation.Calibration("threads", ranks, steps, rows, RECORDER)
            self.assertTrue(math.isclose(calibration.slowdown, slowdown))
            for row in rows[1:]:
                seconds = calibration.host().seconds_of_call(row["bytes"], ranks)
                self.assertTrue(math.isclose(seconds, row["least"], rel_tol=0.01))


class Failures(cases.Scratch):
    def test_the_useful_share_is_known_without_failures_and_with_many(self):
        never = failures.Reliability(between=1e15, save=10, restart=100)
        self.assertTrue(math.isclose(failures.useful_share(never, 1, 90), 0.9, rel_tol=1e-3))
        often = failures.Reliability(between=1000.0, save=0.001, restart=0.001)
        exact = 100 / (1000 * (math.exp(100 / 1000) - 1))  # work of 100 s, begun anew after each failure
        self.assertTrue(math.isclose(failures.useful_share(often, 1, 100, days=2000), exact, rel_tol=0.01))

    def test_the_best_interval_is_near_the_formulas(self):
        of_gpu = failures.Reliability(between=3600.0 * 10000, save=30, restart=60)
        best, share = failures.best_interval(of_gpu, 1000)
        for formula in (failures.young, failures.daly):
            self.assertTrue(0.5 < formula(of_gpu, 1000) / best < 2)
            self.assertGreater(failures.useful_share(of_gpu, 1000, formula(of_gpu, 1000)), share - 0.01)


if __name__ == "__main__":
    common.main(cases.check)
