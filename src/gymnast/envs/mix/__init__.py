"""Several tasks at once (`env.mix`): one policy, stepped over copies of each."""
