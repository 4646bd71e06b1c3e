"""``pointsman bundle init|pack|inspect``: folder bundles and their packed form (language.md 13)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import click

from dispatcher.cli.session import Session
from dispatcher.refusals import Refused

SCAFFOLD: Mapping[str, str] = MappingProxyType(
    {
        "main.bot": (
            "schema answer:\n  approved: bool\n\n"
            "human gate:\n  instructions: ask\n  output: answer\n\n"
            "workflow {name}:\n  entry: gate\n"
            "  gate -> done when approved\n  gate -> fail when not approved\n"
        ),
        "manifest.yaml": 'schema_version: 1\nname: {name}\nversion: "0.1.0"\ndescription: say what it is for\n',
        "prompts/ask.md": "Shall it go on?\n",
    }
)


@click.group(help="Make, pack and look into bundles: a main.bot with its prompts, presets, skills and manifest.")
def command() -> None:
    """The group; its commands follow."""


@command.command("init", help="Make a bundle in the folder DIR; what is there stays as it is.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.pass_obj
def init(session: Session, folder: Path) -> None:
    """Write what is missing and say so."""
    place = session.folder / folder
    name = "".join(letter if letter.isalnum() else "_" for letter in place.resolve().name)
    name = name if name.isidentifier() else f"bot_{name}"
    made = []
    try:
        for file, text in SCAFFOLD.items():
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            if not (place / file).exists():
                (place / file).write_text(text.replace("{name}", name), encoding="utf-8")
                made.append(file)
    except OSError as error:
        hint = "Name a folder in which files can be made."
        raise Refused("bad_input", f"{error.filename or place} cannot be written ({error.strerror})", hint) from error
    if session.json:
        session.emit({"folder": str(folder), "made": made})
        return
    for file in made:
        session.say(f"made  {folder / file}")
    session.say(f"Next: pointsman validate {folder}")


@command.command("pack", help="Pack the bundle folder DIR into one file, DIR.botz unless -o names another.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="where to")
@click.pass_obj
def pack(session: Session, folder: Path, output: Path | None) -> None:
    """Write the pack; the same files give the same bytes."""
    from engine.dsl.pack import SUFFIX
    from engine.dsl.pack import pack as write_pack

    source = (session.folder / folder).resolve()
    target = session.folder / output if output else source.with_name(source.name + SUFFIX)
    identity = write_pack(source, target)
    if session.json:
        session.emit({"file": str(target), "content_id": identity})
        return
    session.say(f"packed  {target}  ({identity[:12]})")


@command.command("inspect", help="Show what the bundle FILE (a folder or a .botz) holds.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.pass_obj
def inspect(session: Session, file: Path) -> None:
    """Print the content id, the manifest's name and version, and the files."""
    from engine.dsl.front_matter import NotYaml, read_map
    from engine.dsl.pack import content_id, read_folder
    from engine.dsl.unpack import read_pack

    path = session.folder / file
    files = read_folder(path) if path.is_dir() else read_pack(path)
    texts = {one.name: one.data.decode("utf-8", "replace") for one in files if one.name == "manifest.yaml"}
    try:
        manifest = read_map(texts.get("manifest.yaml", ""))
    except NotYaml:
        manifest = {}
    name, version = str(manifest.get("name", "")), str(manifest.get("version", ""))
    sizes = {one.name: len(one.data) for one in files}
    if session.json:
        document = {"name": name, "version": version, "content_id": content_id(files)}
        session.emit({**document, "files": [{"path": path, "size": size} for path, size in sizes.items()]})
        return
    session.say(f"{name or 'a bundle without name'} {version}".rstrip() + f"  {content_id(files)}")
    for path_in_bundle, size in sizes.items():
        session.say(f"{size:>9}  {path_in_bundle}")
