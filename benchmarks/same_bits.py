"""Whether two checkouts train to the same bits: `python benchmarks/same_bits.py BEFORE [AFTER]`.

Each case is a short training, once under each checkout's `src/`, in a process of its own. Compared are the
weights of the last checkpoint and every number of every metrics row that does not measure time. Bits differ
between CPUs and library versions, so nothing is stored: both sides run now.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

_TINY = ["eval.every=0", "checkpoint.seconds=0"]
_ZOO = ["CartPole-v1:ppo-zoo", *_TINY]
_LAKE = ["FrozenLake-v1:ppo", "env.backend=sync", *_TINY]
_TORCH = "engine=torch"
_DOOM = ["VizDoom-Basic-v0:ppo", "env.n_envs=2", "algo.n_steps=32", "algo.batch_size=32", *_TINY]
_IMAGES = ["ALE/Pong-v5:ppo", "env.n_envs=4", "algo.n_steps=16", "algo.batch_size=32", *_TINY]
_MIX = ["MinAtar/Mix:ppo", "env.n_envs=8", "algo.n_steps=16", "algo.batch_size=64", *_TINY]

# Reference and settings of each training, and how many env steps it takes.
CASES: dict[str, tuple[list[str], int]] = {
    "ppo": (_ZOO, 2048),
    "ppo, torch": ([*_ZOO, _TORCH], 1024),
    "ppo, several minibatches": ([*_ZOO, "algo.batch_size=64"], 2048),
    "ppo, large batches": (
        ["CartPole-v1:ppo-zoo", "env.n_envs=64", "algo.n_steps=64", "algo.batch_size=all", *_TINY],
        12288,
    ),
    "ppo, evaluation": (["CartPole-v1:ppo", "eval.every=2048", "eval.episodes=10"], 8192),
    "ppo, sampled evaluation": (["CartPole-v1:ppo", "eval.every=2048", "eval.stochastic=true"], 4096),
    "ppo, target_kl": ([*_ZOO, "algo.target_kl=0.002", "algo.lr=0.01"], 2048),
    "ppo, value clipping": ([*_ZOO, "algo.value_clip_range=0.2"], 2048),
    "ppo, huber": ([*_ZOO, "algo.value_loss=huber"], 2048),
    "ppo, shared trunk": ([*_ZOO, "policy.shared=true"], 2048),
    "ppo, critic widths": ([*_ZOO, "policy.critic_hidden=[32]"], 2048),
    "ppo, critic_lr": ([*_ZOO, "algo.critic_lr=1e-2"], 2048),
    "ppo, layer norm": ([*_ZOO, "policy.layer_norm=true"], 2048),
    "ppo, batch norm": ([*_ZOO, "policy.batch_norm=true"], 1024),
    "ppo, dropout": ([*_ZOO, "policy.dropout=0.1"], 1024),
    "a2c": (["CartPole-v1:a2c", *_TINY], 4096),
    "a2c, torch": (["CartPole-v1:a2c", _TORCH, *_TINY], 2048),
    "reinforce": (["CartPole-v1:reinforce", *_TINY], 20000),
    "reinforce, torch": (["CartPole-v1:reinforce", _TORCH, *_TINY], 20000),
    "reinforce, no baseline": (["CartPole-v1:reinforce", "algo.baseline=none", *_TINY], 20000),
    "reinforce, whole returns": (["CartPole-v1:reinforce", "algo.reward_to_go=false", *_TINY], 20000),
    "sgd": ([*_ZOO, "algo.optimizer={name: sgd, momentum: 0.9}"], 1024),
    "adamw": ([*_ZOO, "algo.optimizer={name: adamw, weight_decay: 0.01}"], 1024),
    "reward scale": ([*_ZOO, "algo.normalize_reward=true"], 2048),
    "reward scale, torch": ([*_ZOO, "algo.normalize_reward=true", _TORCH], 1024),
    "popart": ([*_ZOO, "policy.popart=true"], 2048),
    "popart, torch": ([*_ZOO, "policy.popart=true", _TORCH], 1024),
    "popart, reward scale": ([*_ZOO, "policy.popart=true", "algo.normalize_reward=true"], 2048),
    "popart, reinforce": (["CartPole-v1:reinforce", "policy.popart=true", *_TINY], 20000),
    "running statistics": (["LunarLander-v3:ppo", "policy.normalize_obs=running", *_TINY], 20000),
    "interventions": (
        [
            *_ZOO,
            "interventions=[{metric: train/return/mean, patience: 512, setting: lr, multiply: 0.5}]",
        ],
        4096,
    ),
    "memory": (["CartPole-v1:ppo-lstm", *_TINY], 4096),
    "memory, frame stack": (["CartPole-v1:ppo-lstm", "policy.frame_stack=2", *_TINY], 4096),
    "memory, t-maze": (["gymnast/TMaze-v0:ppo-lstm", *_TINY], 4096),
    "frame stack": ([*_ZOO, "policy.frame_stack=3"], 2048),
    "frame stack, torch": ([*_ZOO, "policy.frame_stack=3", _TORCH], 1024),
    "masks": (["Taxi-v4:ppo", "env.action_masks=true", *_TINY], 8192),
    "masks, torch": (["Taxi-v4:ppo", "env.action_masks=true", _TORCH, *_TINY], 8192),
    "continuous": (["Pendulum-v1:ppo", *_TINY], 8192),
    "continuous, torch": (["Pendulum-v1:ppo", _TORCH, *_TINY], 4096),
    "state-dependent std": (["Pendulum-v1:ppo", "policy.state_dependent_std=true", *_TINY], 4096),
    "several actions": (
        ["VizDoom-Basic-v0:ppo", "env.n_envs=2", "algo.n_steps=32", "algo.batch_size=32", *_TINY],
        256,
    ),
    "workers": (["LunarLander-v3:ppo", "env.backend=workers", *_TINY], 8192),
    "groups": (["LunarLander-v3:ppo", "env.groups=2", *_TINY], 8192),
    "groups, workers": (["LunarLander-v3:ppo", "env.groups=2", "env.backend=workers", *_TINY], 8192),
    "collect ahead": (["LunarLander-v3:ppo", "algo.collect_ahead=true", *_TINY], 8192),
    "collect ahead, groups": (
        ["LunarLander-v3:ppo", "algo.collect_ahead=true", "env.groups=2", *_TINY],
        8192,
    ),
    "toy text": (_LAKE, 4096),
    "embedding": ([*_LAKE, "policy.discrete_obs=embedding"], 4096),
    "minigrid": (["MiniGrid-DoorKey-5x5-v0:ppo", *_TINY], 4096),
    "mix": (_MIX, 512),
    "mix, reward scale": ([*_MIX, "algo.normalize_reward=true"], 512),
    "images": (_IMAGES, 192),
    "images, groups": ([*_IMAGES, "env.groups=2"], 192),
    "images, popart": ([*_IMAGES, "policy.popart=true"], 192),
    "atari objects": (["ALE/Pong-v5:ppo-objects", "env.n_envs=8", "algo.batch_size=0.25", *_TINY], 1024),
}

# Which numbers of a row measure the machine and not the learning.
_MEASURED = ("time/seconds", "time/fps", "time/collect_seconds", "time/update_seconds", "time/eval_seconds")

# Run under either checkout, through what both have in common: train, then read the folder.
_TRAIN = "import sys; from gymnast.cli.app import main; sys.argv = ['gymnast', *sys.argv[1:]]; main()"


def trained(checkout: Path, words: list[str], steps: int) -> dict[str, str]:
    """Digests of one training: `weights`, and each metric by its name."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", _TRAIN, "train", *words, "--quiet"]
        command += ["--max-env-steps", str(steps), "--runs-dir", folder]
        environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "GYMNAST_CACHE_DIR": folder}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)} failed under {checkout}:\n{done.stderr[-2000:]}")
        (metrics,) = Path(folder).glob("*/metrics.csv")
        newest = max((metrics.parent / "checkpoints").glob("*.policy.safetensors"))
        return {"weights": _digest(_weights(newest))} | _columns(metrics)


