"""The benchmark harness: what it measures is what happened, and what it names exists."""

from __future__ import annotations

import importlib
import json
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from gymnast import api
from gymnast.config.load import load_config

MODULES = (
    "processes",
    "ours",
    "measures",
    "cases",
    "report",
    "compare",
    "results",
    "preset_health",
    "observe_memory",
    "same_score",
    "results_page",
)


@pytest.fixture
def harness(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    """Its modules, imported as its scripts import each other, and removed afterwards."""
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    yield {name: importlib.import_module(name) for name in MODULES}
    for name in MODULES:
        sys.modules.pop(name, None)


def record(harness: dict[str, ModuleType], samples: dict[str, list[dict[str, float]]]) -> object:
    noted = {side: [{"others": 0.0} | one for one in found] for side, found in samples.items()}
    return harness["report"].Record("made-up", "2026-01-01", False, "a machine", noted)


def test_run_reports_seconds_peak_memory_and_output(harness: dict[str, ModuleType]) -> None:
    code = "import time; x = b'1' * (80 << 20); time.sleep(0.2); print('{\"a\": 1}')"
    done = harness["processes"].run([sys.executable, "-c", code])
    assert done.json() == {"a": 1}
    assert 0.2 <= done.seconds < 20
    assert 80 <= done.peak_mib < 2000


def test_failed_measurement_stops_the_harness(harness: dict[str, ModuleType]) -> None:
    with pytest.raises(SystemExit, match=r"(?s)ended with 3.*no luck"):
        harness["processes"].run([sys.executable, "-c", "import sys; print('no luck'); sys.exit(3)"])


def test_own_children_do_not_count_as_other_processes(harness: dict[str, ModuleType]) -> None:
    processes = harness["processes"]
    before = processes._own_seconds()
    processes.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass"])
    assert processes._own_seconds() - before >= 0.3


def test_ratios_are_taken_per_repeat(harness: dict[str, ModuleType]) -> None:
    made = record(harness, {"us": [{"sps": 10.0}, {"sps": 40.0}], "them": [{"sps": 5.0}, {"sps": 10.0}]})
    comparison = harness["cases"].Comparison("speed", ("us", "sps"), ("them", "sps"), at_least=3)
    assert harness["report"].compared(made, comparison) == [2.0, 4.0]


@pytest.mark.parametrize(("ratio", "verdict"), [(4.0, "| met |"), (2.0, "| missed |")])
def test_verdict_follows_the_median(harness: dict[str, ModuleType], ratio: float, verdict: str) -> None:
    cases = harness["cases"]
    comparison = cases.Comparison("speed", ("us", "sps"), ("them", "sps"), at_least=3)
    case = cases.Case("made-up", "Something.", {}, (comparison,))
    made = record(harness, {"us": [{"sps": ratio}] * 3, "them": [{"sps": 1.0}] * 3})
    assert verdict in "\n".join(harness["report"].case_lines(case, made))


def test_disturbed_measurement_is_marked(harness: dict[str, ModuleType]) -> None:
    case = harness["cases"].Case("made-up", "Something.", {})
    quiet = record(harness, {"us": [{"sps": 1.0}]})
    busy = record(harness, {"us": [{"sps": 1.0, "others": 1.5}]})
    assert "Disturbed" not in "\n".join(harness["report"].case_lines(case, quiet))
    assert "1.5 cores" in "\n".join(harness["report"].case_lines(case, busy))


def test_sides_take_turns(
    harness: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    order: list[str] = []

    def side(name: str) -> object:
        return lambda seed, quick: order.append(f"{name}{seed}") or {"sps": 1.0}

    case = harness["cases"].Case("made-up", "Something.", {"a": side("a"), "b": side("b")})
    monkeypatch.setattr(harness["compare"], "machine", lambda: "a machine")  # it may lack the other side
    harness["compare"].measure(case, 2, True)
    assert order == ["a1", "b1", "b2", "a2"]
    assert "made-up: 2/2 b" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "text"),
    [(float("nan"), "–"), (123456.0, "123,000"), (412.4, "412"), (0.12345, "0.123"), (1 / 3, "0.333")],
)
def test_numbers_have_three_digits(harness: dict[str, ModuleType], value: float, text: str) -> None:
    assert harness["report"].number(value) == text


def test_every_row_of_the_results_is_a_packaged_preset(harness: dict[str, ModuleType]) -> None:
    for row in harness["results"].ROWS:
        assert load_config(row.ref).config.algo.name in row.ref


def test_seconds_to_the_same_score_are_bounds_where_a_side_gave_up(harness: dict[str, ModuleType]) -> None:
    def samples(seconds: float, solved: bool) -> dict[str, float]:
        return {"seconds": seconds, "score": 0.0, "solved": float(solved)}

    task, shown = harness["same_score"].TASKS[0], harness["same_score"].lines
    sides = {"Stable-Baselines3": [samples(50, True), samples(90, False)], "Gymnast": [samples(10, True)] * 2}
    (row,) = (line for line in shown({task.case: record(harness, sides)}) if task.env_id in line)
    assert "| > 70.0 (reached 1 of 2) | 10.0 | > 7.0 | ≥ 4 | met |" in row
    sides["Gymnast"] = [samples(10, True), samples(10, False)]
    (row,) = (line for line in shown({task.case: record(harness, sides)}) if task.env_id in line)
    assert "| – | ≥ 4 | missed |" in row


