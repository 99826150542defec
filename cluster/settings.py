"""The settings that come from the environment, checked once at the edge.

Everything is optional: with nothing set, gammonfarm starts an embedded Redis-protocol server, a local Ray cluster and
a local MLflow database, all below `home`.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from pydantic import ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from engine.errors import InputError
from engine.home import data_home

PREFIX = "GAMMONFARM_"
TRACKING_OFF = frozenset({"off", "none"})

_REDIS_EXPECTED = "redis://host:port/db, rediss://host:port/db or unix:///path"
_RAY_EXPECTED = "auto or host:port of a Ray head"
_MLFLOW_EXPECTED = "an MLflow tracking URI such as https://host:port or sqlite:////path, or off"
_EXPECTED = {"redis_url": _REDIS_EXPECTED, "ray_address": _RAY_EXPECTED, "mlflow_uri": _MLFLOW_EXPECTED}


class Settings(BaseSettings):
    """Where the services are. `None` means: the embedded one."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="forbid")

    home: Path
    redis_url: str | None = None
    redis_password_file: Path | None = None
    """Holds the password of `redis_url`, so that it need not stand there."""
    ray_address: str | None = None
    mlflow_uri: str | None = None

    @property
    def tracking_enabled(self) -> bool:
        """False when the user switched MLflow off."""
        return self.mlflow_uri is None or self.mlflow_uri not in TRACKING_OFF

    @property
    def tracking_uri(self) -> str | None:
        """The MLflow tracking URI to use: the configured one, else SQLite below `home`; None when switched off."""
        if not self.tracking_enabled:
            return None
        return self.mlflow_uri or f"sqlite:///{self.home / 'mlflow.db'}"

    @field_validator("redis_url")
    @classmethod
    def _check_redis_url(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in {"redis", "rediss", "unix"}:
            raise ValueError("scheme")
        if parts.scheme == "unix":
            if not parts.path:
                raise ValueError("no path")
        elif not parts.hostname or parts.port == 0:  # reading `port` raises ValueError when it is no number
            raise ValueError("no host")
        return value

    @field_validator("ray_address")
    @classmethod
    def _check_ray_address(cls, value: str | None) -> str | None:
        if value is not None and value != "auto" and not re.fullmatch(r"[^\s/@]+:\d{1,5}", value):
            raise ValueError("no host:port")
        return value

    @field_validator("mlflow_uri")
    @classmethod
    def _check_mlflow_uri(cls, value: str | None) -> str | None:
        if value is None:
            return None
        if value.lower() in TRACKING_OFF:
            return value.lower()
        # A bare path would be MLflow's file store, which no longer exists: say so here, not in the middle of a job.
        if not re.match(r"[a-z][a-z0-9+.-]*:", value, re.IGNORECASE) and value != "databricks":
            raise ValueError("no scheme")
        return value


def load_settings() -> Settings:
    """Read the environment. Raises `InputError` that names the variable; passwords in URLs are never shown."""
    home = data_home()
    try:
        return _with_password(Settings(home=home))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = str(first["loc"][0])
        shown = without_password(str(first["input"]))
        raise InputError(PREFIX + field.upper(), shown, _EXPECTED.get(field, str(first["msg"]))) from None


def _with_password(settings: Settings) -> Settings:
    file, url = settings.redis_password_file, settings.redis_url
    if file is None or url is None:
        return settings
    try:
        password = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "no text"
        raise InputError(PREFIX + "REDIS_PASSWORD_FILE", file, f"a readable file ({reason})") from error
    parts = urlsplit(url)
    if parts.password is not None or not password:
        raise InputError(PREFIX + "REDIS_PASSWORD_FILE", file, "a password that stands in this file alone")
    user, at, place = parts.netloc.rpartition("@")
    netloc = f"{user if at else ''}:{quote(password, safe='')}@{place}"
    return settings.model_copy(update={"redis_url": urlunsplit(parts._replace(netloc=netloc))})


def without_password(url: str) -> str:
    """The URL with its password, if any, replaced by `***`: fit for messages and logs."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return re.sub(r"//[^@]*@", "//***@", url)
    shown = url
    userinfo, at, _ = parts.netloc.rpartition("@")
    if at and ":" in userinfo:
        shown = shown.replace(f"//{userinfo}@", f"//{userinfo.partition(':')[0]}:***@", 1)
    return re.sub(r"(?i)([?&]password=)[^&#]*", r"\1***", shown)
