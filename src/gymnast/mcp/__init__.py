"""A server of the Model Context Protocol: an assistant trains, watches, evaluates and improves agents with
it."""
