"""Samples for the eye: each token coloured by whether it is learned, in the terminal and as a page."""
