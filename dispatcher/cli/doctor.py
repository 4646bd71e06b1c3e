"""``pointsman doctor [CONFIG]``: every part that the product stands on, with a verdict; reads only."""

from __future__ import annotations

from pathlib import Path

import click

from config.problems import ConfigError
from dispatcher.cli.session import Session


@click.command(help="Look at configuration, store, locks, clock, columns, git and bots; exit 1 when one fails.")
@click.argument("config_file", metavar="[CONFIG]", required=False, type=click.Path(path_type=Path))
@click.pass_obj
def command(session: Session, config_file: Path | None) -> int:
    """Print every finding; an unusable configuration is the first of them and the rest is looked at with defaults."""
    from dispatcher.checkup import Finding, Patient, Verdict, examine

    if config_file is not None:
        session.use_config(config_file)
    findings: list[Finding] = []
    try:
        session.settings()
    except ConfigError as error:
        findings += [Finding("config", Verdict.FAIL, each.sentence(), each.hint) for each in error.problems]
        session.use_defaults()
    patient = Patient(session.settings(), session.store_dir, session.store_url, session.wiring())
    findings += [found for found in examine(patient) if not (findings and found.part == "config")]
    failed = any(found.verdict is Verdict.FAIL for found in findings)
    if session.json:
        checks = [{"part": f.part, "verdict": f.verdict, "text": f.text, "hint": f.hint} for f in findings]
        session.emit({"ok": not failed, "checks": checks})
    else:
        for found in findings:
            session.say(f"{found.verdict.value:4}  {found.part:8} {found.text}")
            if found.hint:
                session.say(f"{'':15}{found.hint}")
    return 1 if failed else 0
