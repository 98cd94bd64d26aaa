"""REST operations on models: those that a conversation may have, with their prices, and the one that it has."""

from __future__ import annotations

from ...llm.known_models import KnownModel
from ...specs import AnyLLM
from ..principals import Scope
from ..routing import Call, Endpoint
from ..schemas import ModelList, ModelsQuery, SavedModel


async def list_models(call: Call[None, ModelsQuery]) -> ModelList:
    """Return the model of the server's agent, the profiles of its store, and the known models that match."""
    models, agent = call.services.runtime.models, call.services.hosting.saved.agent

    async def saved(name: str, llm: AnyLLM) -> SavedModel:
        return SavedModel(name=name, llm=llm, known=await models.known(llm))

    items, truncated = await models.search(call.query.query, call.query.limit)
    return ModelList(
        own=await saved("", agent.llm) if agent is not None else None,
        profiles=tuple([await saved(name, llm) for name, llm in (await models.profiles()).items()]),
        items=items,
        truncated=truncated,
    )


async def conversation_model(call: Call[None, None]) -> KnownModel:
    """Return the known properties of a conversation's model; if it has several, of the first."""
    state = await call.services.hosting.whole(await call.reading())
    return await call.services.runtime.models.known(state.spec.llm)


_GROUP = "models"

ENDPOINTS = (
    Endpoint(
        "GET",
        "/models",
        list_models,
        Scope.STEER,
        "List models",
        query=ModelsQuery,
        reply=ModelList,
        group=_GROUP,
    ),
    Endpoint(
        "GET",
        "/conversations/{id}/model",
        conversation_model,
        Scope.OBSERVE,
        "The model of a conversation",
        reply=KnownModel,
        group=_GROUP,
    ),
)
