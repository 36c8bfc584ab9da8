"""VizDoom: scenarios and whole maps of Doom, seen from a screen and played by buttons."""
