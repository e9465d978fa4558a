"""Find out whether a path lies on a network file system.

SQLite's write-ahead log is shared memory: it works between processes of one machine only. On a file system
that other machines mount as well, or whose locks are a promise, an acknowledged append can be lost.
"""

from __future__ import annotations

from pathlib import Path

NETWORK_FILE_SYSTEMS = frozenset(
    name
    for line in (
        # `9p` is how virtual machines mount folders of their host; `vboxsf` likewise.
        "9p vboxsf nfs nfs3 nfs4 cifs smb smb2 smb3 smbfs afs afpfs ncpfs coda davfs davfs2 webdav",
        "ceph glusterfs lustre gpfs gfs gfs2 ocfs2 beegfs orangefs pvfs2 panfs acfs",
        "fuse.sshfs fuse.rclone fuse.s3fs fuse.goofys fuse.gcsfuse fuse.juicefs fuse.davfs fuse.ceph",
        "fuse.glusterfs fuse.mount.glusterfs",
    )
    for name in line.split()
)
"""Names of file systems as the kernel writes them."""


def file_system(path: Path, mountinfo: str) -> str | None:
    """Name the file system an absolute path lies on, from the text of `/proc/self/mountinfo`.

    Returns None where the text names no mount above the path. Of mounts at one place the last counts.

    Source: proc(5), "/proc/pid/mountinfo"; blanks in a mount point are written as octal escapes.
    """
    nearest: tuple[int, str] | None = None
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) < 5 or not after:
            continue
        mount = Path(_unescape(fields[4]))
        depth = len(mount.parts)
        if path.is_relative_to(mount) and (nearest is None or depth >= nearest[0]):
            nearest = depth, after.split(" ", 1)[0]
    return None if nearest is None else nearest[1]


def _unescape(text: str) -> str:
    for code, character in (("040", " "), ("011", "\t"), ("012", "\n"), ("134", "\\")):
        text = text.replace(f"\\{code}", character)
    return text
