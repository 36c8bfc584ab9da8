"""One measurement each: a new process (or a few), and its figures."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable

import ours
from processes import Finished, gymnast, run, script

Sample = dict[str, float]
Measure = Callable[[int, bool], Sample]  # takes a seed, and whether to be quick

# --- Stable-Baselines3 --------------------------------------------------------------------------


def sb3_zoo(seed: int, quick: bool) -> Sample:
    done = run(script("sb3.py", "steps", "--seed", seed, "--env-steps", 10_000 if quick else 100_000))
    found = done.json()
    return {"sps": found["env_steps"] / found["seconds"], "peak_mib": done.peak_mib}


def sb3_a2c(seed: int, quick: bool) -> Sample:
    budget = 10_000 if quick else 50_000
    done = run(script("sb3.py", "steps", "--algo", "a2c", "--seed", seed, "--env-steps", budget))
    found = done.json()
    return {"sps": found["env_steps"] / found["seconds"], "peak_mib": done.peak_mib}


def sb3_pong(seed: int, quick: bool) -> Sample:
    budget = 2_048 if quick else 8_192
    done = run(
        script("sb3.py", "steps", "--env", "PongNoFrameskip-v4", "--seed", seed, "--env-steps", budget)
    )
    found = done.json()
    return {"sps": found["env_steps"] / found["seconds"], "peak_mib": done.peak_mib}


def until_solved(done: Finished, threshold: float) -> Sample:
    """Seconds up to the time that the script reports: SB3's exit is not counted."""
    found = done.json()
    return {
        "seconds": found["ended_at"] - done.started,
        "env_steps": found["env_steps"],
        "score": found["score"],
        "solved": float(found["score"] >= threshold),
    }


def sb3_cartpole_solve(seed: int, quick: bool) -> Sample:
    return until_solved(run(script("sb3.py", "solve", "--seed", seed)), 475)


def sb3_lunarlander_solve(seed: int, quick: bool) -> Sample:
    command = script("sb3.py", "solve", "--env", "LunarLander-v3", "--seed", seed, "--env-steps", 1_000_000)
    command += ["--threshold", "200", "--every", "25000", "--few", "20"]
    return until_solved(run(command), 200)


def sb3_first_update(seed: int, quick: bool) -> Sample:
    done = run(script("sb3.py", "first-update", "--seed", seed))
    return {"seconds": done.json()["ended_at"] - done.started, "process_seconds": done.seconds}


def contrib_recurrent(seed: int, quick: bool) -> Sample:
    done = run(script("recurrent.py", "--seed", seed, "--env-steps", 2_560 if quick else 10_240))
    found = done.json()
    return {"sps": found["env_steps"] / found["seconds"], "peak_mib": done.peak_mib}


# --- Gymnast ------------------------------------------------------------------------------------


def our_zoo(seed: int, quick: bool) -> Sample:
    budget = f"budget.env_steps={'20k' if quick else '100k'}"
    with ours.train("CartPole-v1:ppo-zoo", f"seed={seed}", "eval.every=0", budget) as trained:
        return {"sps": trained.sps, "peak_mib": trained.process.peak_mib}


def our_recurrent(seed: int, quick: bool) -> Sample:
    network = ("policy.memory=lstm", "policy.memory_size=64", "policy.hidden=[64]", "policy.activation=relu")
    budget = f"budget.env_steps={'10k' if quick else '50k'}"
    with ours.train("CartPole-v1:ppo-zoo", f"seed={seed}", "eval.every=0", budget, *network) as trained:
        return {"sps": trained.sps, "peak_mib": trained.process.peak_mib}


def our_a2c(seed: int, quick: bool) -> Sample:
    budget = f"budget.env_steps={'20k' if quick else '100k'}"
    with ours.train("CartPole-v1:a2c-zoo", f"seed={seed}", "eval.every=0", budget) as trained:
        return {"sps": trained.sps, "peak_mib": trained.process.peak_mib}


def our_pong(precision: str) -> Measure:
    def measure(seed: int, quick: bool) -> Sample:
        budget = f"budget.env_steps={2_048 if quick else 8_192}"
        settings = (f"seed={seed}", f"precision={precision}", "device=cpu", "eval.every=0", budget)
        with ours.train("ALE/Pong-v5:ppo", *settings) as trained:
            return {"sps": trained.sps, "peak_mib": trained.process.peak_mib}

    return measure


def our_pong_objects(seed: int, quick: bool) -> Sample:
    budget = f"budget.env_steps={'50k' if quick else '200k'}"
    settings = (f"seed={seed}", "env.backend=workers", "eval.every=0", "stop.eval_return=null", budget)
    with ours.train("ALE/Pong-v5:ppo-objects", *settings) as trained:
        return {"sps": trained.sps, "peak_mib": trained.process.peak_mib}


