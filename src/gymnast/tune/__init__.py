"""The autotuner: diagnose, branch, race, confirm.

`driver.py` has the loop and is to be read first; `evidence.py` says what is seen in runs, `edits.py` what to
change then, `proposals.py` chooses, `race.py` compares with the unchanged continuation on paired seeds.
"""
