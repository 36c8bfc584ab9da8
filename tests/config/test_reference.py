"""docs/settings.md is generated: the page and the schema never disagree."""

from __future__ import annotations

from pathlib import Path

from gymnast.config.fields import leaf_keys
from gymnast.config.reference import keys, markdown

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_page_matches_the_schema():
    assert PAGE.read_text() == markdown(), "run: gymnast config keys --markdown > docs/settings.md"


def test_every_key_is_listed_and_described():
    listed = {key.name: key.description for key in keys()}
    for path in leaf_keys():
        assert listed[".".join(path)] or path[-1] == "name", f"{'.'.join(path)} has no description"
