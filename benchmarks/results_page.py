"""docs/results.md: one line per preset, learning curves by family, then every single run."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

from gymnast.runs.statistics import iqm
from learning_curves import families, image_of, read
from processes import DISTURBED
from result_rows import ROWS, Row

Found = dict[str, Any]  # one run, as results.json has it

_INTRODUCTION = """\
# Results

Written by `make results` from runs of {when}. Every row is the packaged preset as it is, trained until its
evaluation reached the preset's threshold or its budget was spent. The score is the mean return over whole
episodes of the env itself (wrappers meant for training are left out), greedy unless the row says sampled,
by the best checkpoint, on seeds not used in training. IQM is the interquartile mean over the seeds (the
mean, if there are fewer than four), then each seed's score; env steps and seconds are medians. Bold reached
the aim, which the last section explains. Presets that are not listed were only tried for a few steps.

{machines}

| preset | IQM | each seed | aim | env steps | seconds | |
| --- | ---: | --- | ---: | ---: | ---: | --- |"""

_CURVES = """
## Learning curves

The median return of the episodes that were trained on, in a band from the lowest seed to the highest.
Exploration is part of it, so it lies below the scores above; a run that stopped keeps its last return.
Presets whose runs were not kept have no curve yet.
"""

_RUNS = """
## Single runs

The score ± the standard deviation over the episodes.

| trained with | score | episodes | env steps | seconds | |
| --- | ---: | ---: | ---: | ---: | --- |"""

_NOTES = """
## Notes

- Aims are the env's own threshold, or what others publish. Those of Acrobot and HalfCheetah are greedy
  scores of RL Zoo's PPO after 1M steps (on HalfCheetah-v3), MountainCar's is near that of its DQN (-100.8),
  Pendulum's is what SAC and TD3 reach after 20k steps. Those of Hopper, Walker2d, InvertedPendulum and
  Pusher are CleanRL's returns while training, with sampled actions ([environments.md](environments.md)): a
  greedy score of the best checkpoint is another measure, and usually higher. Those of the other MuJoCo tasks
  are Tianshou's PPO after 1M steps, evaluated with the mean action.
- Seeds 11 and later were not used to choose settings; seeds 1 to 5 of the older rows were looked at while
  presets were tuned, so expect a little less of a new seed.
- FrozenLake is scored over 20,000 episodes: by dynamic programming, the best policy that does not see the
  time reaches the goal with probability 0.7402 (0.7442 if it does), and over 2,000 episodes chance alone
  moves its score by ± 0.01.
- A mix plays equally many episodes of each task; its score is the mean over tasks, each in brackets.
- Seconds marked † were measured while other processes kept a quarter of a core or more busy: without them
  the run takes less, often a fraction. Older runs, of which this was not noted, had other work beside them
  now and then. Compare speeds by [benchmarks.md](benchmarks.md).
- `make results ARGS="--only Taxi-v4:ppo"` updates one preset.
"""


def page(records: dict[str, list[Found]]) -> str:
    rows = [row for row in ROWS if records.get(row.ref)]
    every = [found for row in rows for found in records[row.ref]]
    dates = sorted({found["date"] for found in every})
    letters = {
        machine: chr(ord("a") + place)
        for place, machine in enumerate(dict.fromkeys(found["machine"] for found in every))
    }
    machines = "; ".join(f"({letter}) {machine}" for machine, letter in letters.items())
    when = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    lines = [_INTRODUCTION.format(when=when, machines=f"The last column names the machine: {machines}.")]
    lines += [_preset(row, records[row.ref], letters) for row in rows]
    lines.append(_CURVES)
    known = read()
    for family, envs in families().items():
        if any(row.ref in known and row.ref.partition(":")[0] in envs for row in ROWS):
            lines.append(f"![{family}](images/{image_of(family)})\n")
    lines.append(_RUNS.removeprefix("\n"))
    lines += [_run(row, found, letters) for row in rows for found in records[row.ref]]
    lines.append(_NOTES)
    return "\n".join(lines)


def _preset(row: Row, runs: list[Found], letters: dict[str, str]) -> str:
    scores = [found["mean_return"] for found in runs]
    middle = iqm([np.array(scores)])
    shown = f"{middle:.4g}"
    cells = [
        f"`{row.ref}`",
        f"**{shown}**" if middle >= row.aim else shown,
        ", ".join(_score(row, found, f"{found['mean_return']:.4g}") for found in runs),
        f"{row.aim:g}",
        f"{statistics.median(found['env_steps'] for found in runs):,.0f}",
        f"{statistics.median(found['seconds'] for found in runs):.1f}{_mark(runs)}",
        "".join(sorted({letters[found["machine"]] for found in runs})),
    ]
    return f"| {' | '.join(cells)} |"


def _run(row: Row, found: Found, letters: dict[str, str]) -> str:
    score = _score(row, found, f"{found['mean_return']:.4g} ± {found['std_return']:.3g}")
    if found.get("sampled"):
        score += " sampled"
    if "tasks" in found:
        score += f" ({', '.join(f'{name} {mean:.4g}' for name, mean in found['tasks'].items())})"
    cells = [f"`gymnast train {row.ref} seed={found['seed']}`", score, f"{row.episodes:,}"]
    cells += [f"{found['env_steps']:,}", f"{found['seconds']:.1f}{_mark([found])}", letters[found["machine"]]]
    return f"| {' | '.join(cells)} |"


def _mark(runs: list[Found]) -> str:
    return "†" if any(found.get("others", 0) >= DISTURBED for found in runs) else ""


def _score(row: Row, found: Found, shown: str) -> str:
    reached = found["mean_return"] >= row.aim and found.get("solved") is not False
    return f"**{shown}**" if reached else shown
