"""The micro suite as a benchmark: who demonstrates it, what those earn who understand nothing, and how small it is."""
