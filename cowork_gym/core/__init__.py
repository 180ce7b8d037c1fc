"""The vocabulary: messages, tasks, episodes, grades, ledger, snapshots, time and ids. Imports nothing of ours."""
