"""Stub wheels, and a server on 127.0.0.1 that offers them as package indexes and remembers what it was asked for."""

from __future__ import annotations

import contextlib
import html
import io
import threading
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, unquote

TORCH = """\
import json, os, types
__version__ = {version!r}
version = types.SimpleNamespace(cuda={cuda!r}, hip={hip!r})
_gpus = [types.SimpleNamespace(**gpu) for gpu in json.loads(os.environ.get("{gpus}", "[]"))]
cuda = types.SimpleNamespace(
    is_available=lambda: bool(_gpus), device_count=lambda: len(_gpus), get_device_properties=lambda index: _gpus[index]
)
"""
GPUS = "QRITA_STUB_GPUS"
"""The variable, a JSON list, that tells the stub torch the properties of its GPUs."""
PYTEST = 'import json, sys\nprint("stub pytest", json.dumps(sys.argv[1:]))\n'
HATCHLING = """\
import pathlib, shutil
def get_requires_for_build_wheel(config_settings=None):
    return []
def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    (wheel,) = pathlib.Path(__file__).parent.glob("*.whl")
    shutil.copy(wheel, wheel_directory)
    return wheel.name
"""
TOMLI = "from pip._vendor.tomli import TOMLDecodeError, load, loads\n"
"""What ci/ needs before Python 3.11, from the pip of the environment."""


@dataclass(frozen=True)
class Wheel:
    """A distribution of pure Python: path to content, and what it requires as PEP 508 strings."""

    name: str
    version: str
    requires: tuple[str, ...] = ()
    files: Mapping[str, str | bytes] = field(default_factory=dict)

    @property
    def filename(self) -> str:
        return f"{self.stem}-py3-none-any.whl"

    @property
    def stem(self) -> str:
        """Name and version as the files of a distribution spell them."""
        return f"{self.name.replace('-', '_')}-{self.version}"

    def content(self) -> bytes:
        info = f"{self.stem}.dist-info"
        requires = "".join(f"Requires-Dist: {requirement}\n" for requirement in self.requires)
        files = {
            **self.files,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {self.name}\nVersion: {self.version}\n{requires}",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: stubs\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for path, content in files.items():
                archive.writestr(path, content)
        return buffer.getvalue()


def plain(name: str, version: str) -> Wheel:
    """A distribution that owns one package: pytest's can be run, tomli's reads TOML, the others are empty."""
    package = name.replace("-", "_")
    files = {f"{package}/__init__.py": TOMLI if name == "tomli" else ""}
    return Wheel(name, version, files=files | ({"pytest/__main__.py": PYTEST} if name == "pytest" else {}))


def triton(name: str, version: str) -> Wheel:
    """One of the distributions that all own the package triton."""
    return Wheel(name, version, files={"triton/__init__.py": f"__version__ = {version!r}\n"})


def torch(version: str, requires: tuple[str, ...]) -> Wheel:
    """A build as its label says, with the GPUs that the variable GPUS describes."""
    label = version.partition("+")[2]
    source = TORCH.format(
        version=version,
        cuda=label.removeprefix("cu") if label.startswith("cu") else None,
        hip=label.removeprefix("rocm") if label.startswith("rocm") else None,
        gpus=GPUS,
    )
    return Wheel("torch", version, requires, {"torch/__init__.py": source})


def hatchling(version: str, built: Wheel) -> Wheel:
    """A build backend that always has the same wheel at hand."""
    return Wheel(
        "hatchling", version, files={"hatchling/build.py": HATCHLING, f"hatchling/{built.filename}": built.content()}
    )


@dataclass(frozen=True)
class Served:
    """A server: its address without a slash, and every path that was asked of it, in order."""

    url: str
    requests: list[str]


def path_of(folder: str, wheel: Wheel) -> str:
    """Where an index has a wheel."""
    return f"{folder}/{wheel.name}/{wheel.filename}"


@contextlib.contextmanager
def serving(indexes: Mapping[str, list[Wheel]]) -> Iterator[Served]:
    """Serve indexes (PEP 503): folder, as /tools/simple, to its wheels. A folder itself is a page for --find-links."""
    wheels = {path_of(folder, wheel): wheel for folder, content in indexes.items() for wheel in content}
    pages: dict[str, str] = {}
    for path in wheels:
        link = f'<a href="{quote(path)}">{html.escape(path.rpartition("/")[2])}</a>\n'
        for page in (f"{path.rpartition('/')[0]}/", f"{path.rsplit('/', 2)[0]}/"):
            pages[page] = pages.get(page, "") + link
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = unquote(self.path)
            requests.append(path)
            body = wheels[path].content() if path in wheels else pages.get(path, "").encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "application/zip" if path in wheels else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield Served(f"http://127.0.0.1:{server.server_port}", requests)
        finally:
            server.shutdown()
