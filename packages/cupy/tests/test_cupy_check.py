"""The script for machines with a GPU, on the stand-in: what it says, and how it ends."""

from __future__ import annotations

import pytest

import gradwright
from gradwright_cupy import agreement, check


def test_it_passes_and_says_what_was_run(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--operators", "gelu,gelu_backward,conv2d,median", "--dtypes", "float32,bool", "--no-times"]
    assert check.main(words) == 0
    said = capsys.readouterr().out
    assert said.startswith("Stand-in (sm_90), CuPy ")
    for title in ("streams and memory", "random numbers", "training"):
        assert f"right  {title}\n" in said
    assert "float32: 3 operators, " in said
    assert "'median' has no kernel for CUDA" in said
    assert "all that was run is right" in said


def test_what_is_wrong_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(found: object, *rest: object) -> None:
        raise AssertionError("Not equal")

    monkeypatch.setattr(agreement, "_check_same", broken)
    assert check.main(["--operators", "sin", "--dtypes", "float64", "--no-times"]) == check.WRONG
    assert "WRONG  sin float64: T(" in capsys.readouterr().out


def test_it_ends_when_the_time_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(["--seconds", "0", "--dtypes", "float64", "--no-times"]) == 0
    assert "no time for 11" in capsys.readouterr().out


def test_without_a_gpu(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "why_unavailable", lambda: "CuPy finds no GPU")
    assert check.main([]) == check.NO_GPU
    assert capsys.readouterr().err == "no device cuda: CuPy finds no GPU\n"


def test_what_is_timed_runs() -> None:
    names = [name for name, call in check._calls(gradwright, 16) if call() is not NotImplemented]
    assert len(names) == 13
