"""A page in headless Chromium, through the DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tornado.httpclient import AsyncHTTPClient
from tornado.websocket import WebSocketClientConnection, websocket_connect

# Generous: it detects a hang.
HANG_S = 120
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Page:
    """An open page; all calls wait for their result."""

    def __init__(self, width: int, dark: bool = False) -> None:
        """Start a browser with an empty page of this width."""
        self.errors: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._number = 0
        args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
        self._process = subprocess.Popen(
            [str(CHROMIUM), *args, f"--user-data-dir={self._folder.name}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._socket = self._wait(self._connect())
        for domain in ("Page", "Runtime", "Log", "Accessibility"):
            self.call(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def close(self) -> None:
        """End the browser."""
        self._socket.close()
        self._process.terminate()
        self._process.wait(HANG_S)
        self._loop.run_until_complete(asyncio.sleep(0.05))
        self._loop.close()
        self._folder.cleanup()

    def open(self, file: Path, fragment: str = "") -> None:
        """Load a file from disk and wait until its runs are done."""
        self.call("Page.navigate", url=file.resolve().as_uri() + fragment)
        self.until_ready()

    def until_ready(self) -> None:
        """Wait until all runs of the page are done."""
        self.until("document.body && document.body.dataset.state === 'ready'")

    def until(self, condition: str) -> None:
        """Wait until an expression is true."""

        async def wait() -> None:
            while not await self._evaluate(condition):
                await asyncio.sleep(0.02)

        self._wait(wait())

    def evaluate(self, expression: str) -> Any:
        """Give the value of an expression."""
        return self._wait(self._evaluate(expression))

    def press(self, key: str, text: str = "") -> None:
        """Press and release a key."""
        codes = {"Tab": 9, "Enter": 13, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39}
        keys = {"key": key, "code": key, "windowsVirtualKeyCode": codes.get(key, 0)}
        typed = {"text": text} if text else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **keys, **typed)
        self.call("Input.dispatchKeyEvent", type="keyUp", **keys)

    def screenshot(self) -> bytes:
        """Give a PNG of the visible part."""
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol."""
        return self._wait(self._call(method, parameters))

    def _wait(self, work: Any) -> Any:
        return self._loop.run_until_complete(asyncio.wait_for(work, HANG_S))

    async def _connect(self) -> WebSocketClientConnection:
        port_file = Path(self._folder.name) / "DevToolsActivePort"
        while not (port_file.exists() and port_file.read_text(encoding="utf-8").count("\n")):
            await asyncio.sleep(0.05)
        port = port_file.read_text(encoding="utf-8").splitlines()[0]
        answer = await AsyncHTTPClient().fetch(f"http://127.0.0.1:{port}/json")
        target = next(it for it in json.loads(answer.body) if it["type"] == "page")
        return await websocket_connect(target["webSocketDebuggerUrl"], max_message_size=1 << 26)

    async def _evaluate(self, expression: str) -> Any:
        asked = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        answer = await self._call("Runtime.evaluate", asked)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    async def _call(self, method: str, parameters: dict[str, Any]) -> Any:
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        await self._socket.write_message(json.dumps(message))
        while True:
            text = await self._socket.read_message()
            assert text is not None, "the browser has ended"
            answer = json.loads(text)
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        """Keep what the page reports as an error."""
        reports: dict[str, Callable[[Any], str | None]] = {
            "Runtime.exceptionThrown": lambda it: str(it["exceptionDetails"]),
            "Runtime.consoleAPICalled": lambda it: str(it) if it["type"] == "error" else None,
            "Log.entryAdded": lambda it: str(it) if it["entry"]["level"] == "error" else None,
        }
        report = reports.get(event["method"], lambda _: None)(event["params"])
        if report is not None:
            self.errors.append(report)


def tree(page: Page) -> list[tuple[str, str]]:
    """Give the role and the name of all that a screen reader finds, in its order."""
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    return [
        (node["role"]["value"], node.get("name", {}).get("value", "").strip())
        for node in nodes
        if not node["ignored"]
    ]


def choose(page: Page, lesson: str) -> None:
    """Choose a lesson, and wait until its runs are done."""
    page.evaluate(
        f"(() => {{ const list = document.getElementById('lessons'); list.value = '{lesson}';"
        "document.body.dataset.state = 'chosen'; list.dispatchEvent(new Event('change')); })()"
    )
    page.until_ready()
