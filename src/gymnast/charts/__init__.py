"""Charts of numbers: pictures (RGB arrays) and text."""
