"""Training in this process: rows from rollouts, objectives, updates, a critic, and a crowd that plays in step."""
