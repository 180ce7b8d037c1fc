"""How fast the environment is, beside raw SQLite and plain dicts that do the same work. `python -m cowork_gym.benchmarks.speed`."""
