"""What a step costs to send: actions of 32 envs there, what they saw back, by each way there is.

Ray's plain actor calls and its compiled graphs between two Ray nodes on this machine, a TCP socket with
`sendall` and `recv_into`, and shared memory with a byte on a pipe, as the backend `workers` does it. Whoever
answers computes nothing, so that only the way itself is measured. Medians, in microseconds, there and back:

    python benchmarks/transports.py [--seconds 3]
"""

from __future__ import annotations

import argparse
import mmap
import os
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

ENVS = 32
ACTION_BYTES = 4 * ENVS
TRAFFIC = {
    "CartPole rows": ENVS * (4 * 4 + 8 + 2),  # observation, reward, two flags
    "84 × 84 × 1": ENVS * (84 * 84 + 8 + 2),
    "84 × 84 × 4": ENVS * (84 * 84 * 4 + 8 + 2),
}
_WARM_UP = 20
_FEWEST, _MOST = 30, 20_000  # round trips

Trip = Callable[[], None]


def median_seconds(trip: Trip, seconds: float) -> float:
    for _ in range(_WARM_UP):
        trip()
    took: list[float] = []
    end = time.perf_counter() + seconds
    while len(took) < _FEWEST or (time.perf_counter() < end and len(took) < _MOST):
        start = time.perf_counter()
        trip()
        took.append(time.perf_counter() - start)
    return float(np.median(took))


def _read_into(connection: socket.socket, view: memoryview) -> bool:
    while view:
        count = connection.recv_into(view)
        if not count:
            return False
        view = view[count:]
    return True


def _answer_socket(port: int, size: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        actions, rows = memoryview(bytearray(ACTION_BYTES)), memoryview(bytearray(size))
        while _read_into(connection, actions):
            connection.sendall(rows)


@contextmanager
def by_socket(size: int) -> Iterator[Trip]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        child = get_context("spawn").Process(target=_answer_socket, args=(server.getsockname()[1], size))
        child.start()
        connection, _ = server.accept()
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        actions, rows = bytes(ACTION_BYTES), memoryview(bytearray(size))

        def trip() -> None:
            connection.sendall(actions)
            _read_into(connection, rows)

        yield trip
    child.join()


def _answer_memory(path: str, size: int, commands: Any, answers: Any) -> None:
    with Path(path).open("r+b") as file, mmap.mmap(file.fileno(), size) as memory:
        rows, shown = np.zeros(size, np.uint8), np.frombuffer(memory, np.uint8)
        while commands.recv_bytes() != b"end":
            shown[:] = rows  # what envs do: they write what they see
            answers.send_bytes(b".")
        del shown


@contextmanager
def by_shared_memory(size: int) -> Iterator[Trip]:
    context = get_context("spawn")
    with tempfile.NamedTemporaryFile(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as file:
        file.truncate(size)
        theirs, commands = context.Pipe(duplex=False)
        answers, answer = context.Pipe(duplex=False)
        child = context.Process(target=_answer_memory, args=(file.name, size, theirs, answer))
        child.start()
        with mmap.mmap(file.fileno(), size) as memory:
            shown, rows = np.frombuffer(memory, np.uint8), np.zeros(size, np.uint8)

            def trip() -> None:
                commands.send_bytes(b"s")
                answers.recv_bytes()
                rows[:] = shown  # noqa: F821  - into the rollout; it is deleted after the last trip

            yield trip
            del trip, shown  # the memory cannot be closed while they are there
        commands.send_bytes(b"end")
        child.join()


def _ray_actor(ray: Any) -> Any:
    """An actor on the other node, which is the only one that has the resource."""

    @ray.remote(num_cpus=0.1, resources={"other": 0.1})
    class Steps:
        def __init__(self, size: int) -> None:
            self.rows = np.zeros(size, np.uint8)

        def step(self, actions: np.ndarray) -> np.ndarray:
            return self.rows

    return Steps


@contextmanager
def by_actor_call(size: int) -> Iterator[Trip]:
    import ray

    actor = _ray_actor(ray).remote(size)
    actions, rows = np.zeros(ENVS, np.int32), np.zeros(size, np.uint8)

    def trip() -> None:
        rows[:] = ray.get(actor.step.remote(actions))

    yield trip
    ray.kill(actor)


@contextmanager
def by_compiled_graph(size: int) -> Iterator[Trip]:
    import ray
    from ray.dag import InputNode

    actor = _ray_actor(ray).remote(size)
    actions, rows = np.zeros(ENVS, np.int32), np.zeros(size, np.uint8)
    with InputNode() as given:
        graph = actor.step.bind(given)
    compiled = graph.experimental_compile()

    def trip() -> None:
        rows[:] = ray.get(compiled.execute(actions))

    try:
        yield trip
    finally:
        compiled.teardown()
        ray.kill(actor)


@contextmanager
def two_ray_nodes() -> Iterator[None]:
    """This process at the first node, actors at the second; no dashboard, and little memory for objects."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    from ray.cluster_utils import Cluster

    memory = {"object_store_memory": 100 << 20}
    head = {"num_cpus": 1, "include_dashboard": False, **memory}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        cluster.add_node(num_cpus=1, resources={"other": 1}, **memory)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        yield
    finally:
        ray.shutdown()
        cluster.shutdown()


def main() -> None:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each figure")
    seconds = parser.parse_args().seconds
    ways: dict[str, Any] = {
        "shared memory": by_shared_memory,
        "TCP socket": by_socket,
        "Ray compiled graph": by_compiled_graph,
        "Ray actor call": by_actor_call,
    }
    print(f"{'µs there and back, median':<28}" + "".join(f"{name:>16}" for name in TRAFFIC))
    with two_ray_nodes():
        for way, opened in ways.items():
            figures = []
            for size in TRAFFIC.values():
                try:
                    with opened(size) as trip:
                        figures.append(f"{median_seconds(trip, seconds) * 1e6:,.0f}")
                except Exception as error:  # a way that does not work here is a result too
                    figures.append(type(error).__name__)
            print(f"{way:<28}" + "".join(f"{figure:>16}" for figure in figures), flush=True)


if __name__ == "__main__":
    main()
