"""New tasks: made, proven and admitted before anyone plays them."""
