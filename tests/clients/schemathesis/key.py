"""Makes a key that may do everything, and prints its token. Arguments: the server's base URL."""

import json
import os
import sys
import urllib.request

PRIVILEGES = "read create write delete destroy moderate forceUnlock manageGroups configure".split()


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["result"]


base = sys.argv[1]
person = {"connectionId": "Editorial", "applicationId": "clients", "username": "admin"}
token = post(f"{base}/v3/auth/login", {**person, "password": os.environ["STET_ADMIN_PASSWORD"]})["token"]["value"]
grants = [{"privilege": privilege} for privilege in PRIVILEGES]
key = post(f"{base}/v3/key?token={token}", {"name": "random-calls", "user": "admin", "privileges": grants})
print(key["token"])
