"""A client of the exposure API with nothing but the standard library of Python 3.8 and later:

    python3 examples/python/client.py URL USER [TOKEN]
"""
import http.client
import json
import random
import sys
import time
import urllib.parse


class Refused(Exception):
    """The service will not take this request, however often it is sent."""


class Client:
    """One connection, for one thread. deadline is the longest a call may take, in seconds, all tries together."""

    def __init__(self, url, token="", deadline=5.0):
        at = urllib.parse.urlsplit(url)
        self.deadline, self.token, self.path = deadline, token, at.path.rstrip("/")
        kind = http.client.HTTPSConnection if at.scheme == "https" else http.client.HTTPConnection
        self.connection = kind(at.hostname, at.port)

    def _try(self, path, body, headers, left):
        self.connection.timeout = left
        if self.connection.sock:
            self.connection.sock.settimeout(left)
        self.connection.request("POST", self.path + path, body, headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def _post(self, path, body, accept="application/json"):
        headers = {"Content-Type": "application/json", "Accept": accept, "Authorization": "Bearer " + self.token}
        end, wait = time.monotonic() + self.deadline, 0.05
        while True:
            try:
                status, answer = self._try(path, body, headers, max(0.001, end - time.monotonic()))
                if status < 300:
                    return answer
                problem = "%d: %s" % (status, answer.decode("utf-8", "replace"))  # RFC 9457
                if status not in (429, 503):
                    raise Refused(problem)
            except (OSError, http.client.HTTPException) as error:
                self.connection.close()  # the next try opens it again
                problem = repr(error)
            pause = wait * random.uniform(0.5, 1)  # reports are idempotent, so every request may be sent again
            if time.monotonic() + pause >= end:
                raise TimeoutError("no answer within %gs: %s" % (self.deadline, problem))
            time.sleep(pause)
            wait = min(2 * wait, 1)

    def report(self, user, kind, *items):
        """Returns when the items are durable and the next filter knows them."""
        self._post("/exposures", json.dumps({"user": user, "kind": kind, "items": items}).encode())

    def filter(self, user, *items):
        """Asks in JSON: {"items":[...],"dropped":n}."""
        body = {"user": user, "items": items, "deadline_ms": int(self.deadline * 1000)}
        return self._post("/filter", json.dumps(body).encode()).decode()

    def filter_bits(self, user, *ids):
        """The cheap way: the answer is a bitmap."""
        body = {"user": user, "items": ids, "deadline_ms": int(self.deadline * 1000)}
        bitmap = self._post("/filter", json.dumps(body).encode(), "application/octet-stream")
        return [item for i, item in enumerate(ids) if bitmap[i // 8] >> (i % 8) & 1]


def main(url="http://127.0.0.1:8080", user="ann", token="", deadline="5"):
    client = Client(url, token, float(deadline))
    client.report(user, "seen", "1001", "1003", "café/中文")
    print(client.filter(user, "1001", "1002", "café/中文", "new"))
    print(client.filter_bits(user, 1001, 1002, 1003, 1004))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Refused, TimeoutError) as failure:
        sys.exit(str(failure))
