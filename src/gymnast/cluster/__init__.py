"""Training on several machines: where actors run, how they are reached, and what they report."""
