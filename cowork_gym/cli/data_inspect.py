"""The verb `data inspect`: a sample with each token coloured by whether it is learned, in the terminal and as a page."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["inspect"]


def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A data set (its folder, JSON lines or Parquet), or a sealed episode.")],
    sample: Annotated[int, typer.Option("--sample", metavar="N", help="Which one, from 1: a row of the data set, a segment of the episode.")] = 1,
    tokenizer: Annotated[str | None, typer.Option(
        "--tokenizer", metavar="PATH", help="A folder with tokenizer and chat template, or smollm2. Without it, an episode's tokens are ids.",
    )] = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page there, instead.")] = None,
) -> None:
    """Show a sample as a trainer gets it: its tokens, which of them are learned, and with what weight."""
    from cowork_gym.cli.display import open_screen
    from cowork_gym.core.files import write_whole
    from cowork_gym.trainers.data.views.html import page
    from cowork_gym.trainers.data.views.source import load_format, read_shown
    from cowork_gym.trainers.data.views.terminal import show_sample

    shown = read_shown(file, sample, None if tokenizer is None else load_format(tokenizer))
    if html is not None:
        write_whole(html, page(shown).encode("utf-8", "backslashreplace"))
        print(f"{html}: {shown[0].title}: {shown[0].facts}")
        return
    screen = open_screen()
    for one in shown:
        show_sample(screen, one)
