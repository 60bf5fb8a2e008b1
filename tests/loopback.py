"""Two OpenAI-compatible servers on loopback for tests: a scripted one, and a real one with a tiny random model."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

os.environ["NO_PROXY"] = os.environ["no_proxy"] = (
    "127.0.0.1,localhost"  # these servers are reached directly, whatever proxy is set
)


@dataclass(frozen=True)
class Say:
    """A finished reply. `status` other than 200 sends `text` as an error message; `seconds` pass first."""

    text: str = "{}"
    status: int = 200
    headers: dict = field(default_factory=dict)
    finish: str = "stop"
    usage: tuple[int, int] | None = (10, 5)
    seconds: float = 0.0

    def body(self) -> bytes:
        if self.status != 200:
            return json.dumps({"error": {"message": self.text, "type": "scripted"}}).encode()
        counts = self.usage and {
            "prompt_tokens": self.usage[0],
            "completion_tokens": self.usage[1],
            "total_tokens": sum(self.usage),
        }
        choice = {"index": 0, "message": {"role": "assistant", "content": self.text}, "finish_reason": self.finish}
        return json.dumps(
            {
                "id": "c",
                "object": "chat.completion",
                "created": 1,
                "model": "scripted",
                "choices": [choice],
                "usage": counts,
            }
        ).encode()


@dataclass(frozen=True)
class Drop:
    """The connection is cut after so many bytes of the body."""

    after: int = 0


@dataclass(frozen=True)
class Dribble:
    """One byte of the body at a time, with a pause before each."""

    pause_s: float = 0.05


@dataclass(frozen=True)
class Raw:
    """Any bytes as a 200 reply."""

    body: bytes


Step = Say | Drop | Dribble | Raw


class Scripted:
    """A server that plays steps in order (or asks a function for each); it keeps every request it got."""

    def __init__(self, steps: Iterable[Step] | Callable[[dict], Step], models: tuple[str, ...] = ("scripted",)) -> None:
        self.steps = steps if callable(steps) else list(steps)
        self.models, self.requests, self.keys, self.together, self.most = models, [], [], 0, 0
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._server.handle_error = lambda request, address: None  # a client that was killed is part of the script
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def __enter__(self) -> "Scripted":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def step(self, request: dict) -> Step:
        with self._lock:
            self.requests.append(request)
            if callable(self.steps):
                return self.steps(request)
            return self.steps.pop(0) if self.steps else Say("nothing left to say", 500)

    @contextmanager
    def busy(self):
        """Counts how many requests are answered at the same time."""
        with self._lock:
            self.together += 1
            self.most = max(self.most, self.together)
        try:
            yield
        finally:
            with self._lock:
                self.together -= 1

    def _handler(server) -> type:  # noqa: N805 (the handler's own `self` is the request)
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """Silence."""

            def do_GET(self) -> None:
                self.reply(
                    200,
                    json.dumps(
                        {
                            "object": "list",
                            "data": [
                                {"id": name, "object": "model", "created": 1, "owned_by": "test"}
                                for name in server.models
                            ],
                        }
                    ).encode(),
                )

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                server.keys.append(self.headers.get("authorization", ""))
                with server.busy():
                    try:
                        self.play(server.step(request))
                    except (BrokenPipeError, ConnectionResetError):
                        self.close_connection = True

            def play(self, step: Step) -> None:
                match step:
                    case Say():
                        time.sleep(step.seconds)
                        self.reply(step.status, step.body(), step.headers)
                    case Raw():
                        self.reply(200, step.body)
                    case Drop():
                        self.start(200, len(Say().body()), {})
                        self.wfile.write(Say().body()[: step.after])
                        self.wfile.flush()
                        self.close_connection = True
                    case Dribble():
                        self.start(200, len(Say().body()), {})
                        for byte in Say().body():
                            time.sleep(step.pause_s)
                            self.wfile.write(bytes([byte]))
                            self.wfile.flush()

            def start(self, status: int, length: int, headers: dict) -> None:
                self.send_response(status)
                for name, value in {
                    "content-type": "application/json",
                    "content-length": str(length),
                    **headers,
                }.items():
                    self.send_header(name, value)
                self.end_headers()

            def reply(self, status: int, body: bytes, headers: dict | None = None) -> None:
                self.start(status, len(body), headers or {})
                self.wfile.write(body)

        return Handler


def write_tiny_model(path: Path) -> None:
    """A random Llama of one layer over bytes (0.1 MB): its words mean nothing, the server around it is real."""
    import gguf
    import numpy as np

    rng, width, hidden, vocabulary = np.random.default_rng(0), 32, 64, 259
    out = gguf.GGUFWriter(str(path), "llama")
    for name, value in {
        "context_length": 16384,
        "embedding_length": width,
        "block_count": 1,
        "feed_forward_length": hidden,
        "head_count": 2,
        "head_count_kv": 2,
        "layer_norm_rms_eps": 1e-5,
        "rope_dimension_count": 16,
        "vocab_size": vocabulary,
        "tokenizer_model": "llama",
        "token_scores": [0.0] * vocabulary,
        "token_types": [2, 3, 3] + [6] * 256,
        "token_list": [b"<unk>", b"<s>", b"</s>", *(f"<0x{b:02X}>".encode() for b in range(256))],
        "bos_token_id": 1,
        "eos_token_id": 2,
        "unk_token_id": 0,
        "add_space_prefix": False,
        "chat_template": "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant: ",
    }.items():
        getattr(out, f"add_{name}")(value)
    shapes = {
        "token_embd": (vocabulary, width),
        "output": (vocabulary, width),
        "blk.0.ffn_gate": (hidden, width),
        "blk.0.ffn_up": (hidden, width),
        "blk.0.ffn_down": (width, hidden),
        **{f"blk.0.attn_{n}": (width, width) for n in ("q", "k", "v", "output")},
    }
    for name, shape in shapes.items():
        out.add_tensor(f"{name}.weight", rng.normal(0, 0.1, shape).astype(np.float32))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        out.add_tensor(f"{name}.weight", np.ones(width, np.float32))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def serve_tiny_model(path: Path, key: str):
    """llama.cpp's own server in this process; `.listening_address` is its URL, deleting it stops it."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path, params.model_alias, params.hostnames, params.port = str(path), {"tiny"}, ["127.0.0.1"], 0
    params.api_keys, params.n_ctx, params.n_parallel, params.n_threads_http = [key], 32768, 2, 4
    params.cpuparams.n_threads, params.warmup, params.verbosity = 1, False, -1
    return xllamacpp.Server(params)
