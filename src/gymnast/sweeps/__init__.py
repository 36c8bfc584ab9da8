"""Sweeps: many runs of one config with other settings, to find those that suit it.

`plan.py` says what is to be done, `sweep_file.py` reads it from W&B's format, `suggest/` proposes settings,
`driver.py` has runs trained and decides what comes next, `state.py` and `folder.py` keep what is known.
"""
