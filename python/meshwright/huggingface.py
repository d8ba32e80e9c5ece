"""Where a Hugging Face configuration is, given any of the ways in which people name one."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping
from typing import Any

from ._meshwright import Error
from .arguments import short


def configuration(source: Any) -> tuple[str, Any, str]:
    """(file, members, name) of a configuration: a file, or its members where it is an object."""
    if hasattr(source, "to_dict"):  # transformers.PretrainedConfig
        source = source.to_dict()
    if isinstance(source, Mapping):
        return "", dict(source), str(source.get("_name_or_path") or source.get("model_type") or "model")
    if not isinstance(source, (str, os.PathLike)):
        raise Error(f"config: found {type(source).__name__}, expected a dict, a configuration, a path or a name on the Hub")
    path = pathlib.Path(source)
    try:
        if path.is_dir():
            path = path / "config.json"
        there = path.exists()
    except OSError as error:  # a name that is too long, a folder that may not be looked into
        raise Error(f"config: {error.strerror}: {short(source)}") from None
    if there or path.suffix == ".json" or str(source).count("/") != 1:
        name = path.parent.name if path.name == "config.json" else path.stem
        return str(path), None, name or "model"
    return str(from_hub(str(source))), None, str(source).split("/")[1]


def from_hub(name: str) -> str:
    """The configuration of `organisation/model`, fetched by the package huggingface_hub."""
    try:
        from huggingface_hub import hf_hub_download
    except ImportError:
        raise Error(
            f"config: '{name}' is no file or folder; to fetch it from the Hugging Face Hub, pip install huggingface_hub"
        ) from None
    try:
        file: str = hf_hub_download(name, "config.json")
    except Exception as error:  # its own kinds, and those of the HTTP library
        raise Error(f"config: '{name}' cannot be fetched from the Hugging Face Hub: {str(error).splitlines()[0]}") from error
    return file
