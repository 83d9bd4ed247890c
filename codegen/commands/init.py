"""Makes a package of one's own in this folder, with a first operator, that works at once."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import keyword
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from codegen.commands.process import OK, USAGE
from codegen.inputs import data_folder, root_folder
from codegen.module_names import INNER_PACKAGES, PUBLIC_PACKAGE
from codegen.paths import project_paths
from codegen.project import SCHEMA_VERSION
from codegen.targets.environment import environment
from codegen.version import VERSION
from codegen.words import FRAMEWORKS
from codegen.writing import replace_texts

# Names that Gradwright's own packages have.
_TAKEN = frozenset((PUBLIC_PACKAGE, *INNER_PACKAGES))
_IMPORTED = frozenset(("numpy", *FRAMEWORKS))
_PACKAGE = "package"  # the folder of the templates that becomes the package's own


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the package, as it will be imported")
    parser.add_argument(
        "--target",
        action="append",
        choices=FRAMEWORKS,
        default=[],
        help="a framework that has the operators, too, in a module of its own; may be repeated",
    )


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    return make_package(arguments.name, Path.cwd(), arguments.target)


def make_package(name: str, folder: Path, targets: Sequence[str] = ()) -> int:
    """Write the files of a new project into a folder, and say what comes next.

    Args:
        name: of the package, as it will be imported.
        folder: of the project. What is there already is left alone: no file is written then.
        targets: the frameworks that have the operators as well, of `FRAMEWORKS`.

    Returns:
        The exit status: 0, or 2 with the reason on standard error.
    """
    if not name.isidentifier() or keyword.iskeyword(name) or name in _TAKEN or name in _IMPORTED:
        if name in _TAKEN:
            reason = "is a package of Gradwright"
        elif name in _IMPORTED:
            reason = "is what the package imports: it would find itself"
        elif keyword.iskeyword(name):
            reason = "is a word of Python"
        else:
            reason = "can not be imported: write letters, digits and underscores"
        print(f"error: '{name}' {reason}", file=sys.stderr)
        return USAGE
    files = _files(name, _source(), [each for each in FRAMEWORKS if each in targets])
    present = [path for path in files if (folder / path).exists()]
    if present:
        print(f"error: this folder has {', '.join(sorted(present))} already; nothing was written", file=sys.stderr)
        return USAGE
    for path in files:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
    replace_texts({folder / path: text for path, text in files.items()})
    print(f"{name}: {len(files)} files written; next: gradwright && pytest")
    return OK


def _source() -> str | None:
    """What pip can install this very Gradwright from on another machine; None where nothing is known.

    It is to be this one, because `--check` compares with what another one would have generated otherwise.
    """
    if data_folder() == root_folder():
        url, commit = _git("remote", "get-url", "origin"), _git("rev-parse", "HEAD")
        if url is None or commit is None:
            return None
        scp = re.fullmatch(r"(\w+@[^:/]+):(.+)", url)  # as git takes it, and pip does not
        url = f"ssh://{scp[1]}/{scp[2]}" if scp else url
        return f"gradwright @ git+{url}@{commit}" if re.match(r"(https?|ssh)://", url) else None
    try:
        said = importlib.metadata.distribution("gradwright").read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        return None
    if said is None:  # from an index
        return f"gradwright=={VERSION}"
    origin = json.loads(said)
    if not re.match(r"(https?|ssh)://", origin["url"]):
        return None
    vcs = origin.get("vcs_info")
    return f"gradwright @ {origin['url']}" if vcs is None else f"gradwright @ git+{origin['url']}@{vcs['commit_id']}"


def _git(*words: str) -> str | None:
    """What git says of the checkout, if it does."""
    try:
        said = subprocess.run(["git", "-C", root_folder(), *words], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return said.strip() or None


def _files(name: str, source: str | None, targets: Sequence[str]) -> dict[str, str]:
    """The text of each file, by its path in the project.

    A folder of templates that has the name of a framework holds files for it alone.
    """
    templates = project_paths().templates
    env = environment(templates, "init")
    root = templates / "init"
    files = {}
    for path in sorted(root.rglob("*.j2")):
        first, *rest = path.relative_to(root).with_suffix("").parts
        if first in FRAMEWORKS:
            if first not in targets:
                continue
            place = "/".join(rest)
        else:
            place = "/".join((name if first == _PACKAGE else first, *rest))
        template = env.get_template(path.relative_to(root).as_posix())
        files[place] = template.render(
            name=name, version=VERSION, schema_version=SCHEMA_VERSION, source=source, targets=targets
        )
    return files
