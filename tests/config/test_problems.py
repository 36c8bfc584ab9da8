"""Messages for a wrong config: which key, what is wrong, the nearest valid name, and where."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from gymnast.config.fields import leaf_keys
from gymnast.config.load import load_config
from gymnast.config.problems import _ELSEWHERE
from gymnast.errors import GymnastError


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def message(reference: str, *overrides: str) -> str:
    with pytest.raises(GymnastError) as caught:
        load_config(reference, overrides)
    return str(caught.value)


def message_of(text: str, variant: str = "") -> str:
    Path("my.yaml").write_text(textwrap.dedent(text), encoding="utf-8")
    return message("my.yaml" + variant)


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("algo.lrr=1", "algo.lrr: unknown key (did you mean 'lr'?)"),
        ("algo.gama=1", "algo.gama: unknown key (did you mean 'gamma'?)"),
        ("lr=1e-3", "lr: unknown key (did you mean 'algo.lr'?)"),
        ("algo.learning_rate=1", "algo.learning_rate: unknown key (did you mean 'algo.lr'?)"),
        ("total_timesteps=1", "total_timesteps: unknown key (did you mean 'budget.env_steps'?)"),
        ("algo.n_envs=1", "algo.n_envs: unknown key (did you mean 'env.n_envs'?)"),
        ("algo.vf_coef=1", "algo.vf_coef: unknown key (did you mean 'value_coef'?)"),
        ("polcy.hidden=[3]", "polcy: unknown key (did you mean 'policy'?)"),
        ("env.n_envs=0", "env.n_envs: must be at least 1 or 'auto', got 0"),
        ("env.n_envs=lots", "env.n_envs: 'lots' is not a count; write 500000, 5e5, 500k or 2M"),
        ("seed=-1", "seed: must be at least 0, got -1"),
        ("seed=x", "seed: must be a whole number, got 'x'"),
        ("policy.shared=7", "policy.shared: must be true or false, got 7"),
        ("env=CartPole-v1", "env: must be a map of settings, got 'CartPole-v1'"),
        ("policy.hidden=64", "policy.hidden: must be a list, got 64"),
        ("policy.hidden=[64, 0]", "policy.hidden[1]: must be at least 1, got 0"),
        ("algo.gamma=1.5", "algo.gamma: must stay within [0, 1], got 1.5"),
        ("algo.name=pp", "algo.name: must be 'ppo', 'a2c' or 'reinforce', got 'pp' (did you mean 'ppo'?)"),
        ("algo.lr={kind: liner, start: 1}", "algo.lr.kind: must be 'constant', 'linear', 'cosine', "
         "'exponential' or 'points', got 'liner' (did you mean 'linear'?)"),
        ("algo.lr.strt=1", "algo.lr.strt: unknown key (did you mean 'start'?)"),
        ("algo.lr.x=1", "algo.lr.x: unknown key; there are kind, start, end, floor, begin, until, points, "
         "interpolation"),
        ("algo.target_kl=-1", "algo.target_kl: must be at least 0, got -1"),
        ("algo.batch_size=al", "algo.batch_size: must be a number or 'all', got 'al' (did you mean 'all'?)"),
        ("stop.eval_return=best", "stop.eval_return: must be a number or 'solved', got 'best'"),
        ("engine=trch", "engine: must be 'auto', 'numpy' or 'torch', got 'trch' (did you mean 'torch'?)"),
        ("budget.wall_time=soon", "budget.wall_time: 'soon' is not a duration; write 30, 30s, 10m or 2h"),
        ("env.wrappers.0=x", "env.wrappers.0: a list is replaced as a whole; write env.wrappers=[…]"),
        ("algo.n_steps.x=1", "algo.n_steps.x: algo.n_steps is a single value, 32, with no keys inside"),
        ("algo.lr", "'algo.lr' is not an override; write key=value, e.g. algo.lr=1e-3"),
        ("=3", "'=3' is not an override; write key=value, e.g. algo.lr=1e-3"),
        ("env.wrappers=[",
         "env.wrappers: not valid YAML: expected the node content, but found '<stream end>'"),
        ("algo.batch_size=100", "algo.batch_size: 100 does not divide the rollout of 256 samples; "
         "nearest that do: 64 or 128 (8 envs × 32 steps)"),
    ],
)  # fmt: skip
def test_overrides(override: str, expected: str) -> None:
    Path("wrapped.yaml").write_text("extends: 'CartPole-v1:ppo-zoo'\nenv: {wrappers: [cartpole-centring]}\n")
    assert message("wrapped.yaml", override) == f"command line: {expected}"


def test_a_file_is_named_with_the_line() -> None:
    assert (
        message_of(
            """\
            base:
              env:
                id: X-v0
              # a comment
              algo:
                gama: 0.9
            variants:
              one: {}
            """
        )
        == "my.yaml:6: algo.gama: unknown key (did you mean 'gamma'?)"
    )


def test_every_problem_is_listed_with_its_place() -> None:
    Path("configs").mkdir()
    Path("configs/_fam.yaml").write_text("seed: -2\n")
    Path("my.yaml").write_text(
        "extends: _fam\nbase:\n  env: {id: X-v0}\n  polic: {}\nvariants:\n  v:\n    algo:\n      lr: -1\n"
    )
    assert message("my.yaml:v", "env.backend=syn").splitlines() == [
        "my:v: 4 problems",
        "  configs/_fam.yaml:1: seed: must be at least 0, got -2",
        "  command line: env.backend: must be 'auto', 'sync', 'workers', 'native', 'envpool' or 'remote', "
        "got 'syn' (did you mean 'sync'?)",
        "  my.yaml:8: algo.lr: must stay within [0, 10], got -1",
        "  my.yaml:4: polic: unknown key (did you mean 'policy'?)",
    ]


def test_sections_that_do_not_fit_together() -> None:
    assert message_of("env: {id: X-v0}\npolicy: {shared: true, critic_hidden: [3]}") == (
        "my.yaml:2: policy.critic_hidden: a shared trunk has no critic widths of its own; drop one of the two"
    )
    assert message_of("env: {id: X-v0, n_envs: 3}\nalgo:\n  n_steps: 10\n  batch_size: 0.4").startswith(
        "my.yaml:4: algo.batch_size: 0.4 of the rollout is 12 samples, which does not divide"
    )
    assert message_of("env: {id: X-v0}\nbudget: {wall_time: 1m}\nalgo: {lr: {start: 1, end: 0}}") == (
        "my.yaml:2: budget.env_steps: must be given beside wall_time, because algo.lr follows the step budget"
    )
    assert "give env_steps or vec_steps, not both" in message_of(
        "env: {id: X-v0}\nbudget: {env_steps: 1k, vec_steps: 10}"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [1,\nb: }", "my.yaml:2: not valid YAML: "),
        ("seed: 1\nseed: 2\n", "my.yaml:2: not valid YAML: found duplicate key"),
        ("- 1\n- 2\n", "my.yaml: must hold a map of settings, not a list"),
        ("", "my.yaml: must hold a map of settings, not empty"),
        ("base: 3\n", "my.yaml:1: base: must be a map of settings, not a single value (3)"),
        ("base: {}\nvariants:\n  a: [1]\n", "my.yaml:3: variants.a: must be a map of settings, not a list"),
        ("base: {}\nvariant: {}\n", "my.yaml:2: variant: unknown key (did you mean 'variants'?)"),
        ("base: {}\nseed: 3\n", "my.yaml:2: seed: unknown key"),
        ("seed: 1\n", "my: env: is missing"),
        ("env: {n_envs: 2}\n", "my.yaml:1: env.id: is missing"),
        ("extends: 3\nseed: 1\n", "my.yaml:1: extends: must be a name or a list of names"),
        ("extends: _box3d\nseed: 1\n",
         "my.yaml:1: extends: there is no variant, family or file '_box3d' (did you mean '_box2d'"),
        ("base: {}\nvariants:\n  fast: {}\n  slow:\n    extends: fats\n",
         "my.yaml:5: extends: there is no variant, family or file 'fats' (did you mean 'fast'"),
        ("extends: 'CartPole-v1:pp'\nseed: 1\n",
         "my.yaml:1: extends: gymnast/presets/CartPole-v1.yaml has no variant 'pp'"),
        ("extends: my.yaml\nseed: 1\n", "my.yaml: extends goes in a circle: my.yaml → my.yaml"),
        ("seed: 1\x00\n", "my.yaml: not valid YAML: "),
    ],
)  # fmt: skip
def test_files_that_cannot_be_read_as_configs(text: str, expected: str) -> None:
    Path("my.yaml").write_text(text)
    variant = ":slow" if "slow" in text else ""
    assert message(f"my.yaml{variant}").startswith(expected)


def test_circles_of_files_and_of_variants() -> None:
    Path("a.yaml").write_text("extends: b.yaml\nseed: 1\n")
    Path("b.yaml").write_text("extends: a.yaml\nseed: 1\n")
    assert message("a.yaml") == "a.yaml: extends goes in a circle: a.yaml → b.yaml → a.yaml"
    Path("c.yaml").write_text("base: {}\nvariants: {x: {extends: y}, y: {extends: x}}\n")
    assert message("c.yaml:x") == "c.yaml: extends goes in a circle: x → y → x"
    Path("configs").mkdir()
    Path("configs/_p.yaml").write_text("extends: _q\n")
    Path("configs/_q.yaml").write_text("extends: _p\n")
    Path("d.yaml").write_text("extends: _p\n")
    assert "extends goes in a circle: d.yaml → _p.yaml → _q.yaml → _p.yaml" in message("d.yaml")


def test_unknown_references() -> None:
    assert message("CartPole-v1:pppo").startswith("CartPole-v1 has no variant 'pppo' (did you mean 'ppo'")
    assert message("Acrobot-v1:dqn") == "Acrobot-v1 has no variant 'dqn'; there are ppo"
    assert "'CartPol-v1' (did you mean 'CartPole-v1'" in message("CartPol-v1:ppo")
    assert "'CartPol-v1' (did you mean 'CartPole-v1'" in message("CartPol-v1")
    assert message("CartPol-v1:fast").startswith(
        "there is no preset 'CartPol-v1:fast' (did you mean 'CartPole-v1'"
    )
    assert message("nowhere/my.yaml") == "nowhere/my.yaml: there is no such file"
    Path("folder.yaml").mkdir()
    assert message("folder.yaml") == "folder.yaml is a folder instead of a file"
    Path("plain.yaml").write_text("env: {id: X-v0}")
    assert message("plain.yaml:v") == "plain.yaml has no variant 'v'; it has none"


def test_bytes_that_are_not_text() -> None:
    Path("my.yaml").write_bytes(b"seed: \xff\xfe")
    assert message("my.yaml").startswith("my.yaml: not a text file in UTF-8")


def test_names_of_other_libraries_lead_to_keys_that_there_are() -> None:
    known = {".".join(keys) for keys in leaf_keys()}
    assert set(_ELSEWHERE.values()) <= known
    assert not known & set(_ELSEWHERE)