def raw_preset_envs(preset: str, backend: str) -> Measure:
    def measure(seed: int, quick: bool) -> Sample:
        return {
            "sps": run(script("limits.py", "envs", "--preset", preset, "--backend", backend)).json()["sps"]
        }

    return measure


def our_huge(seed: int, quick: bool) -> Sample:
    budget = f"budget.env_steps={'2M' if quick else '8M'}"
    with ours.train("CartPole-v1:ppo-huge", f"seed={seed}", "eval.every=0", budget) as trained:
        return {"sps": trained.sps, "peak_mib": trained.process.peak_mib}


def our_cartpole_solve(seed: int, quick: bool) -> Sample:
    # the preset may evaluate over fewer episodes: both sides have to show 100
    with ours.train("CartPole-v1:ppo", f"seed={seed}", "eval.episodes=100") as trained:
        return _solved(trained, "CartPole-v1", 475)


def our_lunarlander_solve(seed: int, quick: bool) -> Sample:
    settings = ("stop.eval_return=200", "eval.episodes=100")
    with ours.train("LunarLander-v3:ppo", f"seed={seed}", *settings) as trained:
        return _solved(trained, "LunarLander-v3", 200)


def _solved(trained: ours.Trained, env_id: str, threshold: float) -> Sample:
    """The whole process, its exit included; the score is checked outside, which is not timed."""
    score = ours.verified_score(trained, env_id)
    return {
        "seconds": trained.process.seconds,
        "env_steps": float(trained.report["env_steps"]),
        "score": score,
        "solved": float(bool(trained.report["solved"]) and score >= threshold),
    }


def our_first_update(engine: str) -> Measure:
    def measure(seed: int, quick: bool) -> Sample:
        settings = ("eval.every=0", "budget.env_steps=256", f"engine={engine}", f"seed={seed}")
        with ours.train("CartPole-v1:ppo-zoo", *settings) as trained:
            # the update's row is written as soon as it is done
            ended_at = (trained.folder / "metrics.csv").stat().st_mtime
            whole = trained.process.seconds
            return {"seconds": ended_at - trained.process.started, "process_seconds": whole}

    return measure


def our_help(seed: int, quick: bool) -> Sample:
    return {"seconds": run(gymnast("--help")).seconds}


def bare_interpreter(seed: int, quick: bool) -> Sample:
    return {"seconds": run([sys.executable, "-c", "pass"]).seconds}


def long_run(seed: int, quick: bool) -> Sample:
    """Memory and speed at both ends of a long run: neither may depend on how long it has run."""
    watch = ours.MemoryWatch(every=0.05 if quick else 0.5)
    budget = f"budget.env_steps={'300k' if quick else '10M'}"
    with ours.train("CartPole-v1:ppo-zoo", f"seed={seed}", "eval.every=0", budget, watch=watch) as trained:
        rows = trained.columns("time/env_steps", "time/seconds")
    tenth = len(rows) // 10
    samples = len(watch.mib) // 10
    return {
        "sps_first": _rate(rows[:tenth]),
        "sps_last": _rate(rows[-tenth:]),
        # the second tenth: imports and the first allocations are over by then
        "mib_first": statistics.median(watch.mib[samples : 2 * samples]),
        "mib_last": statistics.median(watch.mib[-samples:]),
    }


def _rate(rows: list[tuple[float, ...]]) -> float:
    (first_steps, first_seconds), (last_steps, last_seconds) = rows[0], rows[-1]
    return (last_steps - first_steps) / (last_seconds - first_seconds)


# --- limits -------------------------------------------------------------------------------------


def raw_envs(env_id: str, backend: str, n_envs: int) -> Measure:
    def measure(seed: int, quick: bool) -> Sample:
        command = script("limits.py", "envs", "--env", env_id, "--backend", backend, "--n-envs", n_envs)
        return {"sps": run(command).json()["sps"]}

    return measure


def arithmetic(size: str) -> Measure:
    def measure(seed: int, quick: bool) -> Sample:
        return {"sps": run(script("limits.py", "arithmetic", "--size", size)).json()["sps"]}

    return measure


def both(first: Measure, second: Measure) -> Measure:
    """The rate of doing one after the other."""

    def measure(seed: int, quick: bool) -> Sample:
        a, b = first(seed, quick)["sps"], second(seed, quick)["sps"]
        return {"sps": 1 / (1 / a + 1 / b)}

    return measure
