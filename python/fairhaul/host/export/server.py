"""Metrics over HTTP, from a process of its own without rights.

`fairhaul` may run as root or with capabilities, because it looks into all network namespaces. What
answers requests needs no right at all, so it is a child process that has given up all; it receives
the events over a socket and ends with its parent.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn
from wsgiref.simple_server import WSGIRequestHandler, make_server

from fairhaul._core import RunError
from fairhaul.host.export import rights
from fairhaul.host.export.address import HttpAddress, Update
from fairhaul.host.export.state import Exported, collector
from fairhaul.host.process import Line

if TYPE_CHECKING:
    from wsgiref.simple_server import WSGIServer

READY = "ready\n"


@contextmanager
def serving(address: HttpAddress, most_flows: int) -> Iterator[Update]:
    """Serve metrics at an address, and give a function that takes events.

    Raises:
        OSError: the address cannot be used.
        RunError: the process that serves has ended, or cannot give up its rights.
    """
    state = Exported(most_flows=most_flows)
    server = _server(address, state)
    ours, theirs = socket.socketpair()
    if (process := os.fork()) == 0:
        ours.close()
        _serve(server, theirs, state)
    theirs.close()
    server.server_close()
    with ours, ours.makefile("rw") as lines:
        if (answer := lines.readline()) != READY:
            os.waitpid(process, 0)
            raise RunError(f"the metrics cannot be served: {answer.strip() or 'the server ended'}")

        def update(line: Line) -> None:
            try:
                lines.write(json.dumps(line) + "\n")
                lines.flush()
            except BrokenPipeError:
                raise RunError("the process that serves the metrics has ended") from None

        try:
            yield update
        finally:
            with suppress(OSError):
                ours.shutdown(socket.SHUT_RDWR)
            os.waitpid(process, 0)


def _server(address: HttpAddress, state: Exported) -> WSGIServer:
    """Bind to the address; nothing is served yet."""
    from prometheus_client import CollectorRegistry, make_wsgi_app
    from prometheus_client.exposition import ThreadingWSGIServer

    class Server(ThreadingWSGIServer):
        """A server for the family of the address."""

        address_family = socket.AF_INET6 if ":" in address.host else socket.AF_INET

        def server_bind(self) -> None:
            """Bind without asking a name server for the name of the address."""
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.socket.bind((address.host, address.port))
            self.server_name, self.server_port = address.host, address.port
            self.setup_environ()

    class Handler(WSGIRequestHandler):
        """A handler that logs nothing, and closes connections that send no request."""

        timeout = 30

        def log_message(self, format: str, *_: object) -> None:  # noqa: A002
            """Log nothing."""

    registry = CollectorRegistry()
    registry.register(collector(state))
    app = make_wsgi_app(registry)
    try:
        return make_server(address.host, address.port, app, Server, Handler)
    except OSError as error:
        error.filename = f"{address.host}:{address.port}"
        raise


def _serve(server: WSGIServer, lines: socket.socket, state: Exported) -> NoReturn:
    """Give up all rights, and serve until the parent closes the socket; this is the child."""
    status = 1
    try:
        # The keyboard's signal is for the parent, whose end is the end of this process.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        with lines.makefile("rw") as events:
            try:
                rights.give_up()
            except OSError as error:
                events.write(
                    f"the rights cannot be given up ({error.strerror}); root needs CAP_SETUID and "
                    "CAP_SETGID for it\n"
                )
                events.flush()
                os._exit(status)
            events.write(READY)
            events.flush()
            threading.Thread(target=server.serve_forever, daemon=True).start()
            for line in events:
                state.update(json.loads(line))
        status = 0
    finally:
        os._exit(status)
