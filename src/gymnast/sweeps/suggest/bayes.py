"""Bayesian search by Optuna, one ask and one tell for each trial.

The journal beside the sweep is written by the driver alone, and written again from what is known of the
trials whenever a driver begins: so it may be lost or cut off. `optuna-dashboard` reads it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gymnast.config.search import Choice, LogRange, OneMinusLog, Pow2, Range
from gymnast.errors import MissingExtra
from gymnast.runs.files import remove
from gymnast.sweeps.distributions import Dimension, Quantised
from gymnast.sweeps.space import Point, Space

_MOST_FOR_GP = 150  # trials: beyond, a Gaussian process takes longer than it gains
_STARTUP = 8  # random points before the model is used
_FEW = 20  # trials: while there are fewer, a failure counts as the worst value


def has_optuna() -> bool:
    return find_spec("optuna") is not None


def require_optuna() -> None:
    if not has_optuna():
        raise MissingExtra("method: bayes (grid and random work without)", "sweep")


@dataclass(frozen=True, slots=True)
class Known:
    """A trial of before."""

    trial: int
    point: Point
    value: float | None = None
    failed: bool = False


class BayesSuggester:
    """Gaussian processes for few trials in a fixed space, else a tree of Parzen estimators."""

    def __init__(self, space: Space, trials: int, seed: int, journal: Path, known: Sequence[Known]) -> None:
        require_optuna()
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._optuna = optuna
        self._space = space
        self._axes = {key: _axis_of(dimension) for key, dimension in space.dimensions.items()}
        self._distributions = {key: axis.distribution for key, axis in self._axes.items()}
        for path in (journal, journal.with_name(f"{journal.name}.lock")):
            remove(path)  # a killed driver's lock would be waited for
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            storage = JournalStorage(JournalFileBackend(str(journal)))
            self.sampler = _sampler(trials, seed + len(known))
            self.study = optuna.create_study(
                storage=storage, study_name="sweep", sampler=self.sampler, direction="maximize"
            )
        self._numbers: dict[int, int] = {}  # trial → Optuna's number
        self._told: set[int] = set()
        for item in known:
            self._add(item)

    def next(self, trial: int) -> Point | None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asked = self.study.ask(self._distributions)
        asked.set_user_attr("trial", trial)
        self._numbers[trial] = asked.number
        return {key: self._axes[key].value(asked.params[key]) for key in self._axes}

    def refused(self, trial: int) -> None:
        """It is not told as a bad point: nothing is known of what it would have scored."""
        self.study.tell(self._numbers.pop(trial), state=self._optuna.trial.TrialState.FAIL)

    def told(self, trial: int, value: float | None) -> None:
        number = self._numbers.get(trial)
        if number is None:
            return
        if trial in self._told:  # it was promoted since: a second observation of the same point
            if value is not None:
                params = self.study.trials[number].params
                self._observe(params, value, trial)
            return
        self._told.add(trial)
        if value is None:
            value = self._worst()
        if value is None:
            self.study.tell(number, state=self._optuna.trial.TrialState.FAIL)
        else:
            self.study.tell(number, value)

    def propose(self, trial: int, point: Point) -> None:
        """A point that was chosen by others is being tried as this trial."""
        self._add(Known(trial, point))

    def observe(self, point: Point, value: float) -> None:
        """A value that is known from a run of before the sweep."""
        self._observe({key: axis.place(point[key]) for key, axis in self._axes.items()}, value, None)

    def _worst(self) -> float | None:
        values = [t.value for t in self.study.trials if t.value is not None and math.isfinite(t.value)]
        return min(values) if values and len(self.study.trials) < _FEW else None

    def _add(self, item: Known) -> None:
        states = self._optuna.trial.TrialState
        state = states.RUNNING
        if item.failed:
            state = states.FAIL
        elif item.value is not None:
            state = states.COMPLETE
        params = {key: axis.place(item.point[key]) for key, axis in self._axes.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.study.add_trial(
                self._optuna.trial.create_trial(
                    state=state,
                    value=item.value if state == states.COMPLETE else None,
                    params=params,
                    distributions=self._distributions,
                    user_attrs={"trial": item.trial},
                )
            )
        self._numbers[item.trial] = len(self.study.trials) - 1
        if state != states.RUNNING:
            self._told.add(item.trial)

    def _observe(self, params: dict[str, Any], value: float, trial: int | None) -> None:
        attributes = {} if trial is None else {"trial": trial}
        self.study.add_trial(
            self._optuna.trial.create_trial(
                value=value, params=params, distributions=self._distributions, user_attrs=attributes
            )
        )


def importances(study: Any) -> dict[str, float]:
    """How much of the variance of the values each setting explains (PED-ANOVA); empty where too little is
    known."""
    from optuna.importance import get_param_importances

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return dict(get_param_importances(study))
    except (RuntimeError, ValueError, ZeroDivisionError):
        return {}


def importances_of(space: Space, known: Sequence[Known]) -> dict[str, float]:
    """The same for trials that another method proposed; empty without Optuna."""
    usable = [item for item in known if item.value is not None and space.fits(item.point)]
    if not has_optuna() or len(usable) < 8 or space.unbounded():
        return {}
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    axes = {key: _axis_of(dimension) for key, dimension in space.dimensions.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study(direction="maximize")
        study.add_trials(
            [
                optuna.trial.create_trial(
                    value=item.value,
                    params={key: axis.place(item.point[key]) for key, axis in axes.items()},
                    distributions={key: axis.distribution for key, axis in axes.items()},
                )
                for item in usable
            ]
        )
    return importances(study)


def _sampler(trials: int, seed: int) -> Any:
    from optuna.samplers import GPSampler, TPESampler

    if trials <= _MOST_FOR_GP and find_spec("torch") is not None and find_spec("scipy") is not None:
        return GPSampler(seed=seed, n_startup_trials=_STARTUP, deterministic_objective=False)
    return TPESampler(seed=seed, n_startup_trials=_STARTUP)


@dataclass(frozen=True, slots=True)
class _Axis:
    """A dimension as Optuna searches it."""

    dimension: Dimension
    distribution: Any

    def value(self, place: Any) -> Any:
        """What a setting is given for Optuna's value."""
        match self.dimension:
            case OneMinusLog():
                return self.dimension.clip(1 - place)
            case Pow2():
                return 2 ** int(place)
            case Choice():
                return self.dimension.values[int(place)] if self.is_ordered else self._member(place)
            case Range() | LogRange() | Quantised():
                return self.dimension.clip(place)
        raise AssertionError(self.dimension)

    def place(self, value: Any) -> Any:
        """The inverse; a value outside of the range counts as the nearest one inside."""
        match self.dimension:
            case OneMinusLog():
                low, high = self.distribution.low, self.distribution.high
                return min(max(1 - self.dimension.clip(value), low), high)
            case Pow2():
                return self.dimension.clip(value).bit_length() - 1
            case Choice():
                index = self.dimension.values.index(self.dimension.clip(value))
                return index if self.is_ordered else self.distribution.choices[index]
            case Quantised():
                return self.dimension.clip(value)
            case Range() | LogRange():
                return self.dimension.clip(value)
        raise AssertionError(self.dimension)

    @property
    def is_ordered(self) -> bool:
        """Whether a choice is searched by the place of its value, since its values are numbers in order."""
        return not hasattr(self.distribution, "choices")

    def _member(self, place: Any) -> Any:
        return self.dimension.values[self.distribution.choices.index(place)]  # type: ignore[union-attr]


