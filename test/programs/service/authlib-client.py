"""Authlib as an OAuth client of the service whose address is the one argument.

It prints each address for the browser, reads the address to which the browser is sent, and prints a JSON
object with the result of each step. Authlib includes no HTTP client and requires only a Session.
"""

import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"  # The service listens on loopback.

from authlib.common.security import generate_token
from authlib.oauth2.base import OAuth2Error
from authlib.oauth2.client import OAuth2Client
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata, get_well_known_url


class Response:
    def __init__(self, status, body):
        self.status_code = status
        self.text = body

    def json(self):
        return json.loads(self.text)

    def raise_for_status(self):
        raise RuntimeError(f"{self.status_code}: {self.text}")


class Session:
    def post(self, url, data=None, headers=None, auth=None):
        body = urllib.parse.urlencode(data)
        if auth is not None:
            url, headers, body = auth.prepare("POST", url, headers, body)
        return self.send(urllib.request.Request(url, body.encode(), headers))

    def get(self, url, headers):
        return self.send(urllib.request.Request(url, headers=headers))

    def send(self, request):
        try:
            with urllib.request.urlopen(request, timeout=20) as response:
                return Response(response.status, response.read().decode())
        except urllib.error.HTTPError as error:
            return Response(error.code, error.read().decode())


service = sys.argv[1]
session = Session()
metadata = AuthorizationServerMetadata(session.get(get_well_known_url(service, True), {}).json())
metadata.validate()
client = OAuth2Client(
    session,
    client_id="chatctl",
    redirect_uri="http://127.0.0.1:53123/callback",
    scope="chat:write",
    code_challenge_method="S256",
)


def profile():
    url, headers, _ = client.token_auth.prepare(f"{service}/api/user/profile", {}, "")
    return session.get(url, headers).status_code


def refused(work):
    try:
        work()
    except OAuth2Error as error:
        return error.error
    return None


def sign_in():
    verifier = generate_token(48)
    url, state = client.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier)
    print(url, flush=True)
    return {"authorization_response": sys.stdin.readline().strip(), "state": state, "code_verifier": verifier}


steps = {"issuer": metadata["issuer"]}
wrong = {**sign_in(), "code_verifier": generate_token(48)}
steps["wrong_verifier"] = refused(lambda: client.fetch_token(metadata["token_endpoint"], **wrong))
code = sign_in()
first = dict(client.fetch_token(metadata["token_endpoint"], **code))
steps["token"] = {"type": first["token_type"], "scope": first["scope"], "profile": profile()}
second = dict(client.refresh_token(metadata["token_endpoint"]))
steps["refreshed"] = {"rotated": second["refresh_token"] != first["refresh_token"], "profile": profile()}
revoked = client.revoke_token(metadata["revocation_endpoint"], token_type_hint="refresh_token")
steps["revoked"] = {"status": revoked.status_code, "profile": profile()}
steps["refresh_after_revocation"] = refused(
    lambda: client.refresh_token(metadata["token_endpoint"], refresh_token=second["refresh_token"])
)
third = dict(client.fetch_token(metadata["token_endpoint"], **sign_in()))
client.refresh_token(metadata["token_endpoint"])
steps["refresh_token_used_twice"] = refused(
    lambda: client.refresh_token(metadata["token_endpoint"], refresh_token=third["refresh_token"])
)
steps["profile_after_that"] = profile()

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
device = session.post(
    metadata["device_authorization_endpoint"], {"client_id": "chatctl", "scope": "chat:write"}, {}
).json()


def poll():
    arguments = {"grant_type": DEVICE_GRANT, "device_code": device["device_code"]}
    return dict(client.fetch_token(metadata["token_endpoint"], **arguments))


steps["device_pending"] = refused(poll)
print(device["verification_uri_complete"], flush=True)
sys.stdin.readline()
steps["device"] = {"scope": poll()["scope"], "profile": profile()}
print(json.dumps(steps))
