"""The services: stateful office software with typed tools, each defined once and reachable through every door."""
