"""One console game as a Gymnasium env: buttons by label, any state to start from, a state of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import gymnasium as gym
import numpy as np
import stable_retro

from gymnast.envs.families.retro import library
from gymnast.envs.families.retro.buttons import button_masks, default_labels
from gymnast.envs.families.retro.tables import TABLES, GameTable
from gymnast.errors import GymnastError, MissingGame, did_you_mean


class RetroGame(gym.Env[Any, Any]):
    """A console game, one frame a step.

    game: its name, such as Airstriker-Genesis.
    state: where it starts; the game's default if unset.
    actions: labels of the actions; those of the game's table or its console if unset.
    obs: `pixels` for the screen, `ram` for the console's memory.
    noop_max: up to so many frames without action come before the first observation.
    scenario: how the game pays and ends, by name; the library's usual one if unset.
    """

    one_per_process: ClassVar[bool] = True  # an emulator cannot be started beside another

    def __init__(
        self,
        game: str,
        state: str | None = None,
        actions: Sequence[str] | None = None,
        obs: Literal["pixels", "ram"] = "pixels",
        noop_max: int = 0,
        scenario: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        folder = library.game_folder(game)
        name = library.short_name(folder)
        system = library.system_of(folder)
        if library.rom_path(folder) is None:
            raise MissingGame(
                f"the ROM of {name} is not here; if you own the game, `gymnast roms import DIR` finds it"
                " in your folder DIR"
            )
        buttons = library.buttons(system)
        labels = actions
        table = TABLES.get(name, GameTable())
        if labels is None:
            labels = table.actions or default_labels(library.button_groups(system))
        self.action_labels, self._masks = button_masks(labels, buttons)
        self.action_space = gym.spaces.Discrete(len(self._masks))
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": 60}
        self.render_mode = render_mode
        self._shown: np.ndarray | None = None  # the screen of a state that was set, until the next frame
        self._noop_max = noop_max
        self._nothing = np.zeros(len(buttons), np.uint8)
        self._ram = obs == "ram"
        own_states = library.states(folder)
        known_states = sorted({*own_states, *table.made_states})
        chosen_state = _checked("env.state", state, known_states, name, "state")
        made = chosen_state if chosen_state not in own_states else None
        chosen_scenario = _checked(
            "env.retro.scenario", scenario, library.scenarios(folder), name, "scenario"
        )
        self._console = _switched_on(
            game=folder,
            state=stable_retro.State.DEFAULT if chosen_state is None or made else chosen_state,
            scenario=chosen_scenario,
            inttype=library.integrations(),
            obs_type=stable_retro.Observations.RAM if self._ram else stable_retro.Observations.IMAGE,
            render_mode="rgb_array",
        )
        self.observation_space = self._console.observation_space
        if made is not None and table.make_state is not None:
            self._make_state(table.make_state, made)

    def _make_state(self, make_state: Callable[[Any, str], bytes], name: str) -> None:
        """Start from a state that is made by playing."""
        try:
            self._console.reset()
            self._console.initial_state = make_state(self._console, name)
        except BaseException:
            self.close()  # otherwise the process could start no other
            raise

    def get_action_meanings(self) -> list[str]:
        """Gymnasium's custom for naming actions."""
        return list(self.action_labels)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        console = self._console
        console.reset()
        self._shown = None
        if self._noop_max:
            for _ in range(int(self.np_random.integers(self._noop_max + 1))):
                if self._frame(self._nothing)[1]:  # a game that is over before anybody plays
                    console.reset()
                    break
        return self._seen(), dict(console.data.lookup_all())

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        reward, done = self._frame(self._masks[action])
        return self._seen(), reward, done, False, dict(self._console.data.lookup_all())

    def _frame(self, pressed: np.ndarray) -> tuple[float, bool]:
        """One frame of the console; the game's own reward and whether it is over."""
        emulator, data = self._console.em, self._console.data
        emulator.set_button_mask(pressed, 0)
        emulator.step()
        self._shown = None
        data.update_ram()
        return float(data.current_reward()), bool(data.is_done())

    def _seen(self) -> np.ndarray:
        return np.asarray(self._console.get_ram()) if self._ram else self._screen()

    def _screen(self) -> np.ndarray:
        screen = np.asarray(self._console.get_screen(apply_rotation=True))
        shape = self.observation_space.shape
        if self._ram or shape is None or screen.shape == shape:
            return screen
        # Some games switch the resolution in between: nearest pixels, since a policy has one size.
        rows = np.arange(shape[0]) * screen.shape[0] // shape[0]
        columns = np.arange(shape[1]) * screen.shape[1] // shape[1]
        return screen[rows[:, None], columns]

    def render(self) -> np.ndarray | None:
        if self.render_mode is None:
            return None
        return self._screen() if self._shown is None else self._shown.copy()

    def get_state(self) -> dict[str, Any]:
        """The whole console: a megabyte, which compresses to a hundredth."""
        # The library fills a part of the megabyte and leaves what was in memory in the rest. Zeros that were
        # there just before are the most likely to be, and zeros compress.
        size = len(self._console.em.get_state())
        zeros = bytearray(size)
        del zeros
        return {"emulator": self._console.em.get_state(), "screen": self.render()}

    def set_state(self, state: dict[str, Any]) -> None:
        self._console.em.set_state(state["emulator"])
        self._console.data.reset()
        self._console.data.update_ram()
        self._shown = state["screen"]

    def close(self) -> None:
        """Switch the console off: the next one in this process can be started."""
        self._console.close()


def _checked(key: str, value: str | None, known: list[str], game: str, what: str) -> str | None:
    if value is None or value in known:
        return value
    raise GymnastError(
        f"{key}: {game} has no {what} '{value}'{did_you_mean(value, known)};"
        f" it has {', '.join(known) or 'none'}"
    )


def _switched_on(**arguments: Any) -> Any:
    """The library's env; its error about a second emulator becomes ours."""
    try:
        return stable_retro.RetroEnv(**arguments)
    except RuntimeError as error:
        if "multiple emulator" not in str(error):
            raise
        raise GymnastError(
            "stable-retro runs one emulator in a process, and this process has one already:"
            " close that env first, or step games with env.backend workers"
        ) from error
