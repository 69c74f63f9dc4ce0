"""A local server for OpenAI's `/v1/chat/completions`: real HTTP, with named modes for correct and faulty responses."""

import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from compaction.pipeline.summarisers.openai_chat import OpenAIChatSummariser

FAKE_CHAT_MODEL = "gpt-4o"
FAKE_CHAT_API_KEY = "sk-test"
#: Not sent: the pause after each byte.
DRIP = "Drip"

ChatAnswer = tuple[int, dict[str, Any], dict[str, str]]
ChatMode = Callable[["ChatServer", dict[str, Any]], ChatAnswer]


def completion(content: Any, finish_reason: str = "stop") -> ChatAnswer:
    """Return a chat completion with this content."""
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return (
        200,
        {"id": "c1", "object": "chat.completion", "created": 1, "model": FAKE_CHAT_MODEL, "choices": [choice]},
        {},
    )


def lines_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the numbered lines that the summariser sent."""
    return [json.loads(line) for line in body["messages"][-1]["content"].split("\n") if line]


def is_journal(body: dict[str, Any]) -> bool:
    return '"entries"' in body["messages"][0]["content"]


def _list_name(body: dict[str, Any]) -> str:
    return "entries" if is_journal(body) else "statements"


def answering(server: "ChatServer", body: dict[str, Any]) -> ChatAnswer:
    """Return what a model could answer: some lines, shortened, with their numbers."""
    lines = [line for line in lines_of(body) if line.get("text")]
    if is_journal(body):
        entries = [
            {
                "text": f"{line.get('name', 'user')} said: {' '.join(line['text'].split()[:16])}",
                "kind": "fact",
                "messages": [line["n"]],
            }
            for line in lines
            if line.get("role") == "user"
        ]
        return completion(json.dumps({"entries": entries[: server.items_max]}))
    asked = re.search(r"at most (\d+) tokens", body["messages"][0]["content"])
    words_left = int(asked.group(1)) // 2 if asked else 40
    step = max(len(lines) // server.items_max, 1)
    statements = []
    for line in lines[::step][: server.items_max]:
        words = line["text"].split()[: min(10, words_left)]
        words_left -= len(words)
        if words:
            statements.append({"text": " ".join(words), "messages": [line["n"]]})
    return completion(json.dumps({"statements": statements}))


def failing_chat(status: int, **headers: str) -> ChatMode:
    """Respond with this status."""

    def answer(_server: "ChatServer", _body: dict[str, Any]) -> ChatAnswer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return status, {"error": {"message": "no: my secret", "type": "error", "code": None}}, named

    return answer


def slow_chat(seconds: float) -> ChatMode:
    """Respond correctly, but late."""

    def answer(server: "ChatServer", body: dict[str, Any]) -> ChatAnswer:
        time.sleep(seconds)
        return answering(server, body)

    return answer


def dripping(seconds: float) -> ChatMode:
    """Respond correctly, one byte at a time, with a pause after each."""

    def answer(server: "ChatServer", body: dict[str, Any]) -> ChatAnswer:
        status, content, headers = answering(server, body)
        return status, content, {**headers, DRIP: str(seconds)}

    return answer


def saying(content: Any) -> ChatMode:
    """Respond with this content to every request."""
    return lambda _server, _body: completion(content)


def garbage(_server: "ChatServer", _body: dict[str, Any]) -> ChatAnswer:
    return completion("Sure! Here is what they talked about: {statements")


def too_long(_server: "ChatServer", body: dict[str, Any]) -> ChatAnswer:
    """Return a text that is longer than the input."""
    items = [
        {
            "text": f"{line.get('text', '')} And again: {line.get('text', '')}"[:3_900],
            "kind": "fact",
            "messages": [line["n"]],
        }
        for line in lines_of(body)
    ]
    return completion(json.dumps({_list_name(body): items}))


def bad_citations(_server: "ChatServer", body: dict[str, Any]) -> ChatAnswer:
    """Cite a message that was not sent."""
    item = {"text": "Alex moved.", "kind": "fact", "messages": [len(lines_of(body)) + 7]}
    return completion(json.dumps({_list_name(body): [item]}))


def without_schemas(server: "ChatServer", body: dict[str, Any]) -> ChatAnswer:
    """An endpoint that does not support JSON schemas."""
    if body["response_format"]["type"] == "json_schema":
        return failing_chat(400)(server, body)
    return answering(server, body)


@dataclass
class ChatServer:
    """Responds in `mode`, or first in each of `modes` once; records every request."""

    mode: ChatMode = answering
    modes: deque[ChatMode] = field(default_factory=deque)
    requests: list[dict[str, Any]] = field(default_factory=list)
    clients: list[OpenAIChatSummariser] = field(default_factory=list)
    items_max: int = 6

    def __post_init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, authorization: str, body: dict[str, Any]) -> ChatAnswer:
        if path != "/v1/chat/completions":
            return failing_chat(404)(self, body)
        if authorization != f"Bearer {FAKE_CHAT_API_KEY}":
            return failing_chat(401)(self, body)
        self.requests.append(body)
        mode = self.modes.popleft() if self.modes else self.mode
        return mode(self, body)


def _handler_of(server: ChatServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer, headers = server.answer(self.path, self.headers.get("Authorization", ""), body)
            pause = float(headers.pop(DRIP, 0))
            content = json.dumps(answer).encode()
            try:
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                for each in [bytes([byte]) for byte in content] if pause else [content]:
                    self.wfile.write(each)
                    self.wfile.flush()
                    time.sleep(pause)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, *arguments: object) -> None:
            """Log nothing."""

    return Handler


@contextmanager
def running_chat_server() -> Iterator[ChatServer]:
    """A server for the duration of a test."""
    server = ChatServer()
    try:
        yield server
    finally:
        for client in server.clients:
            client.close()
        server.stop()
