"""Downloads, from a server of our own: no test goes beyond this machine."""

import bz2
import gzip
import hashlib
import io
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import numpy as np
import pytest

from corekernels.errors import FileError
from reproduction import datasets
from reproduction.datasets import download, libsvm, mnist_files, news, places, youtube


def fail(*args, **kwargs):
    raise OSError("there is no network here")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache, no local folder, and nothing to be had from scikit-learn."""
    monkeypatch.delenv("COREKERNELS_DATA", raising=False)
    monkeypatch.setenv("COREKERNELS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(mnist_files, "fetch_openml", fail)
    monkeypatch.setattr(news, "fetch_20newsgroups", fail)
    return tmp_path / "cache"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        content, limit = self.server.files.get(self.path.strip("/"), (None, None))
        self.server.requests.append((self.path.strip("/"), self.headers["Range"]))
        if content is None:
            self.send_error(404)
            return
        start = 0
        if self.headers["Range"] and self.server.ranges:
            start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        self.send_response(206 if start else 200)
        if self.server.sized:
            self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start : start + limit])

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    """Files by name, as (content, bytes sent before the connection is closed)."""
    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.files, server.requests, server.ranges, server.sized = {}, [], True, True
    server.url = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


CONTENT = bytes(range(256)) * 40


def remote(server, md5=None):
    return download.Remote("some.bin", server.url + "some.bin", md5)


def test_fetch(server, tmp_path):
    server.files["some.bin"] = CONTENT, len(CONTENT)
    right = hashlib.md5(CONTENT).hexdigest()
    path = download.fetch(remote(server, right), tmp_path)
    assert path.read_bytes() == CONTENT
    download.fetch(remote(server, right), tmp_path)
    assert len(server.requests) == 1  # what is there is not fetched again
    path.unlink()
    server.sized = False
    assert download.fetch(remote(server), tmp_path).read_bytes() == CONTENT


def test_broken_connections_are_taken_up(server, tmp_path):
    server.files["some.bin"] = CONTENT, 4000
    assert download.fetch(remote(server), tmp_path).read_bytes() == CONTENT
    assert [start for _, start in server.requests] == [None, "bytes=4000-", "bytes=8000-"]


def test_broken_connections_without_ranges(server, tmp_path):
    server.files["some.bin"], server.ranges = (CONTENT, 4000), False
    with pytest.raises(FileError, match=r"some\.bin: cannot be fetched \(cut short, 4000 of 10240"):
        download.fetch(remote(server), tmp_path)
    assert len(server.requests) == 3
    assert not any(tmp_path.iterdir())


def test_reading_may_fail_and_be_tried_again():
    with pytest.raises(download._Interrupted, match="no network"):
        download._read(SimpleNamespace(read=fail))


def test_wrong_sum(server, tmp_path):
    server.files["some.bin"] = CONTENT, len(CONTENT)
    with pytest.raises(FileError, match=r"some\.bin: has the MD5 sum .*, not 123"):
        download.fetch(remote(server, "123"), tmp_path)
    assert not any(tmp_path.iterdir())


def test_no_such_file_and_no_server(server, tmp_path):
    with pytest.raises(FileError, match=r"some\.bin: cannot be fetched \(404 Not Found\)"):
        download.fetch(remote(server), tmp_path)
    with pytest.raises(FileError, match=r"cannot be fetched \(.*refused\)"):
        download.fetch(download.Remote("some.bin", "http://127.0.0.1:1/"), tmp_path)
    assert not any(tmp_path.iterdir())


def remotes(server, originals, sums=(None, None)):
    """The same files on our own server."""
    return tuple(
        download.Remote(original.file, server.url + original.file, md5)
        for original, md5 in zip(originals, sums, strict=True)
    )


def packed_rows(server, file, text):
    server.files[file] = bz2.compress(text.encode()), 1 << 30


def test_usps(server, cache, monkeypatch):
    packed_rows(server, "usps.bz2", "10 1:-1 2:1 256:-1\n1 1:0.5 2:-1\n")
    packed_rows(server, "usps.t.bz2", "3 1:1 2:-1\n")
    sums = [hashlib.md5(content).hexdigest() for content, _ in server.files.values()]
    monkeypatch.setattr(libsvm, "_USPS", remotes(server, libsvm._USPS, sums))
    found = datasets.load("usps")
    assert found.y_train.tolist() == [9, 0]
    assert found.y_test.tolist() == [2]
    first = found.X_train[[0]].toarray()[0]  # values not written are 0, the middle of [-1, 1]
    assert first[0] == first[255] == 0
    assert first[1] == pytest.approx(2 * first[2])
    assert {path.name for path in (cache / "usps").iterdir()} == {"usps.bz2", "usps.t.bz2"}
    server.files.clear()
    np.testing.assert_array_equal(  # from the cache
        datasets.load("usps").X_test.toarray(), found.X_test.toarray()
    )
    (cache / "usps" / "usps.t.bz2").write_bytes(bz2.compress(b"0 1:1\n"))
    with pytest.raises(FileError, match=r"usps\.t\.bz2: its labels are not 1 to 10"):
        datasets.load("usps")


def test_nothing_to_be_had(server, cache, monkeypatch, tmp_path):
    monkeypatch.setattr(libsvm, "_USPS", remotes(server, libsvm._USPS))
    monkeypatch.setattr(libsvm, "_RCV1", remotes(server, libsvm._RCV1))
    archive = download.Remote("dir_data.tar", server.url + "dir_data.tar")
    monkeypatch.setattr(youtube, "_ARCHIVE", archive)
    for name, file, reason in [
        ("usps", "usps.bz2, usps.t.bz2", "404 Not Found"),
        ("rcv1", "rcv1_train.binary.bz2, rcv1_test.binary.bz2", "404 Not Found"),
        ("youtube", "test/audio_sai_boxes.txt.gz", "404 Not Found"),
        ("20news", "train_tf.npz", "there is no network here"),
        ("m-basic", "train-images-idx3-ubyte.gz", "there is no network here"),
    ]:
        with pytest.raises(FileError, match=f"{file}.* by hand and put them into either") as error:
            datasets.load(name, folder=tmp_path)
        assert reason in str(error.value)
    with pytest.raises(FileError, match=r"word_by_document\.npz, words\.txt"):
        datasets.word_counts()
    monkeypatch.setenv("COREKERNELS_CACHE", str(tmp_path / "file" / "cache"))
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FileError, match="NotADirectoryError"):
        datasets.load("usps")


def test_rcv1(server, cache, monkeypatch):
    packed_rows(server, "rcv1_train.binary.bz2", "-1 1:0.6 47236:0.8\n1 2:1\n1 3:1\n")
    packed_rows(server, "rcv1_test.binary.bz2", "1 1:1\n-1 2:1\n1 3:1\n")
    there = remotes(server, libsvm._RCV1)
    for key, value in (("_RCV1", there), ("_N_TRAIN", 3), ("_N_TEST", 2)):
        monkeypatch.setattr(libsvm, key, value)
    found = datasets.load("rcv1")
    assert found.X_train.shape == (3, 47_236)
    assert found.X_test.shape == (2, 47_236)
    assert found.y_train.tolist() == [-1, 1, 1]
    assert found.y_test.tolist() == [1, -1]
    for file in ("rcv1_train.binary", "rcv1_test.binary"):  # unpacked will do
        (cache / "rcv1" / file).write_bytes(bz2.decompress(server.files[file + ".bz2"][0]))
        (cache / "rcv1" / f"{file}.bz2").unlink()
    assert datasets.load("rcv1").y_test.tolist() == [1, -1]
    (cache / "rcv1" / "rcv1_train.binary").write_text("2 1:1\n")
    with pytest.raises(FileError, match=r"1 rows of the classes \[2\] where 3 of -1 and 1 are due"):
        datasets.load("rcv1")


def tarred(texts):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for file, text in texts.items():
            content = gzip.compress(text.encode())
            member = tarfile.TarInfo(f"dir_data/{file}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def test_youtube(server, cache, monkeypatch):
    texts = {
        "train/audio_sai_boxes.txt.gz": "#I 1\n31 4:0.5  15:0.5\n#I 2\n2 7:1\n#I 4\n1 1:2\n",
        "test/audio_sai_boxes.txt.gz": "#I 301000\n5 3:2\n#I 301002\n6 4:2\n",
    }
    server.files["dir_data.tar"] = tarred(texts), 1 << 30
    archive = download.Remote("dir_data.tar", server.url + "dir_data.tar")
    monkeypatch.setattr(youtube, "_ARCHIVE", archive)
    monkeypatch.setattr(youtube, "_MOST_ROWS", (2, 3))
    found = datasets.load("youtube")
    assert found.y_train.tolist() == [5, 6]  # the official test part
    assert found.y_test.tolist() == [31, 2, 1]
    assert found.X_train.shape == (2, 16)
    assert found.X_test.shape == (3, 16)
    assert {path.name for path in (cache / "youtube").iterdir()} == {"train", "test"}
    path = cache / "youtube" / "test" / "audio_sai_boxes.txt.gz"
    for text, message in [("32 1:1\n", "labels are not 1 to 31"), ("1 1:1\n", "has 1 rows where")]:
        path.write_bytes(gzip.compress(text.encode()))
        with pytest.raises(FileError, match=message):
            datasets.load("youtube")
    path.unlink()
    server.files["dir_data.tar"] = tarred({"train/other.txt.gz": ""}), 1 << 30
    with pytest.raises(FileError, match=r"does not hold test/audio_sai_boxes\.txt\.gz"):
        datasets.load("youtube")
    archive = cache / "youtube" / "dir_data.tar"
    assert archive.exists()  # it took long to come, and may be unpacked by hand
    archive.write_bytes(b"text" * 1000)
    with pytest.raises(FileError, match="not a whole tar archive"):
        datasets.load("youtube")
    assert not archive.exists()


def test_mnist_from_openml(cache, monkeypatch):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (5, 784))
    labels = np.array(["5", "0", "4", "1", "9"], dtype=object)
    monkeypatch.setattr(
        mnist_files,
        "fetch_openml",
        lambda *args, **rest: SimpleNamespace(data=images, target=labels),
    )
    monkeypatch.setattr(mnist_files, "_N_TRAIN", 3)
    with pytest.raises(FileError, match="does not hold the bytes of train-images-idx3-ubyte"):
        datasets.mnist()
    assert not any((cache / "mnist").iterdir())
    sums = {}
    for part, rows in (("train", slice(3)), ("t10k", slice(3, None))):
        n = len(labels[rows]).to_bytes(4, "big")
        size = (28).to_bytes(4, "big")
        pixels = b"\0\0\x08\x03" + n + size * 2 + images[rows].astype(np.uint8).tobytes()
        digits = b"\0\0\x08\x01" + n + bytes(int(label) for label in labels[rows])
        sums[f"{part}-images-idx3-ubyte.gz"] = hashlib.md5(pixels).hexdigest()
        sums[f"{part}-labels-idx1-ubyte.gz"] = hashlib.md5(digits).hexdigest()
    monkeypatch.setattr(mnist_files, "_SUMS", sums)
    found, digits = datasets.mnist()
    np.testing.assert_array_equal(found.reshape(5, -1), images)
    assert digits.tolist() == [5, 0, 4, 1, 9]
    monkeypatch.setattr(mnist_files, "fetch_openml", fail)
    np.testing.assert_array_equal(datasets.mnist()[0], found)  # from the cache
    assert datasets.load("mnist10k").X_train.shape == (2, 784)


def test_news_and_words_from_scikit_learn(cache, monkeypatch):
    texts = {
        "train": ["The gun of a gun", "the control, OF the gun", "", "Hong Kong and of"],
        "test": ["the gun again", "nothing known"],
    }

    def fetched(subset, remove):
        assert remove == ("headers",)
        target = np.arange(len(texts[subset]))
        return SimpleNamespace(data=texts[subset], target=target, target_names=["x", "y"])

    monkeypatch.setattr(news, "fetch_20newsgroups", fetched)
    found = datasets.load("20news")
    assert found.X_train.shape == (4, 3)  # gun, of, the: those of two documents
    assert found.X_test.toarray()[1].tolist() == [0, 0, 0]
    assert found.y_train.tolist() == [0, 1, 2, 3]
    counts, words = datasets.word_counts()
    row = dict(zip(words, counts.toarray().tolist(), strict=True))
    assert row["a"] == [1, 0, 0, 0]
    assert row["gun"] == [2, 1, 0, 0]
    assert row["of"] == [1, 1, 0, 1]
    monkeypatch.setattr(news, "fetch_20newsgroups", fail)
    assert datasets.load("20news").X_train.shape == (4, 3)
    assert datasets.word_counts()[1] == words


def test_cache_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("COREKERNELS_CACHE")
    monkeypatch.setattr(places.Path, "home", lambda: tmp_path)
    assert places.cache_folder() == tmp_path / ".cache" / "corekernels"
