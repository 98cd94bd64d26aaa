"""Files that a browser brings into a workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt.errors import ToolError
from agentrt.tools.browser.files import put_download

from ..context import FakeContext

pytestmark = pytest.mark.simulated


@pytest.fixture
def download(tmp_path: Path) -> Path:
    """A file that was downloaded."""
    (tmp_path / "download").write_text("key\n")
    return tmp_path / "download"


def test_a_download_takes_the_place_of_no_file(tmp_path: Path, download: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    paths = [put_download(str(download), "a.txt", FakeContext(root))[0] for _ in range(2)]
    assert paths == [f"{root}/downloads/a.txt", f"{root}/downloads/a-2.txt"]


@pytest.mark.parametrize("link", ["downloads", "downloads/authorized_keys"])
def test_no_link_leads_a_download_elsewhere(tmp_path: Path, download: Path, link: str) -> None:
    """A repository that brings the link along, and a page that names the file, would choose any place."""
    root = tmp_path / "work"
    (root / link).parent.mkdir(parents=True)
    (tmp_path / "home").mkdir()
    (root / link).symlink_to(tmp_path / "home" if link == "downloads" else tmp_path / "home/authorized_keys")
    with pytest.raises(ToolError, match="is a link, and would lead elsewhere"):
        put_download(str(download), "authorized_keys", FakeContext(root))
    assert not any((tmp_path / "home").iterdir())
