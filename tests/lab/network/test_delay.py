"""The slow line: every byte arrives, in order, and late."""

import socket
import time
from threading import Thread

from flora_lab.network.delay import delayed


def echo(server: socket.socket) -> None:
    line, _ = server.accept()
    with line:
        while data := line.recv(2**16):
            line.sendall(data)


def test_what_is_sent_comes_back_whole_and_no_sooner_than_a_round_trip() -> None:
    data = bytes(range(256)) * 20_000
    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=echo, args=(server,), daemon=True).start()
        with delayed(server.getsockname()[1], 0.05) as port, socket.create_connection(("127.0.0.1", port)) as line:
            began, received = time.monotonic(), b""
            Thread(target=line.sendall, args=(data,), daemon=True).start()
            while len(received) < len(data):
                received += line.recv(2**20)
            assert time.monotonic() - began >= 0.1
    assert received == data


def test_it_can_be_ended_while_somebody_is_connected() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        with delayed(server.getsockname()[1], 0.0) as port:
            line = socket.create_connection(("127.0.0.1", port))
            there, _ = server.accept()
        with line, there:
            assert line.recv(1) == b""


def test_where_nobody_listens_the_line_is_closed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    with delayed(free, 0.0) as port, socket.create_connection(("127.0.0.1", port)) as line:
        assert line.recv(1) == b""
