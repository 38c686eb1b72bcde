"""Files from the web, whole or not at all."""

import functools
import hashlib
import http.client
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tqdm import tqdm

from corekernels.errors import FileError
from corekernels.io import atomic_write

_ATTEMPTS = 3
_TIMEOUT = 30.0  # seconds without a byte
_CHUNK_BYTES = 1 << 18
_md5 = functools.partial(hashlib.md5, usedforsecurity=False)  # against damage, not malice


@dataclass(frozen=True)
class Remote:
    """A file and where it comes from; without an MD5 sum, its reader checks what it holds."""

    file: str
    url: str
    md5: str | None = None


class _Interrupted(Exception):
    """The connection failed; another attempt may succeed."""


def fetch(remote: Remote, folder: Path) -> Path:
    """Download a file into a folder, unless it is there already.

    A connection that breaks is taken up again where it broke. The file gets its name
    only when it is complete and its sum right; what a failure leaves is removed.
    """
    target = folder / remote.file
    if target.is_file():
        return target
    with (
        atomic_write(target) as file,
        tqdm(desc=remote.file, unit="B", unit_scale=True, disable=None) as bar,  # in terminals
    ):
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                _continue(remote.url, file, bar)
                break
            except _Interrupted as error:
                if attempt == _ATTEMPTS:
                    raise FileError(f"{remote.url}: cannot be fetched ({error}).") from error
        if remote.md5 is not None:
            file.seek(0)
            digest = hashlib.file_digest(file, _md5)  # type: ignore[arg-type]  # it has `readinto`
            if (found := digest.hexdigest()) != remote.md5:
                raise FileError(f"{remote.url}: has the MD5 sum {found}, not {remote.md5}.")
    return target


def _continue(url: str, file: IO[bytes], bar: Any) -> None:
    """Append what the file lacks."""
    with _open(url, file.tell()) as response:
        if file.tell() and response.status != http.HTTPStatus.PARTIAL_CONTENT:
            file.seek(0)  # the server begins anew
            file.truncate()
            bar.reset()
        length = response.headers.get("Content-Length")
        bar.total = total = file.tell() + int(length) if length else None
        while chunk := _read(response):
            file.write(chunk)
            bar.update(len(chunk))
    if total is not None and file.tell() != total:
        raise _Interrupted(f"cut short, {file.tell()} of {total} bytes came")


def _open(url: str, start: int) -> Any:
    """The response to a request for the file, from its byte `start` on if the server can."""
    headers = {"User-Agent": "corekernels"} | ({"Range": f"bytes={start}-"} if start else {})
    request = urllib.request.Request(url, headers=headers)
    try:
        return urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        raise FileError(f"{url}: cannot be fetched ({error.code} {error.reason}).") from error
    except (OSError, http.client.HTTPException) as error:
        raise _Interrupted(getattr(error, "reason", error)) from error


def _read(response: Any) -> bytes:
    """Some bytes of a response; only a failure to read is an interruption, a full disk is not."""
    try:
        found: bytes = response.read(_CHUNK_BYTES)
    except (OSError, http.client.HTTPException) as error:
        raise _Interrupted(error) from error
    return found
