"""The one style of the YAML files: what is laid out anew, what stays, and that nothing is lost."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from codegen.commands.main import main
from codegen.formatting import ORDER, formatted
from codegen.read.keys import FORMER_NAMES, NAMES
from support.documents import ROOT

OWN = [ROOT / name for name in ("native_functions.yaml", "derivatives.yaml")]
UGLY = """\


# head
#   second
# a section
-   func: a(Tensor self) -> Tensor   # trailing
    # about samples
    samples: ['T(3)',  "T(4), 1" ]
    dispatch: {CPU: a, "Meta":   b}
    tags: [ pointwise,core ]


    variants: function,
       method
# outdented: belongs to the next key
    domain: [0,
      1]   # the domain
    # at the end

# before b
-
  # first
  func: b(Tensor self) -> Tensor
  dispatch:   # table
      CPU:    b   # cpu
      # for meta
      Meta: c
  samples:
        - T(3)
        # second
        -    'T(3),
             4'
- func: >-
      c(Tensor self,
         Tensor other)
        -> Tensor
  tags:
     - core # one
     - pointwise
# tail

# end
"""
NEAT = """\
# head
#   second
# a section
- func: a(Tensor self) -> Tensor  # trailing
  variants: function,
    method
  dispatch: {CPU: a, "Meta": b}
  tags: [pointwise, core]
  # about samples
  samples:
  - 'T(3)'
  - "T(4), 1"
  # outdented: belongs to the next key
  domain: [0, 1]  # the domain
  # at the end

# before b
# first
- func: b(Tensor self) -> Tensor
  dispatch:  # table
    CPU: b  # cpu
    # for meta
    Meta: c
  samples:
  - T(3)
  # second
  - 'T(3),
    4'

- func: >-
    c(Tensor self,
       Tensor other)
      -> Tensor
  tags:
  - core  # one
  - pointwise

# tail

