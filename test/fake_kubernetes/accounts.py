"""Who asks, and what they may do: the accounts of the settings, and service accounts with what Roles give them."""

import secrets
import time

SHARE_OF_LIFE = 0.8  # of a token: then the kubelet writes the next one


class Accounts:
    """All is done while the store's lock is held. With `needs_certificate` the accounts of the settings are nobody without the client's."""

    def __init__(self, store, settings, needs_certificate=False):
        self.store, self.needs_certificate = store, needs_certificate
        self.known = dict(settings.get("accounts", {"dev": {}}))  # by token: {"rules": [{"verbs": [...], "resources": [...]}]}
        self.token_seconds = settings.get("token_seconds", 3600)
        self.ends = {}  # by token of a service account

    def of(self, token, has_certificate):
        """None: nobody."""
        account = self.known.get(token)
        if account is None or time.monotonic() > self.ends.get(token, float("inf")):
            return None
        return account if has_certificate or not self.needs_certificate or "service_account" in account else None

    def replace(self, token):
        """The old one of the first account is not known any more."""
        first = next(iter(self.known))
        self.known = {token: self.known.pop(first)} | self.known

    def issue(self, namespace, name):
        """A token for a service account, and when it is to be replaced (time.monotonic())."""
        token, now = secrets.token_urlsafe(24), time.monotonic()
        self.known[token] = {"name": f"system:serviceaccount:{namespace}:{name}", "service_account": (namespace, name)}
        self.ends[token] = now + self.token_seconds
        return token, now + SHARE_OF_LIFE * self.token_seconds

    def allows(self, account, verb, resource, namespace):
        rules = self._rules_of(*account["service_account"], namespace) if "service_account" in account else account.get("rules")
        return rules is None or any(verb in rule["verbs"] and resource in rule["resources"] for rule in rules)

    def _rules_of(self, home, name, namespace):
        """What the bindings of a namespace, and those of the cluster, give to a service account."""
        found = []
        bindings = self.store.find("clusterrolebindings") + (self.store.find("rolebindings", namespace) if namespace else [])
        for binding in bindings:
            subjects, of_role = binding.get("subjects", []), binding["roleRef"]
            if any(who["kind"] == "ServiceAccount" and who["name"] == name and who.get("namespace", namespace) == home for who in subjects):
                key = ("clusterroles", "", of_role["name"]) if of_role["kind"] == "ClusterRole" else ("roles", namespace, of_role["name"])
                role = self.store.objects.get(key)
                found += role["rules"] if role else []
        return found
