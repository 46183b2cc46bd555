"""Receives events from a webhook, and verifies each with the library of the Standard Webhooks specification.

Arguments: the server's base URL. The server must permit 127.0.0.1 in webhooks.networks.
"""

import json
import os
import queue
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

# As long as a slow machine may need.
PATIENCE_SECONDS = 60

base = sys.argv[1]
received = queue.Queue()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        self.send_response(204)
        self.end_headers()
        received.put((body, dict(self.headers.items())))

    def log_message(self, *_):
        pass


def call(method, path, body=None):
    headers = {"content-type": "application/json", **({"token": token} if token else {})}
    request = urllib.request.Request(base + path, json.dumps(body or {}).encode(), headers, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["result"]


def next_message():
    return received.get(timeout=PATIENCE_SECONDS)


def verified(secret, message):
    body, headers = message
    lowered = {name.lower(): value for name, value in headers.items()}
    return Webhook(secret).verify(body, lowered)


server = HTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()

token = None
person = {"connectionId": "Editorial", "applicationId": "receiver", "username": "admin"}
token = call("POST", "/v3/auth/login", {**person, "password": os.environ["STET_ADMIN_PASSWORD"]})["token"]["value"]
drawer = call("POST", "/v3/container/drawer", {"name": "reported"})["info"]["id"]
made = call("POST", "/v3/webhook", {"url": f"http://127.0.0.1:{server.server_port}/", "container": drawer})
secret, webhook = made["secret"], made["webhook"]["id"]

call("POST", f"/v3/object/{drawer}/lock")
message = next_message()
event = verified(secret, message)
assert (event["type"], event["data"]["container"]) == ("object.lock", drawer), event
assert event["data"]["record"]["locked"], event

# A changed body and another secret are noticed.
body, headers = message
wrong_secret = call("POST", f"/v3/webhook/{webhook}/secret")["secret"]
for wrong in ((secret, (body.replace(drawer, "1$1.0.1"), headers)), (wrong_secret, message)):
    try:
        verified(*wrong)
    except WebhookVerificationError:
        continue
    raise AssertionError("a message that is not authentic was taken for one")

# The old and the new secret sign side by side.
call("POST", f"/v3/object/{drawer}/unlock")
message = next_message()
for known in (secret, wrong_secret):
    assert verified(known, message)["type"] == "object.unlock"
call("DELETE", f"/v3/webhook/{webhook}")
print("the signatures of webhooks are verified")
