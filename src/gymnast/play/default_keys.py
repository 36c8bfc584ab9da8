"""Which key does what unless `play.keys` says otherwise: by the words of an action's name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from string import ascii_lowercase, digits

# Earlier patterns choose first; of the keys of one, the first that is free. Names are lower case, words apart
# by one space.
_BY_WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"turn left|rotate left", ("left",)),
    (r"turn right|rotate right", ("right",)),
    (r"move left|strafe left|left strafe", ("left", "a")),
    (r"move right|strafe right|right strafe", ("right", "d")),
    (r"fire|attack|shoot|pick ?up|hit|jump", ("space", "x")),
    (
        r"(move |go )?(forward|ahead|straight)|go on|move up|thrust|main engine|jump up|accelerate|gas",
        ("up", "w"),
    ),
    (r"move backward|backward|back|move down|brake|crouch", ("down", "s")),
    (r"(.* )?left( engine)?|west|push left|.*torque -\d*|.* decrease", ("left", "a")),
    (r"(.* )?right( engine)?|east|push right|.*torque \+\d*|.* increase", ("right", "d")),
    (r"(.* )?up|north", ("up", "w")),
    (r"(.* )?down|south", ("down", "s")),
    (r"toggle|open|use|interact|drop off", ("enter", "e")),
    (r"drop|land", ("d", "x")),
    (r"done|stick|stop", ("q",)),
    (r"speed|run|sprint|mode|select", ("shift",)),
    (r"start", ("enter",)),
    (r"reload", ("r",)),
    (r"select next weapon", ("e",)),
    (r"select prev weapon", ("q",)),
    (r"b", ("z",)),
    (r"a", ("x",)),
    (r"c", ("c",)),
    (r"y", ("s",)),
    (r"x", ("a",)),
    (r"z", ("d",)),
    (r"l", ("q",)),
    (r"r", ("w",)),
)
# A digit at the end is the key: `arm 3`, `select weapon 2`, `gear=1`; with a sign it is an amount.
_NUMBERED = re.compile(r"(?:action\s*|[^\d+-]*\s|\D*=\s*)(\d)")
_POOL = (*digits[1:], "0", *"qwertyuiopasdfghjklzxcvbnm", "comma", "semicolon", "slash")
# Pairs for real numbers, axis by axis: less, more.
_AXES = (
    *(("left", "right"), ("down", "up"), ("a", "d"), ("s", "w")),
    *(("j", "l"), ("k", "i"), ("f", "h"), ("g", "t")),
)
# Which arrows suit a real number, by a word of its name.
_SIDEWAYS = re.compile(r"\b(sides?|steer(ing)?|turn(ing)?|yaw|roll|lateral|horizontal|x|left|right|strafe)\b")
_AHEAD = re.compile(r"\b(main|engine|thrust|throttle|gas|forward|vertical|lift|pitch|y|up|down)\b")
_ONE_SIDED = ("up", "down", "space", "shift")  # for what goes one way only, such as gas and brake
_SIDES = ({"left": "a", "right": "d"}, {"up": "w", "down": "s"})


def keys_for(names: Sequence[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """A key for each name, as far as there are any; `taken` ones are left alone."""
    used, found = set(taken), dict[str, str]()
    for name in sorted(names, key=lambda name: _wanted(name)[0]):
        for key in _wanted(name)[1]:
            if key not in used:
                found[name] = key
                used.add(key)
                break
    for name in names:
        spare = found.get(name) or next((key for key in _POOL if key not in used), None)
        if spare is not None:
            found[name] = spare
            used.add(spare)
    return {name: found[name] for name in names if name in found}


def axis_keys(
    names: Sequence[str], one_sided: Sequence[bool], taken: Iterable[str] = ()
) -> list[tuple[str, str] | None]:
    """A pair of keys, for less and more, for each real number; None: there are too many.

    Of one that only goes one way both keys are the same.
    """
    used = set(taken)
    letters = [letter for letter in reversed(ascii_lowercase) if letter not in used]
    several = [*_AXES, *zip(letters[1::2], letters[::2], strict=False)]
    single = [(key, key) for key in (*_ONE_SIDED, *letters)]
    # Those that go both ways choose first, so that steering has the arrows beside gas and brake.
    order = sorted(range(len(one_sided)), key=lambda index: one_sided[index])
    chosen: dict[int, tuple[str, str]] = {}
    both_ways = [index for index in order if not one_sided[index]]
    # A single number has left and right, whatever its name.
    for arrows, words in ((_AXES[0], _SIDEWAYS), (_AXES[1], _AHEAD)) if len(both_ways) > 1 else ():
        fitting = [i for i in both_ways if i not in chosen and words.search(names[i].lower()) is not None]
        if fitting and not set(arrows) & used:
            chosen[fitting[0]] = arrows
            used |= set(arrows)
    for index in order:
        if index in chosen:
            continue
        pair = next((p for p in (single if one_sided[index] else several) if not set(p) & used), None)
        if pair is not None:
            chosen[index] = pair
            used |= set(pair)
    return [chosen.get(index) for index in range(len(one_sided))]


def second_keys(found: Iterable[str]) -> dict[str, str]:
    """WASD beside the arrows where nothing else has them: arrow → letter."""
    used = set(found)
    return {
        arrow: letter
        for pair in _SIDES
        if not used & set(pair.values())
        for arrow, letter in pair.items()
        if arrow in used
    }


def _wanted(name: str) -> tuple[int, Sequence[str]]:
    """How early a name may choose, and among which keys."""
    if (numbered := _NUMBERED.fullmatch(name.lower())) is not None:
        return -1, (numbered[1],)
    words = re.sub(r"(?<=\w)[^\w+-]+|_", " ", name.lower()).strip()
    for rank, (pattern, keys) in enumerate(_BY_WORDS):
        if re.fullmatch(pattern, words):
            return rank, keys
    return len(_BY_WORDS), ()
