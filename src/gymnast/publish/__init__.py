"""Runs on the Hugging Face Hub: a model card with a fresh score, a video, and the run itself as plain data.

`card.py` and `metadata.py` write the card, `folder.py` puts together what is uploaded, `hub.py` talks to the
Hub, `upload.py` and `download.py` do the two directions, each whole or not at all.
"""
