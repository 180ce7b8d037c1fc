"""The micro tasks: six kinds of work so small that a model of under a million parameters can learn them. Data are under `packages`."""