# end
"""


def comments(text: str) -> list[str]:
    """The comments of a file that has no '#' elsewhere, without their order."""
    return sorted(match.rstrip() for match in re.findall(r"#.*", text))


def test_an_ugly_file_becomes_neat() -> None:
    assert formatted(UGLY) == NEAT
    assert yaml.safe_load(UGLY) == yaml.safe_load(NEAT)
    assert comments(UGLY) == comments(NEAT)


def test_line_ends_of_windows_go() -> None:
    assert formatted(UGLY.replace("\n", "\r\n")) == NEAT


def test_formulas_keep_their_order_and_their_line_breaks() -> None:
    text = "- b: grad\n  a: >\n     grad *\n     2\n  name:   f(Tensor a, Tensor b) -> Tensor\n"
    assert formatted(text) == "- name: f(Tensor a, Tensor b) -> Tensor\n  b: grad\n  a: >\n    grad *\n    2\n"


@pytest.mark.parametrize(
    "entry",
    [
        "- func: &name f() -> Tensor\n  tags:   [core]\n  other: *name",
        "- func: f() -> Tensor\n  text: |2\n      indented\n    less",
        "- func: f() -> Tensor\n  tags: [core, # why\n     pointwise]",
        "- {func: f() -> Tensor,   tags: core}",
        "-   - a\n    - b",
        "- # here\n  func:   f() -> Tensor",
    ],
)
def test_what_the_style_says_nothing_about_stays(entry: str) -> None:
    text = formatted(f"-   func: g() -> Tensor\n{entry}\n")
    assert text == f"- func: g() -> Tensor\n\n{entry}\n"


def test_lines_of_a_text_keep_their_places_beside_each_other() -> None:
    text = '- name: f(Tensor a) -> Tensor\n  a: "g(grad,\n\n           a,\n         b)"\n'
    assert formatted(text) == '- name: f(Tensor a) -> Tensor\n  a: "g(grad,\n\n      a,\n    b)"\n'


def test_a_table_in_one_line_stays_in_braces() -> None:
    text = (
        "- func: f(Tensor a) -> Tensor\n  dispatch: { CPU:   a}  # why\n  slope_at: {0: 1,\n    2: 3}\n  requires: {}\n"
    )
    neat = (
        "- func: f(Tensor a) -> Tensor\n  dispatch: {CPU: a}  # why\n  slope_at:\n    0: 1\n    2: 3\n  requires: {}\n"
    )
    assert formatted(text) == formatted(neat) == neat


@pytest.mark.parametrize("text", ["[]\n", "", "# nothing\n", "a: 1\n", "text\n"])
def test_what_is_no_list_of_entries_stays(text: str) -> None:
    assert formatted(text) == text


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_our_own_files_are_formatted(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert formatted(text) == text


def test_the_order_has_every_key() -> None:
    assert set(ORDER) == {*NAMES, *FORMER_NAMES}


ENTRIES = [
    entry for path in OWN for entry in re.split(r"\n(?=- )", path.read_text(encoding="utf-8")) if "#" not in entry
]


def uglified(entries: list[str], seed: int) -> str:
    """Entries with their keys in another order, blank lines, comments, and other indentation."""
    chosen = random.Random(seed)
    lines = []
    count = 0

    def noise() -> None:
        nonlocal count
        for _ in range(chosen.choice((0, 0, 0, 1, 2))):
            count += 1
            lines.append(chosen.choice(("", "   ", " " * chosen.randrange(8) + f"# {count}")))

    for entry in entries:
        first, *keys = re.split(r"\n(?=  \w)", entry.strip()[2:])
        if first.startswith("func"):
            chosen.shuffle(keys)
        deeper = chosen.randrange(4)
        for number, key in enumerate((first, *keys)):
            noise()
            head, *below = key.strip().split("\n")
            count += 1
            end = "   " * chosen.randrange(2) + (f"  # {count}" if chosen.random() < 0.2 else "")
            lines.append(("-" + " " * (deeper + 1) if number == 0 else " " * (deeper + 2)) + head + end)
            lines.extend(" " * deeper + line for line in below)
        noise()
    return "\n".join(lines) + "\n"


@given(st.lists(st.sampled_from(ENTRIES), min_size=1, max_size=4, unique=True), st.integers(0, 10**6))
def test_formatting_keeps_what_is_said_and_is_done_at_once(entries: list[str], seed: int) -> None:
    text = uglified(entries, seed)
    neat = formatted(text)
    assert yaml.safe_load(neat) == yaml.safe_load(text)
    assert comments(neat) == comments(text)
    assert formatted(neat) == neat
    without = [line for line in neat.split("\n") if not line.lstrip().startswith("#")]
    assert (
        re.sub(r"  # \d+$", "", "\n".join(without), flags=re.MULTILINE).split()
        == " ".join(formatted(entry + "\n") for entry in entries).split()
    )


def folder_with(folder: Path, text: str) -> list[str]:
    (folder / "n.yaml").write_text(text)
    (folder / "d.yaml").write_text("[]\n")
    return ["format", "--native-functions", str(folder / "n.yaml"), "--derivatives", str(folder / "d.yaml")]


def test_the_command_writes_what_has_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = folder_with(tmp_path, UGLY)
    assert main([*command, "--check"]) == 1
    assert "n.yaml is not formatted" in capsys.readouterr().err
    assert main([*command, "--diff"]) == 0
    assert "+- func: a(Tensor self) -> Tensor  # trailing\n" in capsys.readouterr().out
    assert (tmp_path / "n.yaml").read_text() == UGLY
    assert main(command) == 0
    assert (tmp_path / "n.yaml").read_text() == NEAT
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.yaml", "n.yaml"]
    capsys.readouterr()
    for more in ([], ["--check"], ["--diff"]):
        assert main([*command, *more]) == 0
        assert capsys.readouterr().out.endswith("nothing to format\n")


def test_only_named_files_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = folder_with(tmp_path, UGLY)
    assert main(command[:3]) == 0
    assert "derivatives.yaml" not in capsys.readouterr().out


def test_a_file_that_is_no_yaml_is_not_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = folder_with(tmp_path, "-   func: 'a\n")
    assert main(command) == 1
    assert "[GW002]" in capsys.readouterr().err
    assert (tmp_path / "n.yaml").read_text() == "-   func: 'a\n"


def test_a_link_stays_one_and_the_mode_stays(tmp_path: Path) -> None:
    command = folder_with(tmp_path, UGLY)
    (tmp_path / "n.yaml").rename(tmp_path / "real.yaml")
    (tmp_path / "real.yaml").chmod(0o640)
    (tmp_path / "n.yaml").symlink_to("real.yaml")
    assert main(command) == 0
    assert (tmp_path / "n.yaml").is_symlink()
    assert (tmp_path / "real.yaml").read_text() == NEAT
    assert (tmp_path / "real.yaml").stat().st_mode & 0o777 == 0o640
