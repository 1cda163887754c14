"""A worker in Python, with the standard library alone: lease, work, settle.

    PUNCTUAL_URL=http://localhost:7780/v1/queues/default python3 worker.py mail.send

Ctrl-C or SIGTERM ends it after what it is doing. Killed in the middle, its lease ends and another worker goes on.
"""

import json
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.request

URL = os.environ.get("PUNCTUAL_URL", "http://localhost:7780/v1/queues/default")
TOKEN = os.environ.get("PUNCTUAL_TOKEN", "")
NAME = os.environ.get("WORKER_NAME", f"python-{os.getpid()}")
LEASE = os.environ.get("WORKER_LEASE", "30s")
EXTEND_SECONDS = 10

is_stopping = threading.Event()


def call(path, body, timeout):
    headers = {"content-type": "application/json"}
    if TOKEN:
        headers["authorization"] = f"Bearer {TOKEN}"
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=timeout) as response:
        return json.loads(response.read() or "{}")


def work(message):
    """Yours: raise to fail. It may run more than once, so use the id to make it harmless."""
    seconds = (message.get("payload") or {}).get("seconds", 0)
    time.sleep(seconds)
    print(json.dumps({"done": message["id"], "by": NAME}), flush=True)


def keep(lease, is_done):
    """Asks for more time while the work goes on."""
    while not is_done.wait(EXTEND_SECONDS):
        try:
            call("/leases:extend", {"leases": [lease], "by": LEASE}, timeout=10)
        except OSError:
            pass  # The next try comes soon; the lease outlasts a few.


def settle(lease, outcome):
    """Repeated until it is answered, or the lease is over: settling twice changes nothing."""
    for _ in range(60):
        try:
            body = {"worker": NAME, "settlements": [{"lease": lease, **outcome}]}
            return call("/leases:settle", body, timeout=10)
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code != 429:
                raise
        except OSError:
            pass
        time.sleep(0.5)
    return {}


def attempt(message):
    is_done = threading.Event()
    keeper = threading.Thread(target=keep, args=(message["lease"], is_done), daemon=True)
    keeper.start()
    try:
        print(json.dumps({"begun": message["id"], "dueAt": message["dueAt"], "at": time.time() * 1000}), flush=True)
        work(message)
        outcome = {"outcome": "completed"}
    except Exception as error:
        outcome = {"outcome": "failed", "error": f"{type(error).__name__}: {error}"}
    finally:
        is_done.set()
    settle(message["lease"], outcome)


def main(topics):
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: is_stopping.set())
    while not is_stopping.is_set():
        try:
            asked = {"worker": NAME, "topics": topics, "limit": 1, "lease": LEASE, "wait": "20s"}
            answer = call("/leases", asked, timeout=30)
        except OSError:
            time.sleep(0.5)  # The server restarts, or the store is away.
            continue
        for message in answer.get("leases", []):
            attempt(message)
        if answer.get("control") == "stop":  # An operator says so.
            break


if __name__ == "__main__":
    main(sys.argv[1:] or ["mail.send"])
