"""Length-adaptive lambda: how far a reward reaches back, as a share of the trajectory rather than as a number of tokens."""

import torch
from torch import Tensor

__all__ = ["length_adaptive_lambda"]


def length_adaptive_lambda(length: Tensor, alpha: float = 1.5) -> Tensor:
    """clamp(1 - 1 / (alpha * length), 0, 1) (VAPO, arXiv:2504.05118, with alpha 0.05; Occamy C.2 with 1.5).

    lambda^length tends to exp(-1 / alpha): at 1.5 the first token still sees half of a terminal reward, at 0.05 nothing of it.

    Args:
        length: [...] optimised tokens of the **whole trajectory**, all segments together; 0 gives 0.
        alpha: Above 0.

    Returns:
        [...] in float64.

    Raises:
        ValueError: Alpha is not above 0, or a length is negative.
    """
    if not alpha > 0:
        raise ValueError(f"alpha is above 0, and this is {alpha}")
    length = length.to(torch.float64)
    if bool((length < 0).any()):
        raise ValueError("a length is not negative")
    return (1 - 1 / (alpha * length)).clamp(0, 1)
