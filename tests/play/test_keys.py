"""From keys to actions, for every kind of action space."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from gymnast.errors import GymnastError
from gymnast.play.keyboard import CONTROLS, KEYS
from gymnast.play.keymap import KeyMap
from gymnast.traces.action_text import ActionNames

PONG = ("NOOP", "FIRE", "RIGHT", "LEFT", "RIGHTFIRE", "LEFTFIRE")
DOOM = (
    *("NOOP", "MOVE_LEFT", "MOVE_RIGHT", "ATTACK", "MOVE_LEFT+ATTACK", "MOVE_LEFT+MOVE_RIGHT"),
    *("TURN_LEFT", "TURN_RIGHT"),
)


def choices(labels: tuple[str, ...], changes: dict[str, str] | None = None) -> KeyMap:
    return KeyMap(ActionNames(gym.spaces.Discrete(len(labels)), labels), changes)


def done(keymap: KeyMap, labels: tuple[str, ...], *held: str, mask: list[int] | None = None) -> str | None:
    action = keymap.action(held, None if mask is None else np.array(mask, bool))
    return None if action is None else labels[int(action[0])]


def test_keys_held_together_are_the_action_of_both() -> None:
    keymap = choices(PONG)
    assert done(keymap, PONG) == "NOOP"
    assert done(keymap, PONG, "left") == "LEFT"
    assert done(keymap, PONG, "a") == "LEFT", "WASD beside the arrows"
    assert done(keymap, PONG, "left", "space") == "LEFTFIRE"
    assert done(keymap, PONG, "q") == "NOOP", "a key without meaning"


def test_of_keys_that_exclude_each_other_the_last_one_counts() -> None:
    keymap = choices(PONG)
    assert done(keymap, PONG, "left", "right") == "RIGHT"
    assert done(keymap, PONG, "right", "left") == "LEFT"
    assert done(keymap, PONG, "left", "right", "space") == "RIGHTFIRE"


def test_what_is_masked_is_never_chosen() -> None:
    keymap = choices(DOOM)
    assert done(keymap, DOOM, "a", "d") == "MOVE_LEFT+MOVE_RIGHT"
    mask = [1, 1, 1, 1, 1, 0, 1, 1]
    assert done(keymap, DOOM, "a", "d", mask=mask) == "MOVE_RIGHT"
    assert done(keymap, DOOM, "d", "a", mask=mask) == "MOVE_LEFT"
    assert done(keymap, DOOM, "a", mask=[0, 0, 0, 1, 0, 0, 0, 0]) is None


def test_without_a_neutral_action_no_key_means_nothing() -> None:
    keymap = choices(("left", "right"))
    assert not keymap.has_neutral
    assert keymap.action([]) is None
    assert choices(("push left", "no push", "push right")).has_neutral


def test_turning_has_the_arrows_before_stepping_aside() -> None:
    keys = {binding.does: binding.keys[0] for binding in choices(DOOM).bindings}
    assert (keys["TURN_LEFT"], keys["TURN_RIGHT"]) == ("left", "right")
    assert (keys["MOVE_LEFT"], keys["MOVE_RIGHT"], keys["ATTACK"]) == ("a", "d", "space")


def test_any_labels_get_keys_of_their_own() -> None:
    labels = tuple(f"action {index}" for index in range(10))
    keys = {binding.does: binding.keys for binding in choices(labels).bindings}
    assert keys == {f"action {digit}": (str(digit),) for digit in range(10)}
    arms = {binding.does: binding.keys for binding in choices(tuple(f"arm {n}" for n in range(10))).bindings}
    assert arms == {f"arm {digit}": (str(digit),) for digit in range(10)}
    amounts = {b.does: b.keys[0] for b in choices(("torque -1", "torque 0", "torque +1")).bindings}
    assert amounts["torque -1"] == "left"
    assert amounts["torque +1"] == "right"
    odd = tuple(f"frobnicate {word}" for word in ("one", "two", "three", "four", "five"))
    found = [binding.keys[0] for binding in choices(odd).bindings]
    assert len(set(found)) == 5
    assert not {key for key, _ in CONTROLS.values()} & set(found)


def test_real_numbers_have_a_key_for_less_and_one_for_more() -> None:
    torque = KeyMap(ActionNames(gym.spaces.Box(-2, 2, (1,)), ("torque",)))
    assert torque.action([]).tolist() == [0]  # type: ignore[union-attr]
    assert torque.action(["left"]).tolist() == [-2]  # type: ignore[union-attr]
    assert torque.action(["left", "right"]).tolist() == [2]  # type: ignore[union-attr]
    car = gym.spaces.Box(np.array([-1, 0, 0], np.float32), np.ones(3, np.float32))
    drive = KeyMap(ActionNames(car, ("steer", "gas", "brake")))
    assert [binding.does for binding in drive.bindings] == ["steer-", "steer+", "gas+", "brake+"]
    assert drive.action(["right", "up"]).tolist() == [1, 1, 0]  # type: ignore[union-attr]
    assert drive.action(["down"]).tolist() == [0, 0, 1]  # type: ignore[union-attr]


def test_real_numbers_have_the_arrows_that_suit_their_names() -> None:
    lander = KeyMap(ActionNames(gym.spaces.Box(-1, 1, (2,)), ("main engine", "side engines")))
    keys = {binding.does: binding.keys[0] for binding in lander.bindings}
    assert keys == {
        "main engine-": "down",
        "main engine+": "up",
        "side engines-": "left",
        "side engines+": "right",
    }
    assert lander.action(["up", "left"]).tolist() == [1, -1]  # type: ignore[union-attr]
    joints = KeyMap(ActionNames(gym.spaces.Box(-1, 1, (2,)), ("hip", "knee")))
    assert [binding.keys[0] for binding in joints.bindings] == ["left", "right", "down", "up"]


def test_buttons_and_factors_are_held_at_once() -> None:
    pad = KeyMap(ActionNames(gym.spaces.MultiBinary(3), ("B", "LEFT", "RIGHT")))
    assert pad.action(["z", "left"]).tolist() == [1, 1, 0]  # type: ignore[union-attr]
    several = KeyMap(ActionNames(gym.spaces.MultiDiscrete([3, 2]), ("move", "fire")))
    assert [binding.does for binding in several.bindings] == ["move=1", "move=2", "fire"]
    keys = {binding.does: binding.keys[0] for binding in several.bindings}
    assert several.action([keys["move=2"], keys["fire"]]).tolist() == [2, 1]  # type: ignore[union-attr]


def test_keys_can_be_changed() -> None:
    keymap = choices(PONG, {"FIRE": "x", "left": "J"})
    assert done(keymap, PONG, "x") == "FIRE"
    assert done(keymap, PONG, "j", "x") == "LEFTFIRE"
    assert done(keymap, PONG, "space") == "NOOP"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"FIER": "x"}, "there is no action 'FIER' (did you mean 'FIRE'"),
        ({"FIRE": "spacebar"}, "there is no key 'spacebar' (did you mean 'space'"),
        ({"FIRE": "tab"}, "is taken: take over"),
        ({"FIRE": "x", "LEFT": "x"}, "is that of FIRE already"),
    ],
)
def test_wrong_keys_are_refused(changes: dict[str, str], said: str) -> None:
    with pytest.raises(GymnastError) as refused:
        choices(PONG, changes)
    assert said in str(refused.value)


def test_every_key_is_known_to_the_window() -> None:
    import pygame

    assert all(hasattr(pygame, key.pygame) for key in KEYS.values())
