"""Which file system a path lies on."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger.stores.mounts import NETWORK_FILE_SYSTEMS, file_system
from ledger.stores.sqlite_file import SQLiteFile

MOUNTINFO = r"""
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
25 22 0:23 / /dev/shm rw,nosuid,nodev - tmpfs tmpfs rw
40 22 0:41 / /mnt/share rw,relatime shared:7 master:3 - nfs4 server:/export rw,vers=4.2
41 40 254:1 / /mnt/share/local rw - xfs /dev/vdb rw
42 22 0:42 / /mnt/two\040words rw - fuse.sshfs me@host:/ rw
43 22 0:43 / /srv rw - ext4 /dev/vdc rw
44 43 0:44 / /srv rw - cifs //host/share rw
45 22 0:45 / /mnt/back\134slash\011tab rw - 9p host rw
this line is not one of the kernel's
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/ledger.db", "ext4"),
        ("/home/me/ledger.db", "ext4"),
        ("/dev/shm/ledger.db", "tmpfs"),
        ("/mnt/share/ledger.db", "nfs4"),
        ("/mnt/shared.db", "ext4"),
        ("/mnt/share/local/deep/ledger.db", "xfs"),
        ("/mnt/two words/ledger.db", "fuse.sshfs"),
        ("/mnt/back\\slash\ttab/ledger.db", "9p"),
        ("/srv/ledger.db", "cifs"),
    ],
)
def test_the_nearest_mount_decides_and_of_two_the_later(path: str, kind: str) -> None:
    assert file_system(Path(path), MOUNTINFO) == kind


def test_a_text_without_mounts_says_nothing() -> None:
    assert file_system(Path("/ledger.db"), "") is None


def test_file_systems_of_one_machine_are_not_network_file_systems() -> None:
    """Containers run on overlays, and their volumes on these."""
    local = {"ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "fuse.fuse-overlayfs", "fuseblk", "apfs"}
    assert not local & NETWORK_FILE_SYSTEMS


def test_a_link_is_followed_to_where_the_file_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link.db").symlink_to("/mnt/share/ledger.db")
    monkeypatch.setattr(Path, "read_text", lambda self, *encoding: MOUNTINFO)
    file = SQLiteFile(tmp_path / "link.db", busy_seconds=0, unsafe=False)
    assert file.kind_of_file_system() == "nfs4"


def test_where_no_such_text_is_the_kind_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(self: Path, *encoding: str) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    assert SQLiteFile(tmp_path / "x.db", busy_seconds=0, unsafe=False).kind_of_file_system() == "unknown"
