"""A transfer over aioquic, which reads the clock of the system, by two programs.

`aioquic_transfer.py send BYTES` and `aioquic_transfer.py receive`, with the variables of the
environment that Fairhaul sets. A certificate and its key are beside it.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
from pathlib import Path

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

HERE = Path(__file__).parent
PORT = int(os.environ["FAIRHAUL_PORT"])


async def send(size: int) -> None:
    """Send this many bytes on one stream, and wait until the receiver ends its own."""
    configuration = QuicConfiguration(alpn_protocols=["fairhaul"], verify_mode=ssl.CERT_NONE)
    # `aioquic.asyncio.connect` binds an address of IPv6, which a host of Fairhaul does not have.
    _, protocol = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: QuicConnectionProtocol(QuicConnection(configuration=configuration)),
        local_addr=(os.environ["FAIRHAUL_ADDRESS"], 0),
    )
    protocol.connect((os.environ["FAIRHAUL_PEER"], PORT))
    reader, writer = await protocol.create_stream()
    writer.write(bytes(size))
    writer.write_eof()
    await reader.read()
    protocol.close()
    await protocol.wait_closed()


async def receive() -> None:
    """Read what the streams bring, and end each that is complete."""
    configuration = QuicConfiguration(alpn_protocols=["fairhaul"], is_client=False)
    configuration.load_cert_chain(HERE / "certificate.pem", HERE / "key.pem")

    async def drain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.write_eof()

    tasks = set()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(drain(reader, writer)))

    await serve(
        os.environ["FAIRHAUL_ADDRESS"], PORT, configuration=configuration, stream_handler=begin
    )
    await asyncio.Event().wait()


def main() -> None:
    """Run the end that the arguments name."""
    match sys.argv[1:]:
        case ["send", size]:
            asyncio.run(send(int(size)))
        case ["receive"]:
            asyncio.run(receive())
        case _:
            sys.exit("wanted: send BYTES, or receive")


if __name__ == "__main__":
    main()
