"""From references, files and overrides to a Config: order, merging, provenance."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from gymnast.config.files import config_folders, names_in
from gymnast.config.load import SeveralVariantsError, load_config
from gymnast.config.merge import Layer, Merged
from gymnast.errors import GymnastError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder with ./configs in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GYMNAST_CONFIG_DIR", raising=False)
    (tmp_path / "configs").mkdir()
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def merge(*maps: dict[str, Any]) -> dict[str, Any]:
    merged = Merged()
    for number, data in enumerate(maps):
        merged.add(Layer(data, f"layer {number}"))
    return merged.data


def test_maps_merge_and_lists_replace() -> None:
    below = {"policy": {"hidden": [64, 64], "shared": True}, "seed": 1}
    assert merge(below, {"policy": {"hidden": [8]}}) == {"policy": {"hidden": [8], "shared": True}, "seed": 1}
    assert below["policy"]["hidden"] == [64, 64], "a layer is never written to"


def test_another_algorithm_replaces_the_whole_map() -> None:
    assert merge({"algo": {"lr": 1, "gamma": 0.9}}, {"algo": {"name": "other"}}) == {
        "algo": {"name": "other"}
    }
    assert merge({"algo": {"lr": 1}}, {"algo": {"name": "ppo", "gamma": 0.9}}) == {
        "algo": {"lr": 1, "name": "ppo", "gamma": 0.9}
    }, "a map without a name is PPO's"


def test_schedule_in_another_form_replaces_the_old_one() -> None:
    ramp = {"algo": {"lr": {"kind": "linear", "start": 1, "end": 0}}}
    assert merge(ramp, {"algo": {"lr": {"points": [[0, 1]]}}}) == {"algo": {"lr": {"points": [[0, 1]]}}}
    assert merge(ramp, {"algo": {"lr": {"kind": "cosine"}}})["algo"]["lr"] == {
        "kind": "cosine",
        "start": 1,
        "end": 0,
    }
    assert merge(ramp, {"algo": {"lr": 3}}) == {"algo": {"lr": 3}}


def test_a_budget_in_another_unit_replaces_the_first() -> None:
    assert merge({"budget": {"env_steps": 5, "wall_time": 1}}, {"budget": {"vec_steps": 7}}) == {
        "budget": {"vec_steps": 7, "wall_time": 1}
    }


def test_order_is_defaults_extends_base_variant_command_line(folder: Path) -> None:
    write(
        folder / "configs/_family.yaml",
        "{seed: 1, engine: numpy, policy: {hidden: [1], shared: true}, algo: {lr: 1}}",
    )
    write(
        folder / "configs/game.yaml",
        """
        extends: _family
        base: {env: {id: X-v0}, seed: 2, policy: {hidden: [2]}, algo: {gamma: 0.2}}
        variants:
          one: {seed: 3, policy: {hidden: [3]}}
        """,
    )
    resolved = load_config("game:one", ["policy.hidden=[4]"])
    config = resolved.config
    assert (config.policy.hidden, config.seed, config.algo.gamma.start, config.policy.shared) == (
        (4,),
        3,
        0.2,
        True,
    )
    assert config.env.n_envs == 8
    expected = {
        "policy.hidden": "command line",
        "seed": "configs/game.yaml variant one",
        "algo.gamma": "configs/game.yaml base",
        "policy.shared": "family _family.yaml",
        "engine": "family _family.yaml",
        "env.n_envs": "default",
    }
    assert {key: resolved.sources[key] for key in expected} == expected
    assert (resolved.name, resolved.variant) == ("game:one", "one")


def test_packaged_presets_name_their_layers() -> None:
    resolved = load_config("CartPole-v1:ppo-zoo", ["algo.lr.end=1e-5"])
    assert resolved.name == "CartPole-v1:ppo-zoo"
    assert resolved.sources["env.id"] == "preset CartPole-v1.yaml base"
    assert resolved.sources["algo.n_steps"] == "variant ppo-zoo"
    assert resolved.sources["policy.activation"] == "family _classic.yaml"
    assert resolved.sources["algo.lr"] == "command line"
    assert resolved.config.algo.lr.end == 1e-5


def test_extends_chains_and_lists(folder: Path) -> None:
    write(folder / "configs/_a.yaml", "{seed: 1, policy: {hidden: [1]}, env: {n_envs: 2}}")
    write(folder / "configs/_b.yaml", "{extends: _a, seed: 2}")
    write(folder / "elsewhere/c.yaml", "{base: {algo: {lr: 0.5}}, variants: {v: {algo: {lr: 0.25}}}}")
    file = write(
        folder / "my.yaml",
        """
        extends: [_b, elsewhere/c.yaml:v]
        base: {env: {id: X-v0}, engine: torch}
        variants:
          parent: {engine: numpy, eval: {episodes: 7}}
          child: {extends: parent, eval: {every: 0}}
          grandchild: {extends: [child], eval: {episodes: 9}}
        """,
    )
    config = load_config(f"{file}:grandchild").config
    assert (config.seed, config.policy.hidden, config.env.n_envs) == (2, (1,), 2)
    assert config.algo.lr.start == 0.25
    assert (config.engine, config.eval.every, config.eval.episodes) == ("numpy", 0, 9)


def test_files_that_a_variant_extends_lie_below_base(folder: Path) -> None:
    write(folder / "configs/_small.yaml", "{policy: {hidden: [1]}, env: {n_envs: 3}}")
    write(
        folder / "configs/game.yaml",
        "{base: {env: {id: X-v0}, policy: {hidden: [2]}}, variants: {v: {extends: _small}, w: {}}}",
    )
    config = load_config("game:v").config
    assert (config.policy.hidden, config.env.n_envs) == ((2,), 3)
    assert load_config("game:w").config.env.n_envs == 8


def test_own_file_of_a_packaged_name_adds_variants_and_may_extend_it(folder: Path) -> None:
    write(
        folder / "configs/CartPole-v1.yaml",
        "{extends: 'CartPole-v1:ppo-zoo', base: {seed: 5}, variants: {mine: {policy: {hidden: [8]}}}}",
    )
    mine = load_config("CartPole-v1:mine").config
    assert (mine.seed, mine.policy.hidden, mine.algo.batch_size) == (5, (8,), 256)
    assert load_config("CartPole-v1:ppo").config.seed == 0, "packaged variants stay within reach"
    with pytest.raises(SeveralVariantsError, match="gymnast train CartPole-v1:mine"):
        load_config("CartPole-v1")


def test_folders_are_searched_in_order(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, place in enumerate(("given", "from_env", "configs")):
        write(folder / place / "game.yaml", f"{{env: {{id: X-v0}}, seed: {number}}}")
    assert load_config("game").config.seed == 2
    monkeypatch.setenv("GYMNAST_CONFIG_DIR", str(folder / "from_env"))
    assert load_config("game").config.seed == 1
    assert load_config("game", config_dirs=[folder / "given"]).config.seed == 0


def test_a_plain_file_needs_no_base(folder: Path) -> None:
    resolved = load_config(str(write(folder / "plain.yml", "env: {id: X-v0}\nseed: 4\n")))
    assert (resolved.config.seed, resolved.name, resolved.variant) == (4, "plain", None)
    assert resolved.sources["seed"] == "plain.yml"


def test_the_only_variant_needs_no_name() -> None:
    assert load_config("Acrobot-v1").name == "Acrobot-v1:ppo"


def test_several_variants_are_offered_as_commands() -> None:
    with pytest.raises(SeveralVariantsError) as caught:
        load_config("MountainCar-v0")
    assert str(caught.value) == (
        "MountainCar-v0 has 3 variants; choose one:\n"
        "  gymnast train MountainCar-v0:ppo\n  gymnast train MountainCar-v0:ppo-count\n"
        "  gymnast train MountainCar-v0:ppo-rnd"
    )


def test_an_older_id_finds_the_preset_of_the_newer() -> None:
    resolved = load_config("Taxi-v3:ppo")
    assert (resolved.config.env.id, resolved.name) == ("Taxi-v4", "Taxi-v4:ppo")


def test_namespaced_ids_have_presets() -> None:
    assert load_config("gymnast/Bandit-v0:ppo").config.env.id == "gymnast/Bandit-v0"


def test_without_a_preset_defaults_come_from_the_spaces() -> None:
    class Line(gym.Env[Any, Any]):
        observation_space = gym.spaces.Box(-1, 1, (3,))
        action_space = gym.spaces.Box(-1, 1, (1,))

    gym.register("config-test/Line-v0", entry_point=Line)
    try:
        for reference in ("config-test/Line-v0", "config-test/Line-v0:ppo"):
            resolved = load_config(reference, ["seed=3"])
            assert resolved.config.env.id == "config-test/Line-v0"
            assert resolved.config.policy.normalize_obs == "running"
            assert resolved.config.budget.env_steps == 1_000_000
            assert resolved.sources["policy.normalize_obs"] == "defaults from the spaces"
            assert (resolved.sources["seed"], resolved.name) == ("command line", "config-test/Line-v0:ppo")
    finally:
        del gym.registry["config-test/Line-v0"]


def test_discrete_spaces_without_a_preset() -> None:
    config = load_config("CliffWalkingSlippery-v1").config
    assert (config.policy.discrete_obs, config.policy.normalize_obs) == ("one_hot", "none")
    assert config.algo.entropy_coef.start == 0.01


@pytest.mark.parametrize(
    ("override", "key", "value"),
    [
        ("algo.lr=1e-3", ("algo", "lr"), 1e-3),
        ("env.n_envs=4", ("env", "n_envs"), 4),
        ("budget.env_steps=300k", ("budget", "env_steps"), 300_000),
        ("budget.wall_time=10m", ("budget", "wall_time"), 600.0),
        (
            "env.wrappers=[a, {name: b, gain: 2}]",
            ("env", "wrappers"),
            [{"name": "a"}, {"name": "b", "gain": 2}],
        ),
        (
            "algo.lr={kind: linear, start: 1e-3, end: 0}",
            ("algo", "lr"),
            {"kind": "linear", "start": 1e-3, "end": 0},
        ),
        ("env.kwargs.render_fps=30", ("env", "kwargs"), {"render_fps": 30}),
        ("policy.shared=true", ("policy", "shared"), True),
        ("eval.seed=null", ("eval", "seed"), None),
        ("stop.eval_return=450", ("stop", "eval_return"), 450.0),
    ],
)
def test_overrides_are_yaml(override: str, key: tuple[str, str], value: Any) -> None:
    resolved = load_config("CartPole-v1:ppo-zoo", [override, "algo.batch_size=all"])
    assert resolved.config.model_dump(mode="json")[key[0]][key[1]] == value
    assert resolved.sources[".".join(key)] == "command line"


@pytest.mark.parametrize(
    "overrides",
    [
        {"algo.lr": 0.5, "policy.hidden": [9], "seed": 2},
        {"algo": {"lr": 0.5}, "policy": {"hidden": (9,)}, "seed": 2},
        ["algo.lr=0.5", "policy.hidden=[9]", "seed=2"],
    ],
)
def test_overrides_from_python_may_be_nested_or_dotted(overrides: Any) -> None:
    config = load_config("CartPole-v1:ppo", overrides).config
    assert (config.algo.lr.start, config.policy.hidden, config.seed) == (0.5, (9,), 2)


@pytest.mark.parametrize("overrides", [["algo.gamma.end=0.5"], {"algo": {"gamma": {"end": 0.5}}}])
def test_an_override_inside_a_number_makes_it_a_schedule(overrides: Any) -> None:
    gamma = load_config("CartPole-v1:ppo-zoo", overrides).config.algo.gamma
    assert (gamma.kind, gamma.start, gamma.end) == ("linear", 0.98, 0.5)


def test_an_override_inside_a_default_starts_from_it() -> None:
    coef = load_config("CartPole-v1:ppo-zoo", ["algo.value_coef.end=0.1"]).config.algo.value_coef
    assert (coef.kind, coef.start, coef.end) == ("linear", 0.5, 0.1)


def test_override_corrects_an_error_in_a_file(folder: Path) -> None:
    file = write(folder / "broken.yaml", "env: {id: X-v0, n_envs: 0}")
    with pytest.raises(GymnastError):
        load_config(str(file))
    assert load_config(str(file), ["env.n_envs=2"]).config.env.n_envs == 2


def test_a_missing_budget_is_a_million_steps(folder: Path) -> None:
    file = str(write(folder / "x.yaml", "env: {id: X-v0}"))
    resolved = load_config(file)
    assert (resolved.config.budget.env_steps, resolved.sources["budget.env_steps"]) == (1_000_000, "default")
    timed = load_config(file, ["budget.wall_time=1m"]).config.budget
    assert (timed.env_steps, timed.wall_time) == (None, 60)


@pytest.mark.parametrize("name", names_in(config_folders()[-1:]))
def test_every_shipped_preset_and_variant_loads(name: str) -> None:
    from gymnast.config.catalogue import variants_of
    from gymnast.envs.mix.build import policy_spaces
    from gymnast.envs.spec import read_spec
    from gymnast.errors import MissingExtra, MissingGame

    for variant in variants_of(name, config_folders()[-1:]):
        config = load_config(f"{name}:{variant}").config
        assert config.env.id == name
        assert config.env.spec.description
        try:
            spec = read_spec(config.env)  # one label for each action, one name for each component
            policy_spaces(config.env)
        except (MissingExtra, MissingGame) as missing:
            pytest.skip(str(missing))
        assert spec.action_labels


def test_loading_imports_no_environment() -> None:
    code = (
        "import sys, gymnast.config.load as load\n"
        "load.load_config('CartPole-v1:ppo')\n"
        "print(sorted({'gymnasium', 'torch', 'rich'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_an_env_without_preset_is_built_with_the_arguments_that_were_given(tmp_path, monkeypatch):
    (tmp_path / "needy_env.py").write_text(
        "import gymnasium as gym\n"
        "class Needy(gym.Env):\n"
        "    def __init__(self, size, render_mode=None):\n"
        "        self.observation_space = gym.spaces.Box(-1, 1, (size,))\n"
        "        self.action_space = gym.spaces.Discrete(2)\n"
    )
    monkeypatch.chdir(tmp_path)
    config = load_config("needy_env:Needy", ["env.kwargs={size: 3}"]).config
    assert config.env.kwargs == {"size": 3}
    assert config.policy.normalize_obs == "running"
    config = load_config("needy_env:Needy", {"env.kwargs.size": 5}).config
    assert config.env.kwargs == {"size": 5}


def test_any_algorithm_runs_on_an_env_whose_preset_has_no_variant_for_it() -> None:
    resolved = load_config("Acrobot-v1:a2c", ["algo.lr=1e-2"])
    config = resolved.config
    assert (resolved.name, config.algo.name, config.algo.n_steps) == ("Acrobot-v1:a2c", "a2c", 8)
    assert config.env.spec.action_labels is not None  # what the preset knows of the env stays
    assert config.env.n_envs == 32
    assert config.algo.lr.at(0, 1) == 1e-2
    with pytest.raises(GymnastError, match="has no variant 'a3c'"):
        load_config("Acrobot-v1:a3c")
    assert load_config("CartPole-v1:a2c").config.algo.lr.at(0, 1) == 2e-3  # one that there is, is taken


@pytest.mark.parametrize("algo", ["ppo", "a2c", "reinforce"])
def test_an_env_without_preset_trains_with_any_algorithm(algo: str) -> None:
    resolved = load_config(f"Blackjack-v1:{algo}" if algo != "ppo" else "CliffWalkingSlippery-v1:ppo")
    assert resolved.config.algo.name == algo
    assert resolved.config.algo.normalize_reward
    assert resolved.config.algo.entropy_coef.at(0, 1) == 0.01


def test_a_changed_algorithm_forgets_the_settings_of_the_other() -> None:
    config = load_config("CartPole-v1:ppo", ["algo.n_steps=7", "algo.name=a2c"]).config
    assert (config.algo.name, config.algo.n_steps, config.algo.lr.at(0, 1)) == ("a2c", 7, 7e-4)
    config = load_config("CartPole-v1:a2c", ["algo.optimizer.eps=1e-3", "algo.optimizer.name=adamw"]).config
    assert (config.algo.optimizer.name, config.algo.optimizer.eps) == ("adamw", 1e-3)