def _axis_of(dimension: Dimension) -> _Axis:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    match dimension:
        case Range(low, high, whole):
            found: Any = IntDistribution(int(low), int(high)) if whole else FloatDistribution(low, high)
        case LogRange(low, high, whole):
            found = (
                IntDistribution(int(low), int(high), log=True)
                if whole
                else FloatDistribution(low, high, log=True)
            )
        case OneMinusLog(low, high):
            found = FloatDistribution(1 - high, 1 - low, log=True)
        case Pow2(low, high):
            found = IntDistribution(low.bit_length() - 1, high.bit_length() - 1)
        case Quantised(LogRange(low, high), _):
            found = FloatDistribution(low, high, log=True)
        case Quantised(inner, step):
            first, last = dimension.clip(inner.low), dimension.clip(inner.high)
            whole = isinstance(first, int)
            found = (
                IntDistribution(int(first), int(last), step=int(step))
                if whole
                else FloatDistribution(float(first), float(last), step=step)
            )
        case Choice(values, _):
            if _in_order(values):
                found = IntDistribution(0, len(values) - 1)
            elif all(value is None or isinstance(value, (bool, int, float, str)) for value in values):
                found = CategoricalDistribution(values)
            else:  # a list of widths, a schedule: by its text
                found = CategoricalDistribution([repr(value) for value in values])
        case _:
            raise AssertionError(dimension)
    return _Axis(dimension, found)


def _in_order(values: tuple[Any, ...]) -> bool:
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    return numbers and len(values) > 2 and list(values) == sorted(values)
