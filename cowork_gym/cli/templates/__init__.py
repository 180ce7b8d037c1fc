"""What `cowork new` writes: files by path, with `$name` and its forms to be filled in."""
