"""A mail server that keeps what it takes as files, and does as the local part of an address says.

Arguments: the folder for mails; optionally `tls` or `starttls` with a certificate and a key; then a password that the user `stet`
must give. Prints its port. Mails are files `N.eml`, the addresses they came for `N.to`, one a line.

- refused…@…: not taken, for good; after twenty of them in one conversation it says so and hangs up, as some servers do
- later@…:   not taken, for now, while there is a file `busy` in the folder
- lost@…:    taken and kept, but the connection ends in place of an answer
- silent@…:  taken and kept; the answer comes only when there is no file `hold` in the folder any more
- full@…:    the mail is refused, for now, while there is a file `busy`
"""

import asyncio
import os
import ssl
import sys

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult

folder, arguments = sys.argv[1], sys.argv[2:]
security = arguments[0] if arguments else ""
password = arguments[3] if len(arguments) > 3 else None


def there(name):
    return os.path.exists(os.path.join(folder, name))


def local(address):
    return address.split("@")[0]


class Keeper:
    def __init__(self):
        self.count = 0

    async def handle_RCPT(self, server, session, envelope, address, options):
        if local(address).startswith("refused"):
            session.wrong = getattr(session, "wrong", 0) + 1
            if session.wrong <= 20:
                return "550 5.1.1 nobody of that name"
            asyncio.get_running_loop().call_soon(server.transport.close)
            return "421 4.7.0 too many errors"
        if local(address) == "later" and there("busy"):
            return "450 4.2.1 come again"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        names = [local(address) for address in envelope.rcpt_tos]
        if "full" in names and there("busy"):
            return "452 4.3.1 no room"
        self.count += 1
        base = os.path.join(folder, f"{os.getpid()}-{self.count}")
        with open(base + ".to", "w") as file:
            file.write("\n".join(envelope.rcpt_tos))
        with open(base + ".part", "wb") as file:
            file.write(envelope.content)
        os.rename(base + ".part", base + ".eml")
        if "lost" in names:
            server.transport.abort()
        while "silent" in names and there("hold"):
            await asyncio.sleep(0.01)
        return "250 kept"


def authenticator(server, session, envelope, mechanism, data):
    well = data.login == b"stet" and data.password == (password or "").encode()
    # Not handled: the refusal is for the library to say.
    return AuthResult(success=well, handled=False)


context = None
if security:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(arguments[1], arguments[2])


class Server(Controller):
    def factory(self):
        return SMTP(
            self.handler,
            tls_context=context if security == "starttls" else None,
            require_starttls=security == "starttls",
            authenticator=authenticator if password else None,
            auth_required=bool(password),
            # Of TLS from the first byte the library does not know.
            auth_require_tls=security == "starttls",
            enable_SMTPUTF8=False,
        )


server = Server(Keeper(), hostname="127.0.0.1", port=0)
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)


async def main():
    ssl_context = context if security == "tls" else None
    listening = await loop.create_server(server.factory, "127.0.0.1", 0, ssl=ssl_context)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    os._exit(0)


loop.run_until_complete(main())
