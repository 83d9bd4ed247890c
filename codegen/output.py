"""The note that generated code carries about what it was made from.

Imported by a run of the generator that finds nothing to do, so it imports next to nothing.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from codegen.inputs import FORMAT, MANIFEST, checksum, content
from codegen.paths import ARRAY_API, BATCHING_RULES, SCHEMAS, Paths
from codegen.words import BUILT_IN_NAMESPACE, CPP, CUDA, RULES, TARGETS
from codegen.writing import text_of, write_text

# Beside the output of a package: what is known of the rules that it was made from (`codegen/proof_outcomes.py`).
PROOFS = "proofs.txt"
_OF_EARLIER_VERSIONS = ("refuted.txt",)  # which no manifest listed


def input_hash(paths: Iterable[Path]) -> str:
    """A hash over the contents of the input files, in order."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(content(path))
        digest.update(b"\0")
    return digest.hexdigest()


def manifest_text(
    paths: Paths,
    target: str,
    summary: str,
    files: Mapping[str, str],
    rules: Mapping[str, str] | None = None,
    left_out: Sequence[str] = (),
) -> str:
    """The text of the manifest: what the output was made from, and what it is.

    `rules` has a word for each operator; they stand on one line, because `import gradwright` reads the lines. Where
    something was left out, the output is not that of its sources, and the next run makes it anew.
    """
    inputs = paths.inputs
    contents: dict[str, object] = {
        "checksum": checksum(inputs),
        "format": FORMAT,
        "inputs": input_hash(inputs),
        "sources": "" if left_out else source_hash(paths, target),
        "summary": summary,
        "files": {name: _hash(text.encode()) for name, text in sorted(files.items())},
    }
    if left_out:
        contents["left_out"] = list(left_out)
    if rules and target == "python":
        contents["rules"] = " ".join(f"{name}={word}" for name, word in sorted(rules.items()))
    if paths.namespace != BUILT_IN_NAMESPACE and target == "python":
        # So that the package can be compared with its YAML when it is imported, where that lies beside it.
        contents["yaml"] = [Path(os.path.relpath(path, paths.output)).as_posix() for path in inputs]
        if paths.native is not None:
            contents["native"] = Path(os.path.relpath(paths.native, paths.output)).as_posix()
    return json.dumps(contents, indent=1, sort_keys=True) + "\n"


def is_of_sources(paths: Paths, target: str) -> bool:
    """Whether the output was made from the sources as they are: then a run has found no errors in them."""
    try:
        known = _read(paths.output)
        return known is not None and known.get("sources") == source_hash(paths, target)
    except OSError:  # one is missing
        return False


def unchanged(paths: Paths, target: str) -> tuple[str, int] | None:
    """The summary of the output and its number of files, if a run of the generator would make just what is there."""
    known = _read(paths.output)
    if known is None or not is_of_sources(paths, target):
        return None
    try:
        files = known["files"]
        assert isinstance(files, dict)
        if stale_files(files, paths.output):
            return None
        if any(_hash(content(paths.output / name)) != said for name, said in files.items()):
            return None
        return str(known["summary"]), len(files)
    except (OSError, KeyError, AttributeError):
        return None


def rules(paths: Paths) -> Mapping[str, str]:
    """The word for each operator that a generation has left."""
    words = (_read(paths.output) or {}).get("rules", "")
    assert isinstance(words, str)
    return dict(word.split("=", 1) for word in words.split())


@functools.cache
def source_hash(paths: Paths, target: str) -> str:
    """A hash over everything that the output depends on: the YAML, the generator, templates, signatures of kernels."""
    digest = hashlib.sha256(
        f"{target} {paths.package} {paths.namespace} {paths.base is None} {paths.long_names}".encode()
    )
    for path in source_files(paths, target):
        digest.update(f"\0{path.name}\0".encode())
        digest.update(content(path))
    return digest.hexdigest()


def stale_files(files: Collection[str], output: Path) -> list[str]:
    """Files that an earlier generation has listed, and that this one, which makes `files`, does not make.

    What it has not listed is by hand, and stays.
    """
    listed = (*_listed(output), *_OF_EARLIER_VERSIONS)
    return sorted(name for name in listed if name not in files and (output / name).is_file())


