"""The unit file, looked at by systemd itself (D221). Needs ``systemd-analyze``; skipped with that reason elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.daemons import CONFIG, Site

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "systemd"
UNIT = "pointsman.service"
SHIPPED = 2.0
WITH_SANDBOXES = 2.5
"""Exposure levels that the unit must stay at or below (docs/operations.md states them)."""

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed: the unit was NOT checked"
)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The unit in a folder of its own, its programs replaced by one that exists here."""
    program = tmp_path / "pointsman"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    text = (FOLDER / UNIT).read_text()
    text = text.replace("/usr/local/bin/pointsman", str(program)).replace("/bin/kill", str(program))
    (tmp_path / UNIT).write_text(text)
    return tmp_path / UNIT


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True)


def exposure(unit: Path) -> float:
    shown = analyze("security", "--offline=true", "--no-pager", str(unit))
    found = re.search(r"Overall exposure level for \S+: (\d+\.\d+)", shown.stdout)
    assert found, shown.stdout + shown.stderr
    return float(found.group(1))


@needs_systemd
def test_the_unit_verifies_with_an_empty_error_stream(installed: Path) -> None:
    """D221: the exit code alone proves nothing."""
    done = analyze("verify", str(installed))
    assert (done.returncode, done.stderr) == (0, "")


@needs_systemd
def test_the_exposure_stays_below_the_stated_thresholds(installed: Path) -> None:
    """D221: as shipped, and with the drop-in for bots that ask for a sandbox."""
    assert exposure(installed) <= SHIPPED
    drop_ins = installed.with_name(f"{UNIT}.d")
    drop_ins.mkdir()
    shutil.copy(FOLDER / "sandbox.conf", drop_ins)
    assert exposure(installed) <= WITH_SANDBOXES
    assert analyze("verify", str(installed)).stderr == ""


def allowed_calls() -> set[str]:
    """The system calls that the filter of the unit lets through, as systemd itself resolves its groups."""
    groups: dict[str, list[str]] = {}
    for line in analyze("syscall-filter", "--no-pager").stdout.splitlines():
        name = line.strip()
        if line.startswith("@"):
            members = groups.setdefault(name, [])
        elif name and not name.startswith("#"):
            members.append(name)

    def members_of(name: str) -> set[str]:
        if not name.startswith("@"):
            return {name}
        return set().union(*(members_of(each) for each in groups[name]))

    allowed: set[str] = set()
    for line in (FOLDER / UNIT).read_text().splitlines():
        if line.startswith("SystemCallFilter="):
            value = line.partition("=")[2]
            named = set().union(*(members_of(each) for each in value.lstrip("~").split()))
            allowed = allowed - named if value.startswith("~") else allowed | named
    return allowed


PYTHON = "import json, socket, sqlite3, threading; t = threading.Thread(target=print); t.start(); t.join()"
FETCH = f"git clone --quiet FOLDER/origin here && date > here/stamp && tar cf kept.tar here && python3 -c '{PYTHON}'"
AUTHOR = "-c user.name=x -c user.email=x@example.org"
COMMIT = f"cd here && git add . && git {AUTHOR} commit --quiet -m work && git push --quiet && cp -p stamp copy"
WORKING = f"""
tool fetch:
  command: `{FETCH}`

tool commit:
  command: `{COMMIT}`

workflow work:
  entry: fetch
  fetch -> commit
  commit -> done
"""
TOLERATED = {"fchown", "fchownat", "chown", "lchown", "setpriority", "sched_setaffinity", "setrlimit"}
"""Calls outside the filter that programs of bots may try: they get EPERM there, and go on."""


@needs_systemd
@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("strace") is None, reason="strace is not installed: the calls of bots were NOT checked"
)
def test_bots_still_work_behind_the_filter_of_system_calls(tmp_path: Path) -> None:
    """The whole way of a card, git, tar and python included, makes no call that the shipped unit forbids."""
    subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "origin")], check=True)
    site = Site(
        tmp_path, WORKING.replace("FOLDER", str(tmp_path)), CONFIG.replace(', vars: {title: "{{card.title}}"}', "")
    )
    site.do("card", "create", "--title", "work", "--column", "ready")
    traced = ["strace", "-f", "-qq", "-e", "signal=none", "-e", "trace=all", "-o", str(tmp_path / "calls")]
    verb = [sys.executable, "-m", "dispatcher.cli", "dispatch", "--once", "--no-server"]
    given = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*traced, *verb], cwd=tmp_path, env=given, capture_output=True, text=True)
    if "Operation not permitted" in done.stderr and not (tmp_path / "calls").stat().st_size:
        pytest.skip("processes may not be traced here: the calls of bots were NOT checked")
    assert site.card()["column"] == "review", done.stderr
    made = set(re.findall(r"^\d+ +(\w+)\(", (tmp_path / "calls").read_text(errors="replace"), re.MULTILINE))
    assert {"execve", "connect", "socket", "openat"} <= made
    assert made - allowed_calls() - TOLERATED == set()


def test_the_unit_says_what_the_dispatcher_promises() -> None:
    """dispatcher.md 32, line by line."""
    lines = set((FOLDER / UNIT).read_text().splitlines())
    assert lines >= {
        *("Type=notify", "NotifyAccess=main", "Restart=on-failure", "RestartSec=5", "StartLimitIntervalSec=300"),
        *("StartLimitBurst=10", "RestartPreventExitStatus=2", "WatchdogSec=90", "TimeoutStartSec=120"),
        *("TimeoutStopSec=120", "KillMode=mixed", "KillSignal=SIGTERM", "User=pointsman", "StateDirectory=pointsman"),
        *("CacheDirectory=pointsman", "RuntimeDirectory=pointsman", "UMask=0077", "RequiresMountsFor=%S/pointsman"),
        *("LoadCredential=GITHUB_TOKEN:/etc/pointsman/GITHUB_TOKEN", "NoNewPrivileges=yes", "ProtectSystem=strict"),
        *("ProtectHome=yes", "PrivateTmp=yes", "PrivateDevices=yes", "ProtectProc=invisible", "LockPersonality=yes"),
        "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
        "SystemCallArchitectures=native",
        "CapabilityBoundingSet=",
    }
    assert lines >= {"RestrictNamespaces=yes", "SystemCallFilter=@system-service", "PrivateUsers=yes"}
    opened = (FOLDER / "sandbox.conf").read_text()
    assert "RestrictNamespaces=no" in opened
    assert "SystemCallFilter=\n" in opened