def test_seconds_of_a_busy_machine_are_marked_in_the_results(harness: dict[str, ModuleType]) -> None:
    row = harness["results"].ROWS[0]
    run = {"seed": 1, "env_steps": 10, "seconds": 2.5, "mean_return": 1.0, "std_return": 0.0}
    run |= {"machine": "a machine", "date": "2026-01-01"}
    quiet = harness["results_page"].page({row.ref: [run | {"others": 0.1}]})
    busy = harness["results_page"].page({row.ref: [run | {"others": 1.2}]})
    assert "| 2.5 |" in quiet
    assert "2.5†" not in quiet
    assert busy.count("| 2.5† |") == 2  # the preset's line and the single run's


def test_missing_seeds_of_a_row_are_those_without_a_run(harness: dict[str, ModuleType]) -> None:
    results = harness["results"]
    row = results.Row("CartPole-v1:ppo", 500, first_seed=11)
    assert results._seeds(row, None, [{"seed": 12}]) == [11, 13]
    assert results._seeds(row, 2, []) == [11, 12]


def test_zoo_preset_is_what_the_other_side_runs(harness: dict[str, ModuleType]) -> None:
    config = load_config("CartPole-v1:ppo-zoo").config
    assert (config.env.n_envs, config.algo.n_steps, config.algo.batch_size) == (8, 32, 256)
    assert (config.policy.hidden, config.policy.activation, config.policy.shared) == ((64, 64), "tanh", False)
    algo = config.algo
    assert [setting.at(0, 1) for setting in (algo.n_epochs, algo.gamma, algo.gae_lambda)] == [20, 0.98, 0.8]
    for schedule, first in ((algo.lr, 1e-3), (algo.clip_range, 0.2)):
        values = [schedule.at(step, 100_000) for step in (0, 50_000, 100_000)]
        assert values == pytest.approx([first, first / 2, 0])
    assert algo.entropy_coef.at(0, 100_000) == 0


def test_huge_preset_has_the_stated_sizes() -> None:
    config = load_config("CartPole-v1:ppo-huge").config
    assert (config.env.n_envs, config.algo.n_steps, config.algo.batch_size) == (4096, 64, 32_768)
    assert (config.policy.hidden, config.algo.n_epochs.at(0, 1)) == ((128,), 1)


def test_a2c_preset_is_what_the_other_side_runs() -> None:
    """RL Zoo names eight envs; the rest is what Stable-Baselines3's A2C has by default."""
    config = load_config("CartPole-v1:a2c-zoo").config
    algo = config.algo
    assert (config.env.n_envs, algo.n_steps, algo.normalize_advantage) == (8, 5, False)
    assert (config.policy.hidden, config.policy.activation, config.policy.shared) == ((64, 64), "tanh", False)
    values = [algo.lr, algo.gamma, algo.gae_lambda, algo.value_coef, algo.max_grad_norm, algo.entropy_coef]
    assert [value.at(50_000, 100_000) for value in values] == [7e-4, 0.99, 1.0, 0.5, 0.5, 0.0]
    assert (algo.optimizer.name, algo.optimizer.alpha, algo.optimizer.eps) == ("rmsprop", 0.99, 1e-5)


def test_runs_of_the_results_are_read_for_the_alerts_of_presets(
    harness: dict[str, ModuleType], tmp_path: Path
) -> None:
    for words in (["seed=11"], ["seed=12"], ["seed=13", "algo.lr=0.1"]):
        api.train("CartPole-v1:ppo", overrides=words, runs_dir=tmp_path)
    health = harness["preset_health"]
    found = health.runs_in([tmp_path])
    assert list(found) == ["CartPole-v1:ppo"]
    assert list(found["CartPole-v1:ppo"]) == [11, 12]  # the third is not the preset any more
    row = health.record({seed: health.check(run) for seed, run in found["CartPole-v1:ppo"].items()})
    assert (row["seeds"], row["cut_off"], row["critical"]) == ([11, 12], [], {})


def test_page_of_preset_health_is_what_its_records_say(harness: dict[str, ModuleType]) -> None:
    health = harness["preset_health"]
    records = json.loads(health.RECORDS.read_text())
    written = health.DOCUMENT.read_text().splitlines()
    assert [line for line in health.document(records).splitlines() if line not in written] == []


@pytest.mark.slow
def test_what_observes_a_run_does_not_grow_with_it(harness: dict[str, ModuleType]) -> None:
    """Alerts, live table, metrics.csv, a tracker's queue: all windows are full after some hundred updates."""
    tracemalloc.start()
    try:
        watched = harness["observe_memory"].watch(9000, 3, lambda: tracemalloc.get_traced_memory()[0])
        sizes = [size for _, size in watched]
    finally:
        tracemalloc.stop()
    assert sizes[2] - sizes[1] < 60_000  # bytes; one number kept of each update takes 96,000
