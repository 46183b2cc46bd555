"""A client generated from the OpenAPI document does a day's work: logs in, fills a drawer, changes it, uploads a picture.

Arguments: the server's base URL. The password of `admin` is in STET_ADMIN_PASSWORD.
"""

import os
import struct
import sys
import uuid
import zlib
from io import BytesIO

from stet_client import AuthenticatedClient, Client
from stet_client.api.auth import auth_connection_check_get, auth_login_post, auth_logout_get
from stet_client.api.drawer import drawer_get, drawer_items_post, drawer_post, drawer_put
from stet_client.api.object_ import object_get, stet_object_content_format_get, stet_object_create_post
from stet_client.models import (
    CreateDrawer,
    CreateObject,
    Failure,
    ItemListRequestType0,
    LoginRequest,
    StetObjectCreatePostBody,
    UpdateRequest,
)
from stet_client.types import File


def result(response):
    """The result of a success, as a typed object."""
    assert response.status_code == 200, (response.status_code, response.content)
    assert response.parsed.status == "success"
    return response.parsed.result


def failure(response, status, code):
    """A failure must be of this status and code."""
    assert response.status_code == status, (response.status_code, response.content)
    assert isinstance(response.parsed, Failure), response.parsed
    assert response.parsed.result.code == f"CMS.{code}", response.parsed.result
    return response.parsed.result


def picture(width, height):
    """A PNG of one colour."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    lines = (b"\x00" + b"\x20\x60\xa0" * width) * height
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def upload(client, folder, name, media_type, data, **call):
    """Creates an object of a file; gives its record."""
    body = StetObjectCreatePostBody(
        content=File(payload=BytesIO(data), file_name=name, mime_type=media_type),
        options=CreateObject(name=name, folder_path=folder),
    )
    return result(stet_object_create_post.sync_detailed(client=client, body=body, **call))


def main(base):
    password = os.environ["STET_ADMIN_PASSWORD"]
    folder = f"/Test/python-{uuid.uuid4()}"

    def login(password):
        body = LoginRequest(
            application_id="clients", connection_id="Editorial", username="admin", password=password
        )
        return auth_login_post.sync_detailed(client=Client(base_url=base), body=body)

    failure(login("wrong"), 401, "InvalidLogin")
    client = AuthenticatedClient(base_url=base, token=result(login(password)).token.value)
    assert result(auth_connection_check_get.sync_detailed(client=client)).alive

    # A drawer with two stories.
    stories = [upload(client, folder, f"{name}.xml", "text/xml", b"<story/>") for name in ("ferry", "harbour")]
    drawer = result(
        drawer_post.sync_detailed(client=client, body=CreateDrawer(name="desk", folder_path=folder, capacity=5))
    ).info
    sources = ItemListRequestType0(sources=[story.id for story in stories])
    added = result(drawer_items_post.sync_detailed(drawer.id, client=client, body=sources))
    assert [item.source for item in added.items] == [story.id for story in stories]

    # Read by path, a page of it, and again with what is known.
    path = f"{folder}/desk"
    read = drawer_get.sync_detailed(path, client=client, show_items=True, limit=1, offset=1, show_path=True)
    assert [item.object_.name for item in result(read).items] == ["harbour.xml"]
    assert result(read).info.path == path
    tag = read.headers["etag"]
    again = drawer_get.sync_detailed(
        path, client=client, show_items=True, limit=1, offset=1, show_path=True, if_none_match=tag
    )
    assert again.status_code == 304 and not again.content

    # A change of what was read, and one of what has changed since.
    changed = drawer_put.sync_detailed(drawer.id, client=client, body=UpdateRequest(title="Morning"), if_match=tag)
    assert result(changed).info.title == "Morning"
    stale = drawer_put.sync_detailed(drawer.id, client=client, body=UpdateRequest(title="Evening"), if_match=tag)
    failure(stale, 412, "PreconditionFailed")

    # A picture, once however often it is sent; as it is, and scaled down.
    png = picture(640, 480)
    sent = [
        upload(client, folder, "ferry.png", "image/png", png, idempotency_key="the-ferry") for _ in range(2)
    ]
    assert sent[0].id == sent[1].id
    whole = stet_object_content_format_get.sync_detailed(sent[0].id, "binary", client=client)
    assert whole.status_code == 200 and whole.content == png and whole.headers["content-type"] == "image/png"
    part = stet_object_content_format_get.sync_detailed(sent[0].id, "binary", client=client, range_="bytes=0-7")
    assert part.status_code == 206 and part.content == png[:8]

    failure(object_get.sync_detailed(f"{folder}/nothing", client=client), 404, "ObjectNotFound")
    auth_logout_get.sync_detailed(client=client)
    failure(auth_connection_check_get.sync_detailed(client=client), 401, "InvalidToken")


if __name__ == "__main__":
    main(sys.argv[1])
