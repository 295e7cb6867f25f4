"""What the end-to-end drivers share: counting checks, and starting and stopping the server under test.

Only the standard library is used here. A driver ends only processes that it started, by their own handle.
"""

import contextlib
import json
import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

START_LIMIT = 30.0
STOP_LIMIT = 10.0
ANSI = re.compile(r"\x1b\[[0-9;]*m")
LISTENING = re.compile(r"listening on (http://[0-9.]+:[0-9]+)")


class Checks:
    """Counts checks: one line for each, and a last line with the totals."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    @contextlib.contextmanager
    def check(self, name):
        """One check: passed if the block ends well, failed with the reason if it raises."""
        begun = time.monotonic()
        try:
            yield
        except Exception as error:
            self.failed += 1
            print(f"FAIL {name}: {reason(error)}", flush=True)
        else:
            self.passed += 1
            print(f"ok   {name} ({time.monotonic() - begun:.2f} s)", flush=True)

    def finish(self):
        """Prints the totals; the exit code. A driver that checked nothing has failed."""
        if self.passed + self.failed == 0:
            self.failed = 1
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed else 0


def reason(error):
    """A failure in one line; a group of failures by the first that says something."""
    while inner := getattr(error, "exceptions", None):
        error = inner[0]
    text = str(error).strip() or "no message"
    return f"{type(error).__name__}: {text}"


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


def equal(found, wanted, what):
    expect(found == wanted, f"{what}: expected {wanted!r}, found {found!r}")


def exit_on_terminate():
    """Lets a TERM unwind the driver, so that what it started is stopped and its directories are removed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


@contextlib.contextmanager
def scratch():
    """A fresh directory with a data directory and a workspace in it."""
    path = tempfile.mkdtemp(prefix="mainstay-e2e-")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def environment(home):
    """This process's environment without the user's own settings of the server, and with `home` for its files."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAINSTAY_")}
    return kept | {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_DATA_HOME": home}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Process:
    """A program whose output is read as it comes, line by line."""

    def __init__(self, command, cwd, stdin=subprocess.DEVNULL):
        self.lines = queue.Queue()
        self.log = []
        self.child = subprocess.Popen(
            [str(word) for word in command],
            cwd=cwd,
            env=environment(cwd),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.readers = [
            threading.Thread(target=self._read_output, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self.readers:
            reader.start()

    def _read_output(self):
        for line in self.child.stdout:
            self.lines.put(line.decode("utf-8", "replace"))
        self.lines.put(None)

    def _read_errors(self):
        for line in self.child.stderr:
            self.log.append(ANSI.sub("", line.decode("utf-8", "replace")).rstrip())

    def tail(self):
        return "\n".join(self.log[-20:]) or "(it said nothing)"

    def wait_exit(self, limit):
        """The exit status, once the program ends by itself; a failure if it does not within `limit`."""
        try:
            return self.child.wait(limit)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {limit} s; its log ends:\n{self.tail()}") from None

    def kill(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        for reader in self.readers:
            reader.join(1)


class HttpServer(Process):
    """A server on a port of loopback, ready once it says so and `GET /health` answers."""

    def __init__(self, command, cwd, url=None):
        super().__init__(command, cwd)
        try:
            self.url = url or self._announced()
            self._wait_healthy()
        except BaseException:
            self.kill()
            raise

    def _announced(self):
        deadline = time.monotonic() + START_LIMIT
        while time.monotonic() < deadline:
            for line in list(self.log):
                if found := LISTENING.search(line):
                    return found.group(1)
            expect(self.child.poll() is None, f"the server ended at once; its log:\n{self.tail()}")
            time.sleep(0.02)
        raise AssertionError(f"no line says where the server listens; its log:\n{self.tail()}")

    def _wait_healthy(self):
        deadline = time.monotonic() + START_LIMIT
        problem = "not asked"
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"{self.url}/health", timeout=2) as answer:
                    if answer.status == 200:
                        return
                    problem = f"HTTP {answer.status}"
            except OSError as error:
                problem = str(error)
            expect(self.child.poll() is None, f"the server ended; its log:\n{self.tail()}")
            time.sleep(0.05)
        raise AssertionError(f"GET /health does not answer ({problem}); the log:\n{self.tail()}")

    def terminate(self):
        """Asks the server to stop, as a service manager would, and gives its exit status."""
        self.child.send_signal(signal.SIGTERM)
        return self.wait_exit(STOP_LIMIT)


@contextlib.contextmanager
def serving(start, checks, name):
    """A server for the length of a block; that it stops when asked is a check of its own."""
    server = start()
    try:
        yield server
        with checks.check(f"{name}: stops when asked to, with status 0"):
            equal(server.terminate(), 0, "exit status")
    finally:
        server.kill()


class RawStdio(Process):
    """A stdio server spoken to without an SDK, to see each line it writes."""

    def __init__(self, command, cwd):
        super().__init__(command, cwd, stdin=subprocess.PIPE)
        self.seen = []

    def send(self, message):
        self.write(json.dumps(message) + "\n")

    def write(self, text):
        self.child.stdin.write(text.encode())
        self.child.stdin.flush()

    def close_input(self):
        self.child.stdin.close()

    def receive(self, limit):
        """The next message, None at the end of output; `queue.Empty` if nothing comes within `limit`."""
        line = self.lines.get(timeout=limit)
        if line is None:
            return None
        try:
            message = json.loads(line)
        except ValueError:
            raise AssertionError(f"stdout carries something that is not JSON: {line!r}") from None
        expect(isinstance(message, dict) and message.get("jsonrpc") == "2.0", f"not JSON-RPC: {line!r}")
        self.seen.append(message)
        return message

    def answer(self, id, limit=20.0):
        """The answer with this id; notifications on the way are kept in `seen`."""
        deadline = time.monotonic() + limit
        while (left := deadline - time.monotonic()) > 0:
            try:
                message = self.receive(left)
            except queue.Empty:
                break
            expect(message is not None, f"output ended before the answer to {id}; the log:\n{self.tail()}")
            if message.get("id") == id and "method" not in message:
                return message
        raise AssertionError(f"no answer to {id} within {limit} s; the log:\n{self.tail()}")

    def rest(self, limit):
        """Everything that still comes until the end of output, or until `limit` has passed."""
        deadline = time.monotonic() + limit
        messages = []
        while (left := deadline - time.monotonic()) > 0:
            try:
                message = self.receive(left)
            except queue.Empty:
                break
            if message is None:
                break
            messages.append(message)
        return messages
