"""Runs that travel: packed into one file, unpacked, archived on Weights & Biases and pulled back.

`contents.py` says which files of a run folder travel, `manifest.py` how they are listed with their checksums,
`pack.py` and `zip_check.py` make and check the file, `install.py` puts a checked run among the others.
What arrives is data from anybody: it is checked before a byte of it lands in the runs folder.
"""
