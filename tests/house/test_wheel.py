"""The wheel, built and used outside the checkout: nothing that the product reads at run time stays behind."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.house.tables import ROOT

PACKAGES = ("dispatcher", "engine", "connectors", "config")
DATA = (".yaml", ".bot", ".html", ".css", ".js", ".typed", ".mako", ".svg")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_carries_the_four_packages_and_their_data(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*"):
            if path.suffix in DATA or (path.suffix == ".py" and "__pycache__" not in path.parts):
                assert path.relative_to(ROOT).as_posix() in names


def test_the_wheel_works_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONSAFEPATH": "1"}
    for arguments in (["--version"], ["init", "."], ["config", "check"], ["doctor"]):
        command = [sys.executable, "-m", "dispatcher.cli", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr + done.stdout
    code = "import config, sys; print(config.__file__)"
    where = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert where.stdout.startswith(str(installed))
