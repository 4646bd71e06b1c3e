"""A program that one file decides is compiled once per text; whatever else could decide is looked at again."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.dsl.unit import read_bytes
from engine.errors import SourceInvalid, SourceMissing
from engine.runtime.kept_programs import MOST, KeptPrograms, Program
from engine.runtime.requests import LaunchRequest
from tests.kit.engine import Rig

ONE = 'compute a:\n  expr:\n    x: "{}"\nworkflow w:\n  entry: a\n  a -> done\n'


def compiled(engine: Rig, file: Path) -> Program:
    return engine.engine.check_launch(LaunchRequest(file, engine.workspace)).program


def test_the_same_text_is_the_same_program(engine: Rig) -> None:
    file = engine.bot(ONE.format(1))
    first = compiled(engine, file)
    assert compiled(engine, file) is first
    assert compiled(engine, engine.bot(ONE.format(2))) is not first
    assert compiled(engine, engine.bot(ONE.format(1))).digest == first.digest


def test_an_edit_between_two_runs_is_executed(engine: Rig) -> None:
    engine.run(ONE.format(1))
    engine.run(ONE.format(2), "r2")
    assert (engine.outputs()["a"], engine.outputs("r2")["a"]) == ({"x": 1}, {"x": 2})


def test_a_text_that_became_wrong_or_went_is_refused(engine: Rig) -> None:
    file = engine.bot(ONE.format(1))
    compiled(engine, file)
    with pytest.raises(SourceInvalid):
        compiled(engine, engine.bot(ONE.format(1).replace("a -> done", "a -> nowhere")))
    file.unlink()
    with pytest.raises(SourceMissing):
        compiled(engine, file)


def test_a_file_that_became_a_bundle_is_compiled_again(engine: Rig) -> None:
    file = engine.bot(ONE.format(1))
    assert compiled(engine, file).bundle_path == ""
    (engine.folder / "skills").mkdir()
    assert compiled(engine, file).bundle_path == str(engine.folder)


def test_a_program_with_a_child_is_not_kept(engine: Rig) -> None:
    """Its child is another file, and a child with errors refuses the launch."""
    engine.bot(ONE.format(1), "child.bot")
    file = engine.bot('subbot kid:\n  source: "child.bot"\nworkflow w:\n  entry: kid\n  kid -> done\n', "parent.bot")
    assert compiled(engine, file) is not compiled(engine, file)


def test_a_program_with_a_fragment_is_not_kept(engine: Rig) -> None:
    (engine.folder / "lib").mkdir()
    (engine.folder / "lib" / "more.bot").write_text('compute b:\n  expr:\n    x: "1"\n')
    file = engine.bot('import "lib/more.bot"\n' + ONE.format(1).replace("a -> done", "a -> b\n  b -> done"))
    first = compiled(engine, file)
    (engine.folder / "lib" / "more.bot").write_text('compute b:\n  expr:\n    x: "2"\n')
    assert compiled(engine, file).digest != first.digest


def test_no_more_than_so_many_are_kept(engine: Rig) -> None:
    program = compiled(engine, engine.bot(ONE.format(1)))
    kept = KeptPrograms()
    files = [engine.folder / f"{number}.bot" for number in range(MOST + 1)]
    for file in files:
        file.write_bytes(read_bytes(program.path))
        kept.keep(file, program)
    assert (kept.find(files[0]), kept.find(files[-1])) == (None, program)
