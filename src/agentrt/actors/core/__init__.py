"""Actors that know nothing of agents: requests, refs, supervision."""

from .messages import Envelope, Request
from .ref import Ref
from .supervisor import Actor, RestartPolicy, RestartWindow, Supervisor

__all__ = ["Actor", "Envelope", "Ref", "Request", "RestartPolicy", "RestartWindow", "Supervisor"]
