"""The comparisons: what is measured on each side, what is compared, and the aim."""

from __future__ import annotations

from dataclasses import dataclass

from measures import (
    Measure,
    arithmetic,
    bare_interpreter,
    both,
    contrib_recurrent,
    long_run,
    our_a2c,
    our_cartpole_solve,
    our_first_update,
    our_help,
    our_huge,
    our_lunarlander_solve,
    our_pong,
    our_pong_objects,
    our_recurrent,
    our_zoo,
    raw_envs,
    raw_preset_envs,
    sb3_a2c,
    sb3_cartpole_solve,
    sb3_first_update,
    sb3_lunarlander_solve,
    sb3_pong,
    sb3_zoo,
)

SB3 = "Stable-Baselines3"
SB3_CONTRIB = "sb3-contrib"
GYMNAST = "Gymnast"
CARTPOLE = "CartPole-v1"


@dataclass(frozen=True)
class Comparison:
    """Two measured quantities, each named by side and quantity, and the aim for ratio or difference."""

    what: str
    top: tuple[str, str]
    bottom: tuple[str, str]
    at_least: float | None = None
    at_most: float | None = None
    difference: bool = False

    def value(self, top: float, bottom: float) -> float:
        return top - bottom if self.difference else top / bottom

    def met(self, value: float) -> bool:
        over = self.at_least is None or value >= self.at_least
        return over and (self.at_most is None or value <= self.at_most)


@dataclass(frozen=True)
class Case:
    """One benchmark. Its sides are measured in turn, `repeats` times."""

    name: str
    what: str
    sides: dict[str, Measure]
    comparisons: tuple[Comparison, ...] = ()
    repeats: int = 3
    quick_repeats: int = 1
    opt_in: bool = False  # too long to run unless it is named


