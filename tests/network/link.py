"""A party's way to the aggregator that can be lost, slow or damaged: an HTTP proxy, which gRPC dials through."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

PIECE = 65_536  # bytes
LATE = 0.25  # seconds that a slow link adds to each piece, in each direction


@dataclass
class Link:
    """Passes a party's bytes on, as they are until it is told otherwise."""

    listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    lines: set[socket.socket] = field(default_factory=set)
    opened: int = 0  # lines, ever
    lost: bool = False
    slow: bool = False
    _flows: threading.Event = field(default_factory=threading.Event)
    _damage: threading.Event = field(default_factory=threading.Event)

    @property
    def environment(self) -> Mapping[str, str]:
        """What lets gRPC dial through it."""
        address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        return {"https_proxy": address, "http_proxy": address, "no_proxy": "", "NO_PROXY": ""}

    def start(self) -> "Link":
        """Take callers, until closed."""
        self._flows.set()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def close(self) -> None:
        """Take nobody any more."""
        self.cut()
        self.listener.close()

    def cut(self) -> None:
        """Break all lines that there are."""
        for line in list(self.lines):
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def while_lost(self) -> Iterator[None]:
        """Break all lines, and take no new one inside the block."""
        self.lost = True
        self.cut()
        yield
        self.lost = False

    @contextmanager
    def while_held(self) -> Iterator[None]:
        """Let nothing arrive inside the block; all of it arrives after that."""
        self._flows.clear()
        yield
        self._flows.set()

    @contextmanager
    def while_slow(self) -> Iterator[None]:
        """Let everything arrive late inside the block."""
        self.slow = True
        yield
        self.slow = False

    def damage(self) -> None:
        """Change one bit of the next bytes that pass."""
        self._damage.set()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with near, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head and len(head) < PIECE:
                more = near.recv(PIECE)
                if not more:
                    return
                head += more
            if self.lost:
                return
            host, port = head.split()[1].decode().rsplit(":", 1)
            with socket.create_connection((host, int(port)), timeout=10) as far:
                far.settimeout(None)
                near.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                self.opened += 1
                self.lines |= {near, far}
                back = threading.Thread(target=self._pass_on, args=(far, near), daemon=True)
                back.start()
                self._pass_on(near, far)
                back.join()
                self.lines -= {near, far}

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(PIECE):
                self._flows.wait()
                if self.slow:
                    time.sleep(LATE)
                if self._damage.is_set():
                    self._damage.clear()
                    data = data[:-1] + bytes([data[-1] ^ 1])
                target.sendall(data)
        for line in (source, target):
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)


def for_seconds(block: Callable[[], contextlib.AbstractContextManager[None]], seconds: float) -> None:
    """Let a block last for some seconds."""
    with block():
        time.sleep(seconds)
