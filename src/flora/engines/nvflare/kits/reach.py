"""Whether a party's kit reaches its aggregator, and where it stops: in one sentence, for who has to do something."""

import os
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Thread

from flora.engines.nvflare.consortium import Kit

SECONDS = 5.0  # for each step of the way
AGAIN = 60.0  # the same sentence comes at most so often
PROXIES = ("https_proxy", "HTTPS_PROXY", "grpc_proxy", "http_proxy")


def obstacle(kit: Kit, seconds: float = SECONDS) -> str:
    """Return what stands between a kit and its aggregator; empty where the aggregator takes its certificate."""
    host, port = kit.consortium.aggregator, kit.consortium.port
    where = f"{host} port {port}"
    try:
        socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        return f"cannot resolve {host} ({error.strerror or error}): is the name right, and known here?"
    try:
        line = socket.create_connection((host, port), timeout=seconds)
    except ConnectionRefusedError:
        return f"nobody listens at {where}: is the aggregator running there?"
    except OSError as error:
        return f"no way to {where} ({error.strerror or 'no answer'}): is a firewall between?"
    with line:
        return _handshake(kit, line, where)


def _handshake(kit: Kit, line: socket.socket, where: str) -> str:
    startup = kit.path / "startup"
    try:
        context = ssl.create_default_context(cafile=str(startup / "rootCA.pem"))
        context.load_cert_chain(startup / "client.crt", startup / "client.key")
    except OSError as error:  # also what OpenSSL says of a key that does not fit
        return f"{startup}: the certificates cannot be used ({error.strerror or error})"
    context.check_hostname = kit.consortium.scheme == "grpc"
    context.set_alpn_protocols(["h2"])
    try:
        with context.wrap_socket(line, server_hostname=kit.consortium.aggregator) as secured:
            secured.settimeout(2.0)
            if not secured.recv(1):  # with TLS 1.3 a refusal of our certificate comes here; gRPC's is a bare end
                raise ConnectionError("it hangs up")
    except ssl.SSLCertVerificationError as error:
        return f"who listens at {where} shows a certificate that is not the aggregator's ({error.verify_message})"
    except TimeoutError:
        return ""  # it waits for us to speak
    except (ssl.SSLError, ConnectionError) as error:
        reason = getattr(error, "reason", None) or error.strerror or error
        return f"{where} refuses this kit's certificate ({str(reason).lower().replace('_', ' ')})"
    except OSError as error:
        return f"no way to {where} ({error.strerror or 'no answer'})"
    return ""


@dataclass
class Reach:
    """Looks for the obstacle while a party is not connected, beside all else, and says it when it is news."""

    look: Callable[[], str]
    say: Callable[[str], None]
    every: float = 5.0
    _next: float = field(default_factory=lambda: time.monotonic() + 2.0)
    _said: str = ""
    _when: float = -AGAIN
    _found: list[str] = field(default_factory=list)
    _looking: bool = False

    def step(self, *, connected: bool) -> None:
        """To be called often: tell what was found, and look again."""
        now = time.monotonic()
        if connected:
            self._found.clear()
            self._said, self._next = "", now + self.every
            return
        while self._found:
            self._tell(self._found.pop(0), now)
        if now >= self._next and not self._looking and not any(os.environ.get(name) for name in PROXIES):
            self._looking, self._next = True, now + self.every
            Thread(target=self._look, name="flora-reach", daemon=True).start()

    def _look(self) -> None:
        try:
            self._found.append(self.look())
        finally:
            self._looking = False

    def _tell(self, text: str, now: float) -> None:
        if text and (text != self._said or now - self._when >= AGAIN):
            self._said, self._when = text, now
            self.say(f"not connected: {text}; trying on")


def busy_port(kit: Kit) -> str:
    """Return why the aggregator cannot listen; empty where it can."""
    host, port = listening_host(kit.consortium.aggregator), kit.consortium.port
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a line that has just ended is no hindrance
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError as error:
            return f"port {port} cannot be used ({error.strerror}): another program has it, or it is not allowed"
    return ""


def listening_host(aggregator: str) -> str:
    """Return the address that the aggregator listens on: all of them, or loopback where that is its name."""
    return "127.0.0.1" if aggregator.lower() == "localhost" or aggregator.startswith("127.") else ""
