"""The environments: worlds, the Gymnasium face over them, task packages and their registration."""
