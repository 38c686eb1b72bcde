"""Compressed files of each kind: read back, several streams in one file, cut short, damaged."""

import io

import numpy as np
import pytest

from corekernels.errors import FileError
from corekernels.io.streams import PACKINGS, ByteStream, packing_of, packing_of_name

CONTENT = np.random.default_rng(0).integers(97, 105, 300_000, dtype=np.uint8).tobytes()


def packed(packing, content):
    file = io.BytesIO()
    packer = packing.pack(file)
    packer.write(content)
    packer.close()
    return file.getvalue()


@pytest.mark.parametrize("packing", PACKINGS, ids=lambda packing: packing.name)
class TestPacking:
    def test_content_comes_back(self, packing, tmp_path):
        for content in (CONTENT, b"", b"a line\n"):
            path = tmp_path / f"x{packing.suffix}"
            path.write_bytes(packed(packing, content))
            assert packing_of(path.read_bytes()[:10]) is packing
            assert packing_of_name(path) is packing
            with ByteStream(path) as stream:
                assert stream.packing == packing.name
                assert stream.read(len(CONTENT) + 1) == content
                assert stream.position == path.stat().st_size

    def test_several_streams_one_after_another(self, packing, tmp_path):
        path = tmp_path / "x"
        path.write_bytes(packed(packing, CONTENT) + packed(packing, b"more"))
        with ByteStream(path) as stream:
            assert stream.read(len(CONTENT) + 10) == CONTENT + b"more"

    def test_cut_short(self, packing, tmp_path):
        path = tmp_path / "x"
        whole = packed(packing, CONTENT)
        for size in (len(whole) - 1, len(whole) // 2, 20):
            path.write_bytes(whole[:size])
            message = f"x: the {packing.name} file is cut short, it ends at byte {size} .* again"
            with ByteStream(path) as stream, pytest.raises(FileError, match=message):
                stream.read(len(CONTENT) + 1)

    def test_another_file_under_its_name(self, packing, tmp_path):
        path = tmp_path / f"x{packing.suffix}"
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
        with pytest.raises(FileError, match=f"its name says {packing.name}, .* make it again"):
            ByteStream(path)
        path.write_bytes("0 1:1 # größer\n".encode())  # unpacked on the way, under its old name
        with ByteStream(path) as stream:
            assert stream.packing is None

    def test_damaged(self, packing, tmp_path):
        path = tmp_path / "x"
        whole = bytearray(packed(packing, CONTENT))
        # zst files need not have check sums: only damage to their structure is seen
        place = 12 if packing.name == "zst" else len(whole) // 2
        whole[place : place + 50] = bytes(50)
        path.write_bytes(whole)
        with ByteStream(path) as stream, pytest.raises(FileError, match="x: "):
            stream.read(len(CONTENT) + 1)


def test_zst_frames_that_readers_skip(tmp_path):
    path = tmp_path / "x"
    whole = packed(packing_of_name("x.zst"), CONTENT)
    path.write_bytes(b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"note" + whole)
    with ByteStream(path) as stream:
        assert stream.read(len(CONTENT) + 1) == CONTENT
