"""How rollouts from actors on Ray nodes scale, by simulation on one machine.

1. An env whose step waits 5 ms and uses no CPU, 4 of them per actor, one actor per node: env steps per second
   with 1, 2, 4 and 8 nodes, and the share of what so many times one node would make.
2. What a rollout costs the learner itself, as CPU time of its thread, for rows of CartPole and for pictures:
   join and evaluate (the actors' work is left out), and the update. From it, where a learner saturates.

    python benchmarks/cluster.py [--nodes 1,2,4,8] [--rollouts 6] [--lag 0] [--skip-cost]
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)  # where actors, too, find the envs of `actor_scale`

from gymnast.config.load import load_config  # noqa: E402
from gymnast.training.session import Session, build_session  # noqa: E402

ENVS_PER_NODE = 4
WAIT = 0.005  # seconds of a step, as `actor_scale:Waits` has it
STEPS = 50


def session_of(reference: str, overrides: dict[str, Any]) -> Session:
    common = {"algo.batch_size": 0.25, "algo.n_epochs": 1, "eval.every": 0, "budget.env_steps": 10**8}
    return build_session(load_config(reference, common | overrides).config)


def scale(address: str, nodes: int, rollouts: int, lag: int) -> float:
    """Env steps per second with one actor on each of so many nodes, learning left out."""
    session = session_of(
        "actor_scale:Waits",
        {
            "env.n_envs": ENVS_PER_NODE * nodes,
            "algo.n_steps": STEPS,
            "cluster.on": "ray",
            "cluster.address": address,
            "cluster.actors": nodes,
            "cluster.lag": lag,
        },
    )
    try:
        policy = session.learner.policy
        session.source.collect(policy, session.rng)  # what is done once is done here
        began = time.perf_counter()
        for _ in range(rollouts):
            session.source.collect(policy, session.rng)
        return rollouts * STEPS * ENVS_PER_NODE * nodes / (time.perf_counter() - began)
    finally:
        session.close()


def scaling(counts: list[int], rollouts: int, lag: int) -> None:
    os.environ |= {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        "PYTHONPATH": os.pathsep.join([HERE, os.environ.get("PYTHONPATH", "")]),
    }
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 1, "object_store_memory": 80 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={"include_dashboard": False, **small})
    one, running = 0.0, 1
    most = ENVS_PER_NODE / (WAIT * ENVS_PER_NODE)
    print(
        f"a step waits {WAIT * 1e3:g} ms, envs of an actor one after the other: at most {most:g} steps/s each"
    )
    try:
        for nodes in counts:
            while running < nodes:
                cluster.add_node(**small)
                running += 1
            cluster.wait_for_nodes()
            rate = scale(cluster.address, nodes, rollouts, lag)
            one = one or rate / nodes
            print(f"{nodes} nodes: {rate:8.0f} steps/s, {rate / (one * nodes):6.1%} of linear", flush=True)
    finally:
        cluster.shutdown()


def cost(what: str, reference: str, overrides: dict[str, Any], rollouts: int) -> None:
    """Seconds of the learner's own thread per rollout, and what follows from them."""
    local = {"cluster.on": "local", "cluster.actors": 1, "cluster.same_bits": False}
    session = session_of(reference, overrides | local)
    try:
        policy, learner = session.learner.policy, session.learner
        joining = learning = size = 0.0
        steps = session.envs.n_envs * session.config.algo.steps
        for turn in range(rollouts + 1):
            began = time.thread_time()
            collected = session.source.collect(policy, session.rng)
            joined = time.thread_time()
            learner.learn(collected.rollout, learner.hyperparameters(0, 10**8), session.rng)
            if turn:  # the first one allocates
                joining, learning = joining + joined - began, learning + time.thread_time() - joined
            size = _bytes(collected.rollout)
    finally:
        session.close()
    joining, learning = joining / rollouts / steps, learning / rollouts / steps
    print(
        f"{what}: {joining * 1e6:.1f} µs a step to join and evaluate, {learning * 1e6:.1f} µs to learn"
        f" (1 epoch); {size / steps:.0f} bytes a step"
    )
    for name, each in (("without learning", joining), ("with one epoch", joining + learning)):
        print(f"    {name}: {1 / each:,.0f} steps/s = {size / steps / each / 1e6:,.1f} MB/s")


def _bytes(rollout: Any) -> float:
    arrays = (rollout.obs, rollout.actions, rollout.rewards, rollout.terminated, rollout.truncated)
    return float(sum(np.asarray(array).nbytes for array in arrays))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", default="1,2,4,8")
    parser.add_argument("--rollouts", type=int, default=6)
    parser.add_argument("--lag", type=int, default=0)
    parser.add_argument("--skip-cost", action="store_true")
    given = parser.parse_args()
    scaling([int(count) for count in given.nodes.split(",")], given.rollouts, given.lag)
    if given.skip_cost:
        return
    cost("CartPole, 64 envs × 128", "CartPole-v1:ppo", {"env.n_envs": 64, "algo.n_steps": 128}, 5)
    pictures = {"env.n_envs": 16, "algo.n_steps": 32, "policy.frame_stack": 4}
    cost("84×84 pictures, 16 envs × 32, 4 stacked", "actor_scale:Shows", pictures, 2)


if __name__ == "__main__":
    main()
