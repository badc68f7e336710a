"""An object as readable YAML. Pure."""

from __future__ import annotations

from shunter.api.formats.counts import count
from shunter.api.meta import LAST_APPLIED, Json
from shunter.api.secrets.masking import HIDDEN, credentials
from shunter.api.yaml import readable_yaml
from shunter.jobs.logs.visible_text import visible
from shunter.migrate.survey.briefing.masking import masked_manifest

FIRST = ("apiVersion", "kind", "metadata", "spec", "status")


def object_text(obj: Json, *, shows_credentials: bool = False) -> str:
    """The object without managedFields and kubectl's last-applied-configuration, as comments at the top say. Values that look
    like credentials are masked unless `shows_credentials`."""
    metadata = dict(obj.get("metadata") or {})
    comments = []
    if managed := metadata.pop("managedFields", None):
        comments.append(f"# metadata.managedFields is left out ({count(len(managed), 'manager')}).")
    annotations = dict(metadata.get("annotations") or {})
    if annotations.pop(LAST_APPLIED, None) is not None:
        metadata["annotations"] = annotations
        comments.append(f"# The annotation {LAST_APPLIED} is left out.")
    ordered = {field: obj[field] for field in FIRST if field in obj} | obj | {"metadata": metadata}
    whole = readable_yaml(ordered)
    text = whole if shows_credentials else masked_manifest(whole, credentials(ordered))
    if text != whole:
        comments.append(f"# Values that look like credentials are shown as {HIDDEN}.")
    return visible("".join(f"{line}\n" for line in comments) + text)