def in_the_way(files: Mapping[str, str], output: Path) -> list[Path]:
    """What lies where a package for a framework is to be written, is another text, and no generation has written it.

    Args:
        files: of the package, with their texts.
        output: its folder.
    """
    module = output.with_suffix(".py")  # which nobody could import beside a package of its name
    written = _listed(output) if (output / MANIFEST).exists() else ()
    others = [
        output / name
        for name, text in files.items()
        if name not in written and name != MANIFEST and text_of(output / name) not in (None, text)
    ]
    return [*([module] if module.exists() else []), *others]


def _listed(output: Path) -> Collection[str]:
    """The files that a manifest lists."""
    try:
        files = json.loads((output / MANIFEST).read_text(encoding="utf-8")).get("files", {})
    except (OSError, ValueError, AttributeError):
        return ()
    return files if isinstance(files, dict) else ()


def source_files(paths: Paths, target: str) -> Iterator[Path]:
    """All that the output depends on; what is named and is not there, too."""
    yield paths.native_functions
    yield paths.derivatives
    yield from paths.samples
    if paths.examples.exists():
        yield paths.examples
    beneath = paths.beneath
    if beneath is not None:
        yield from (beneath.native_functions, beneath.derivatives, beneath.tags)
    others = (paths.tags, *paths.helpers, *(paths.library or ()), *(paths.base or ()))
    yield from (path for path in others if path is not None)
    generator = Path(__file__).parent
    yield from sorted((*generator.rglob("*.py"), *(generator / "derive").glob("*.yaml"), *SCHEMAS.iterdir()))
    folders = (*TARGETS, "docs", *(() if target in TARGETS else (RULES, target)))
    yield from sorted(path for folder in folders for path in (paths.templates / folder).rglob("*.j2"))
    yield from paths.native_kernels
    if target == CPP:
        yield from paths.own_kernels
    generated = paths.output.parent if paths.output.name == target == CUDA else paths.output
    for _, path in paths.backends:
        yield from (each for each in (path, *sorted(path.parent.rglob("*.py"))) if generated not in each.parents)
    folders = (ARRAY_API, "kernels", "composite", "helpers", "upstream", BATCHING_RULES)
    by_hand = (paths.functions_by_hand, paths.array_functions, paths.update_rules)
    for part in (*(part for _, part in paths.own), *map(paths.operators_part, folders), *by_hand):
        yield from (path for path, _, _ in part.files())


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read(output: Path) -> dict[str, str | dict[str, str]] | None:
    try:
        known = json.loads((output / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return known if isinstance(known, dict) and known.get("format") == FORMAT and "inputs" in known else None


def differences(files: Mapping[str, str], output: Path) -> list[str]:
    """Files that are missing, differ, or are no longer generated."""
    changed = [name for name, text in files.items() if text_of(output / name) != text]
    return sorted(changed + stale_files(files, output))


def write(files: Mapping[str, str], output: Path) -> int:
    """Write what changed, remove what is stale, and give the number of files touched.

    The manifest goes last: an interrupted run leaves output that says it is of other YAML.
    """
    output.mkdir(parents=True, exist_ok=True)
    changed = differences(files, output)
    for name in stale_files(files, output):
        (output / name).unlink()
    for name in sorted(changed, key=lambda name: name == MANIFEST):
        if name in files:
            path = output / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, files[name])
    for name in files:
        if name.endswith(".py"):
            _keep_bytecode(output / name, name in changed)
    return len(changed)


def _keep_bytecode(module: Path, is_new: bool) -> None:
    """See that a module has bytecode beside it from its first import on.

    `is_new`: what lies there is of another text, which by its second may seem to be this one.
    """
    from compileall import compile_file
    from importlib.util import cache_from_source

    if sys.dont_write_bytecode:  # each process that imports it would compile it again
        compile_file(module, quiet=2, force=is_new)  # where it can not be written the module works without it
    elif is_new:
        Path(cache_from_source(str(module))).unlink(missing_ok=True)
