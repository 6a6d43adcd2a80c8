"""A line that is slow: a proxy on this machine that hands on each byte so much later, and drops none."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread

AT_ONCE = 2**20  # bytes that are read together
ON_THE_WAY = 4096  # pieces


@contextmanager
def delayed(port: int, seconds: float) -> Iterator[int]:
    """Give a port of this machine; what goes through it to ``port``, and what comes back, takes so long each way."""
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(_Line(port, seconds).carry, "127.0.0.1", 0, limit=AT_ONCE))
    thread = Thread(target=loop.run_forever, name="flora-delay", daemon=True)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(_end(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end(server: asyncio.Server) -> None:
    server.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.sleep(0.01)  # a line that is closed ends a turn of the loop later


class _Line:
    """Carries what comes in to a port."""

    def __init__(self, port: int, seconds: float) -> None:
        self.port, self.seconds = port, seconds

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection, both ways, to its end."""
        with suppress(OSError, asyncio.CancelledError):
            there, back = await asyncio.open_connection("127.0.0.1", self.port, limit=AT_ONCE)
            try:
                await asyncio.gather(self._one_way(reader, back), self._one_way(there, writer))
            finally:
                back.close()
        writer.close()

    async def _one_way(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(ON_THE_WAY)
        last = asyncio.ensure_future(self._hand_on(pieces, writer))
        with suppress(OSError):
            while data := await reader.read(AT_ONCE):
                await pieces.put((asyncio.get_running_loop().time() + self.seconds, data))
        await pieces.put((0.0, b""))
        await last

    async def _hand_on(self, pieces: "asyncio.Queue[tuple[float, bytes]]", writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while (piece := await pieces.get())[1]:
                await asyncio.sleep(piece[0] - asyncio.get_running_loop().time())
                writer.write(piece[1])
                await writer.drain()
        writer.close()
