"""Checks of what callers give: a wrong type is a TypeError, a wrong value an Error; both name the argument."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._meshwright import Error


def of_type(value: Any, kinds: type | tuple[type, ...], name: str, expected: str) -> None:
    """TypeError where `value` is none of `kinds`; `expected` says them in words."""
    if not isinstance(value, kinds):
        raise TypeError(f"{name}: found {type(value).__name__}, expected {expected}")


def short(value: Any) -> str:
    """What others wrote, on one line that is not long."""
    line = " ".join(str(value).split())
    return line if len(line) <= 200 else line[:199] + "…"


def text(value: Any, name: str) -> None:
    """TypeError where `value` is neither text nor None."""
    of_type(value, (str, type(None)), name, "a text")


def one_of(value: Any, known: Iterable[Any], name: str) -> None:
    """Error where `value` is not one of the texts in `known`."""
    of_type(value, str, name, "a text")
    texts = [str(one) for one in known]
    if value not in texts:
        raise Error(f"{name}: found {short(value)!r}, expected one of {', '.join(texts)}")


def count(value: Any, name: str) -> None:
    """TypeError or Error where `value` is no whole number above zero."""
    of_type(value, int, name, "a whole number")
    if value < 1:
        raise Error(f"{name}: found {value}, expected 1 or more")
