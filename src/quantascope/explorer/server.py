"""Serves an explorer over HTTP: read-only, on this machine, and not to other web pages.

host     Only requests for an address of this server are answered, which prevents DNS rebinding.
origin   Pages of other origins are refused.
token    A server that other machines can reach requires one.
bounds   Addresses, headers, time for a request, the number of requests at once, and the size of an answer.

The standard library parses HTTP: a handful of addresses, one user, and nothing to install.
"""

import gzip
import ipaddress
import json
import secrets
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

from quantascope.explorer.page_file import read_page, security_policy
from quantascope.explorer.request import Request, UnknownAddress
from quantascope.explorer.values import finite
from quantascope.runs.errors import InvalidConfig, QuantascopeError

LOCAL = "127.0.0.1"
LARGEST = 1_000_000
"""Largest number of bytes of an answer."""
MOST_AT_ONCE = 32
TIME_LIMIT = 10.0
"""Time limit for a request to arrive, in seconds."""
_NAMES = frozenset(("127.0.0.1", "localhost", "::1"))


@dataclass(frozen=True)
class Reply:
    """A response: a status, a type, and a body."""

    status: HTTPStatus
    body: bytes
    kind: str = "application/json; charset=utf-8"

    @classmethod
    def of(cls, value: Any, status: HTTPStatus = HTTPStatus.OK) -> "Reply":
        """A response with data for the page."""
        return cls(status, json.dumps(finite(value), allow_nan=False, separators=(",", ":")).encode())

    @classmethod
    def refusal(cls, status: HTTPStatus, why: str) -> "Reply":
        """A response with a one-line error."""
        return cls.of({"error": why}, status)


@runtime_checkable
class Answering(Protocol):
    """Protocol of an object that answers data requests: an `Explorer`, or one that is being opened."""

    def answer(self, asked: Request) -> Any:
        """The answer to a request."""
        ...


class ExplorerServer(ThreadingHTTPServer):
    """Listens at an address of this machine; requires `token` if other machines can reach the address."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, explorer: Answering, *, host: str = LOCAL, port: int = 0) -> None:
        self.explorer = explorer
        self.page = read_page()
        self.policy = security_policy(self.page, connect="'self'")
        self.token = None if _is_local(host) else secrets.token_urlsafe(24)
        self._slots = threading.BoundedSemaphore(MOST_AT_ONCE)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InvalidConfig(
                f"cannot listen at {host}:{port} ({reason}); give another --port, or none for a free one"
            ) from error

    @cached_property
    def address(self) -> str:
        """The URL for a browser."""
        host, port = self.server_address[:2]
        shown = f"[{host}]" if ":" in str(host) else str(host)
        if shown in ("0.0.0.0", "[::]"):
            shown = socket.gethostname()
        return f"http://{shown}:{port}/" + (f"?token={self.token}" if self.token else "")

    def serve(self, meanwhile: Callable[[], None]) -> None:
        """Serve until this thread is interrupted; runs `meanwhile` in it, and an error there stops the server."""
        answering = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        answering.start()
        try:
            meanwhile()
            while answering.is_alive():  # polars has system calls go on after Ctrl-C: only between two is it seen
                answering.join(0.5)
        finally:
            self.shutdown()

    def is_own_name(self, name: str | None) -> bool:
        """Whether the Host of a request names this server.

        Another site's name server cannot take over a numeric address or this machine's own name.
        """
        if not name:
            return False
        try:
            parts = urlsplit(f"//{name}")
            host, port = parts.hostname or "", parts.port or 80
        except ValueError:
            return False
        if port != self.server_address[1] or parts.username is not None or parts.path:
            return False
        if self.token is None:
            return host in _NAMES
        return host in _NAMES or host == socket.gethostname().lower() or _is_numeric(host)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a separate thread; connections beyond the limit are closed."""
        if not self._slots.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._slots.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Release the slot when a connection ends."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors of a browser that disconnects."""
        if not isinstance(sys.exception(), OSError):
            traceback.print_exc()


class _Handler(BaseHTTPRequestHandler):
    """One connection of a browser."""

    server: ExplorerServer  # pyright: ignore[reportIncompatibleVariableOverride]
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "quantascope", ""
    timeout = TIME_LIMIT

    def do_GET(self) -> None:
        """Answer with data or the page."""
        if "Content-Length" in self.headers or "Transfer-Encoding" in self.headers:
            self.close_connection = True  # the rest cannot be parsed as a request
        self._send(self._reply())

    do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Do not log requests."""

    def _reply(self) -> Reply:
        """The response to this request; errors become responses too."""
        if not self.server.is_own_name(self.headers.get("Host")) or len(self.headers.get_all("Host", [])) != 1:
            return Reply.refusal(HTTPStatus.FORBIDDEN, "this server does not have that address")
        if not self._is_of_own_page():
            return Reply.refusal(HTTPStatus.FORBIDDEN, "requests from other sites are not allowed")
        if urlsplit(self.path).path == "/":
            return Reply(HTTPStatus.OK, self.server.page.encode(), "text/html; charset=utf-8")
        if not self._is_let_in():
            return Reply.refusal(HTTPStatus.UNAUTHORIZED, "open the address that the command printed")
        try:
            return Reply.of(self.server.explorer.answer(Request.of(self.path)))
        except UnknownAddress as error:
            return Reply.refusal(HTTPStatus.NOT_FOUND, str(error))
        except QuantascopeError as error:
            return Reply.refusal(HTTPStatus.BAD_REQUEST, str(error))
        except Exception as error:
            traceback.print_exc()
            why = f"an error of quantascope ({type(error).__name__}); the terminal shows more"
            return Reply.refusal(HTTPStatus.INTERNAL_SERVER_ERROR, why)

    def _is_of_own_page(self) -> bool:
        origin, site = self.headers.get("Origin"), self.headers.get("Sec-Fetch-Site")
        if origin is not None and origin.lower() != f"http://{self.headers['Host']}".lower():
            return False
        return site in (None, "same-origin", "none") or urlsplit(self.path).path == "/"

    def _is_let_in(self) -> bool:
        if self.server.token is None:
            return True
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        return secrets.compare_digest(given.encode(), self.server.token.encode())

    def _send(self, reply: Reply) -> None:
        body, packed = reply.body, "gzip" in self.headers.get("Accept-Encoding", "")
        if packed:
            body = gzip.compress(body, compresslevel=5, mtime=0)
        if len(body) > LARGEST and reply.status == HTTPStatus.OK:
            why = f"the answer takes {len(body):,} bytes, and at most {LARGEST:,} are sent; request less at once"
            self._send(Reply.refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, why))
            return
        self.send_response(reply.status)
        for name, value in self._headers(reply.kind, len(body), packed).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _headers(self, kind: str, length: int, packed: bool) -> dict[str, str]:
        return {
            "Content-Type": kind,
            "Content-Length": str(length),
            **({"Content-Encoding": "gzip"} if packed else {}),
            "Cache-Control": "no-store",
            "Content-Security-Policy": self.server.policy,
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "Vary": "Accept-Encoding",
            "X-Content-Type-Options": "nosniff",
        }


def _is_local(host: str) -> bool:
    return host == "localhost" or (_is_numeric(host) and ipaddress.ip_address(host).is_loopback)


def _is_numeric(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