CASES = (
    Case(
        "cartpole-zoo",
        "CartPole-v1 at RL Zoo's settings (8 envs × 32 steps, batch 256, 20 epochs, two layers of 64, "
        "tanh), 100k steps: env steps per second of rollout and learning together, without start-up.",
        {SB3: sb3_zoo, GYMNAST: our_zoo},
        (
            Comparison("env steps/s", (GYMNAST, "sps"), (SB3, "sps"), at_least=4),
            Comparison("peak memory", (GYMNAST, "peak_mib"), (SB3, "peak_mib"), at_most=1),
        ),
    ),
    Case(
        "cartpole-lstm",
        "CartPole-v1 by a recurrent policy (8 envs × 32 steps, batch 256, 20 epochs; actor and critic with "
        "an LSTM of 64 and a layer of 64 each): env steps per second of rollout and learning together, "
        "without start-up.",
        {SB3_CONTRIB: contrib_recurrent, GYMNAST: our_recurrent},
        (Comparison("env steps/s", (GYMNAST, "sps"), (SB3_CONTRIB, "sps"), at_least=4),),
    ),
    Case(
        "cartpole-a2c",
        "A2C on CartPole-v1 at RL Zoo's settings (8 envs × 5 steps, RMSProp, two layers of 64, tanh): env "
        "steps per second of rollout and learning together, without start-up.",
        {SB3: sb3_a2c, GYMNAST: our_a2c},
        (Comparison("env steps/s", (GYMNAST, "sps"), (SB3, "sps"), at_least=3),),
    ),
    Case(
        "pong-pixels",
        "Pong from pixels (8 envs × 128 steps, batch 256, 4 epochs, the Nature network, 84 × 84 gray, "
        "4 frames) on a CPU: env steps per second of rollout and learning together, without start-up. SB3 "
        "has its own wrappers on PongNoFrameskip-v4, ours is `gymnast train ALE/Pong-v5:ppo`.",
        {SB3: sb3_pong, "Gymnast, f32": our_pong("f32"), "Gymnast, bf16": our_pong("bf16")},
        (
            Comparison("env steps/s, f32", ("Gymnast, f32", "sps"), (SB3, "sps"), at_least=1.5),
            Comparison("env steps/s, bf16", ("Gymnast, bf16", "sps"), (SB3, "sps"), at_least=2),
        ),
    ),
    Case(
        "pong-objects",
        "Pong from objects, `gymnast train ALE/Pong-v5:ppo-objects`, against the same envs stepped with "
        "random actions and without training, both in worker processes: how much longer a step takes with "
        "learning.",
        {"envs alone": raw_preset_envs("ALE/Pong-v5:ppo-objects", "workers"), GYMNAST: our_pong_objects},
        (Comparison("time of a step", ("envs alone", "sps"), (GYMNAST, "sps"), at_most=1.3),),
    ),
    Case(
        "cartpole-solve",
        "CartPole-v1 from process start until a greedy evaluation over 100 episodes reaches 475. SB3: RL "
        "Zoo's settings, a check over 10 episodes every 5,120 steps, then 100. Ours: `gymnast train "
        "CartPole-v1:ppo eval.episodes=100`, the whole process. Our score, and whether it counts as solved, "
        "are those of an independent evaluation afterwards; SB3's are its own.",
        {SB3: sb3_cartpole_solve, GYMNAST: our_cartpole_solve},
        (Comparison("seconds", (GYMNAST, "seconds"), (SB3, "seconds"), at_most=1 / 3),),
        repeats=5,
        quick_repeats=2,
    ),
    Case(
        "cartpole-huge",
        "CartPole-v1 with 4,096 envs × 64 steps, minibatches of 32,768, 1 epoch, one layer of 128 (8M "
        "steps), against SB3 at RL Zoo's settings.",
        {SB3: sb3_zoo, GYMNAST: our_huge},
        (Comparison("env steps/s", (GYMNAST, "sps"), (SB3, "sps"), at_least=100),),
    ),
    Case(
        "lunarlander-solve",
        "LunarLander-v3 from process start until a greedy evaluation over 100 episodes reaches 200. SB3: "
        "RL Zoo's settings, a check over 20 episodes every 25k steps, then 100. Ours: `gymnast train "
        "LunarLander-v3:ppo eval.episodes=100`, the whole process. Our score, and whether it counts as "
        "solved, are those of an independent evaluation afterwards; SB3's are its own.",
        {SB3: sb3_lunarlander_solve, GYMNAST: our_lunarlander_solve},
        (Comparison("seconds", (GYMNAST, "seconds"), (SB3, "seconds"), at_most=1 / 6),),
        quick_repeats=1,
        opt_in=True,
    ),
    Case(
        "first-update",
        "From process start to the end of the first update: 256 env steps and 20 epochs. The whole "
        "process is listed beside it: ours also writes a run folder with a checkpoint.",
        {
            SB3: sb3_first_update,
            "Gymnast, NumPy": our_first_update("numpy"),
            "Gymnast, torch": our_first_update("torch"),
        },
        (
            Comparison("seconds, NumPy", ("Gymnast, NumPy", "seconds"), (SB3, "seconds"), at_most=1 / 3),
            Comparison("seconds, torch", ("Gymnast, torch", "seconds"), (SB3, "seconds"), at_most=0.7),
        ),
        repeats=5,
        quick_repeats=2,
    ),
    Case(
        "help",
        "`gymnast --help` against an interpreter that does nothing.",
        {"python -c pass": bare_interpreter, "gymnast --help": our_help},
        (
            Comparison(
                "seconds more",
                ("gymnast --help", "seconds"),
                ("python -c pass", "seconds"),
                at_most=0.3,
                difference=True,
            ),
        ),
        repeats=7,
        quick_repeats=3,
    ),
    Case(
        "limits",
        "What no trainer can beat here: raw env stepping through our env contract with random actions, "
        "and only the matrix products and tanh of the network in NumPy.",
        {
            "CartPole, native, 8 envs": raw_envs(CARTPOLE, "native", 8),
            "CartPole, sync, 8 envs": raw_envs(CARTPOLE, "sync", 8),
            "CartPole, native, 4,096 envs": raw_envs(CARTPOLE, "native", 4096),
            "CartPole, sync, 4,096 envs": raw_envs(CARTPOLE, "sync", 4096),
            "LunarLander, sync, 16 envs": raw_envs("LunarLander-v3", "sync", 16),
            "arithmetic, RL Zoo settings": arithmetic("zoo"),
            "arithmetic, 4,096 envs": arithmetic("huge"),
            "envs + arithmetic, RL Zoo settings": both(raw_envs(CARTPOLE, "native", 8), arithmetic("zoo")),
            "envs + arithmetic, 4,096 envs": both(raw_envs(CARTPOLE, "native", 4096), arithmetic("huge")),
            "Gymnast, RL Zoo settings": our_zoo,
            "Gymnast, 4,096 envs": our_huge,
        },
        (
            Comparison(
                "share of the limit, RL Zoo settings",
                ("Gymnast, RL Zoo settings", "sps"),
                ("envs + arithmetic, RL Zoo settings", "sps"),
            ),
            Comparison(
                "share of the limit, 4,096 envs",
                ("Gymnast, 4,096 envs", "sps"),
                ("envs + arithmetic, 4,096 envs", "sps"),
            ),
        ),
    ),
    Case(
        "memory",
        "CartPole-v1 at RL Zoo's settings over 10M steps (39,000 updates): resident memory in the second "
        "and the last tenth, env steps per second in the first and the last tenth.",
        {GYMNAST: long_run},
        (
            Comparison(
                "memory, last / second tenth",
                (GYMNAST, "mib_last"),
                (GYMNAST, "mib_first"),
                at_most=1.05,
            ),
            Comparison(
                "steps/s, last / first tenth",
                (GYMNAST, "sps_last"),
                (GYMNAST, "sps_first"),
                at_least=0.95,
            ),
        ),
        repeats=1,
        opt_in=True,
    ),
)
