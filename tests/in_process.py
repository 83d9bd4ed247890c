"""`python -m codegen` in the process of the tests: to start another one takes longer than most of what it does."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO
from unittest import mock

from own_project import own_analysis

from codegen import output, pipeline
from codegen.commands import toolchain
from codegen.commands.main import main
from codegen.paths import Paths, project_paths
from documents import ROOT


def codegen(*words: str, folder: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    """What a command does in a folder, with these variables of the environment, as a process of its own would say it.

    An exception that would end that process with a traceback is raised.
    """
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        status = status_of(words, out, err, folder, variables)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read())
    return subprocess.CompletedProcess(words, status, *texts)


def status_of(
    words: Sequence[str], out: TextIO, err: TextIO, folder: Path = ROOT, variables: Mapping[str, str] | None = None
) -> int:
    """The exit status of a command that writes to files."""
    changed = {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", **(variables or {})}
    with (
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, changed),
        mock.patch.object(pipeline, "analyze", _analyze),
        _written_to("stdout", out),
        _written_to("stderr", err),
    ):
        _forget()
        try:
            return main(list(words))
        except SystemExit as ended:  # as argparse ends a process
            assert isinstance(ended.code, int)
            return ended.code
        finally:
            _forget()
            gc.enable()  # a command disables it for the rest of its process


def _forget() -> None:
    """A process is sure of what it has found in files and in the environment; between two commands it may change."""
    output.source_hash.cache_clear()
    toolchain.compiler.cache_clear()


@contextlib.contextmanager
def _written_to(name: str, file: TextIO) -> Iterator[None]:
    """Standard output or error is a file, for processes that are started, too."""
    number = {"stdout": 1, "stderr": 2}[name]
    before = os.dup(number)
    os.dup2(file.fileno(), number)
    try:
        with mock.patch.object(sys, name, file):
            yield
            file.flush()
    finally:
        os.dup2(before, number)
        os.close(before)


_really_analyze = pipeline.analyze


def _analyze(paths: Paths, texts: Mapping[Path, str] | None = None) -> pipeline.Result:
    own = project_paths()
    if texts is None and dataclasses.replace(paths, output=own.output) == own:
        return own_analysis()
    return _really_analyze(paths, texts)
