"""Files that are there whole or not at all."""

import os
import threading
from contextlib import suppress
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under a temporary name, then give it its own: no reader sees a part of it.

    Raises:
        OSError: It cannot be written; the error names the file, whatever it was that failed.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):  # a full disk names no file, a name that is taken the temporary one
            raise OSError(error.errno, error.strerror or str(error), str(path)) from error
        raise
