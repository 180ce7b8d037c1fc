"""Learning from sealed episodes: algorithms, data, training loops."""
