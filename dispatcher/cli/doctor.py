"""``pointsman doctor [CONFIG]``: every part that the product stands on; reads only without ``--fix``."""

from __future__ import annotations

from pathlib import Path

import click

from config.problems import ConfigError
from dispatcher.cli.session import Session


@click.command(help="Look at configuration, store, locks, clock, forges and their boards, git and bots.")
@click.argument("config_file", metavar="[CONFIG]", required=False, type=click.Path(path_type=Path))
@click.option("--fix", is_flag=True, help="make what a finding's remedy says that it makes: missing labels of columns")
@click.pass_obj
def command(session: Session, config_file: Path | None, fix: bool) -> int:
    """Print every finding; an unusable configuration is the first of them and the rest is looked at with defaults."""
    from dispatcher.checkup import Patient, examine
    from dispatcher.findings import Finding, Level

    if config_file is not None:
        session.use_config(config_file)
    findings: list[Finding] = []
    try:
        session.settings()
    except ConfigError as error:
        findings += [Finding("config", Level.FAIL, each.sentence(), each.hint) for each in error.problems]
        session.use_defaults()
    if fix:
        from dispatcher.forge_checkup import repair

        findings += repair(session.wiring())
    patient = Patient(session.settings(), session.store_dir, session.store_url, session.wiring())
    broken = any(found.id == "config" for found in findings)
    findings += [found for found in examine(patient) if not (broken and found.id == "config")]
    failed = any(found.level is Level.FAIL for found in findings)
    if session.json:
        checks = [{"id": f.id, "level": f.level, "text": f.text, "remedy": f.remedy} for f in findings]
        session.emit({"ok": not failed, "checks": checks})
    else:
        for found in findings:
            session.say(f"{found.level.value:4}  {found.id:19} {found.text}")
            if found.remedy:
                session.say(f"{'':26}{found.remedy}")
    return 1 if failed else 0
