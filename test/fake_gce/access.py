"""Who may do what: service accounts, the token endpoint, tokens and permissions."""

import base64
import hashlib
import json
import secrets
import subprocess
import urllib.parse

GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
SHA256_PREFIX = bytes.fromhex("3031300d060960864801650304020105000420")  # DigestInfo of PKCS #1 v1.5
EVERYTHING = ["compute.instances.create", "compute.instances.delete", "compute.instances.get", "compute.instances.list", "compute.instances.setMetadata", "compute.instances.getGuestAttributes", "compute.instances.getSerialPortOutput",
              "compute.zoneOperations.get", "compute.zoneOperations.list", "compute.machineTypes.get", "compute.machineTypes.list", "compute.regions.get"]


class Denied(Exception):
    """Of a token request; the text is the error's description."""


def from_base64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class PublicKey:
    """RSA, from a PEM file: as much as it takes to check a signature."""

    def __init__(self, path):
        shown = subprocess.run(["openssl", "rsa", "-pubin", "-in", path, "-noout", "-modulus", "-text"],
                               check=True, capture_output=True, text=True).stdout
        self._modulus = int(shown.split("Modulus=")[1].split()[0], 16)
        self._exponent = int(shown.split("Exponent: ")[1].split()[0])

    def signed(self, message, signature):
        size = (self._modulus.bit_length() + 7) // 8
        digest = SHA256_PREFIX + hashlib.sha256(message).digest()
        expected = b"\x00\x01" + b"\xff" * (size - 3 - len(digest)) + b"\x00" + digest
        return pow(int.from_bytes(signature, "big"), self._exponent, self._modulus).to_bytes(size, "big") == expected


class Accounts:
    """`settings`: {email: {"public_key": FILE, "permissions": [...], "token": "a fixed one"}}. `wall_time`: of Unix."""

    def __init__(self, settings, token_seconds, wall_time):
        self._keys = {email: PublicKey(account["public_key"]) for email, account in settings.items() if "public_key" in account}
        self.permissions = {email: account.get("permissions", EVERYTHING) for email, account in settings.items()}
        self._tokens = {account["token"]: (email, float("inf")) for email, account in settings.items() if "token" in account}
        self._token_seconds = token_seconds
        self._wall_time = wall_time
        self.handed_out = 0

    def _claims(self, statement):
        parts = statement.split(".")
        if len(parts) != 3:
            raise Denied("Invalid JWT.")
        header, claims = (json.loads(from_base64url(part)) for part in parts[:2])
        key = self._keys.get(claims.get("iss"))
        if header.get("alg") != "RS256" or key is None:
            raise Denied("Invalid issuer: Not a valid email or user ID.")
        if not key.signed(".".join(parts[:2]).encode(), from_base64url(parts[2])):
            raise Denied("Invalid JWT Signature.")
        now = self._wall_time()
        if not now - 300 < claims["iat"] < now + 300 or not now < claims["exp"] <= claims["iat"] + 3600:
            raise Denied("Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe.")
        if "https://www.googleapis.com/auth/cloud-platform" not in claims.get("scope", ""):
            raise Denied("Invalid scope.")
        return claims

    def new_token(self, email):
        token = "ya29." + secrets.token_urlsafe(32)
        self._tokens[token] = (email, self._wall_time() + self._token_seconds)
        self.handed_out += 1
        return {"access_token": token, "expires_in": self._token_seconds, "token_type": "Bearer"}

    def exchange(self, form, audience):
        """The answer of the token endpoint to a form."""
        fields = dict(urllib.parse.parse_qsl(form))
        if fields.get("grant_type") != GRANT:
            raise Denied("Invalid grant_type: " + str(fields.get("grant_type")))
        claims = self._claims(fields.get("assertion", ""))
        if claims.get("aud") != audience:
            raise Denied("Invalid JWT: Failed audience check.")
        return self.new_token(claims["iss"])

    def who(self, authorization):
        """The account that a header proves, or None."""
        kind, _, token = (authorization or "").partition(" ")
        email, end = self._tokens.get(token, (None, 0.0))
        if kind != "Bearer" or email is not None:
            return email if self._wall_time() < end else None
        try:
            claims = self._claims(token)  # self-signed
            return claims["iss"] if claims.get("sub") == claims["iss"] else None
        except (Denied, ValueError, KeyError):
            return None

    def expire(self, authorization):
        token = (authorization or "").partition(" ")[2]
        if self._tokens.get(token, (None, float("inf")))[1] != float("inf"):
            self._tokens.pop(token)
