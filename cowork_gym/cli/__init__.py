"""The `cowork` command. `main` is its entry, each other file a group of verbs."""