def _weights(path: Path) -> Any:
    from safetensors.numpy import load_file

    return sorted((name, array.tobytes().hex()) for name, array in load_file(path).items())


def _columns(path: Path) -> dict[str, str]:
    with path.open() as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if not name.startswith(_MEASURED)]
    return {name: _digest([row[name] for row in rows]) for name in names}


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def compare(name: str, before: Path, after: Path) -> list[str]:
    """What differs in one case, one line each."""
    words, steps = CASES[name]
    try:
        old, new = trained(before, words, steps), trained(after, words, steps)
    except RuntimeError as error:
        return [f"{name}: {error}"]
    lines = [f"{name}: {key} differs" for key in sorted(old.keys() & new.keys()) if old[key] != new[key]]
    for key in sorted(old.keys() ^ new.keys()):
        lines.append(f"{name}: {key} is only in {'BEFORE' if key in old else 'AFTER'}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("before", type=Path, help="a checkout of the repository")
    parser.add_argument("after", type=Path, nargs="?", default=ROOT, help="another; this one if left out")
    parser.add_argument("--only", action="append", choices=list(CASES), help="may be repeated")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time")
    options = parser.parse_args()
    names = options.only or list(CASES)
    different = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        found = pool.map(lambda name: compare(name, options.before, options.after), names)
        for name, lines in zip(names, found, strict=True):
            different += bool(lines)
            print("\n".join(lines) if lines else f"{name}: the same bits", flush=True)
    print(f"{len(names) - different} of {len(names)} cases have the same bits in both checkouts")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
