"""Cedar (cedarpy) asked about recorded calls: `python judge_cedar.py POLICY.cedar < runs.jsonl`.

The host does what Cedar has no means for: it counts lists and looks statuses up; all conditions stand in the policy.
A policy that fails while it is evaluated is skipped by Cedar; that is an error here, whatever was decided without it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cedarpy import PolicySet, is_authorized
from serve import Asked, Verdict, serve

POLICIES = PolicySet.from_str(Path(sys.argv[1]).read_text("utf-8"))
Record = dict[str, Any]


def moment(text: str) -> Record:
    """A time of the airline, which lives at UTC-5."""
    return {"__extn": {"fn": "datetime", "arg": f"{text[:19]}-0500"}}


def reference(type: str, id: str) -> Record:
    return {"__entity": {"type": type, "id": id}}


def legs(call: Asked, flights: list[Record]) -> list[Record | None]:
    """The records of flights; None for one that is not known."""
    known = call["state"]["flights"]
    return [known.get(f"{one['flight_number']}|{one['date']}") for one in flights]


def statuses(call: Asked, flights: list[Record]) -> list[str]:
    return [one["status"] if one else "unknown" for one in legs(call, flights)]


def booked(call: Asked, row: Record, user: str) -> Record:
    """A reservation as an entity."""
    names = ("cabin", "insurance", "flight_type", "origin", "destination")
    told = {name: row[name] for name in names} | {"bags": row["total_baggages"], "passengers": len(row["passengers"])}
    told |= {"created": moment(row["created_at"]), "statuses": statuses(call, row["flights"])}
    attrs = told | {"user": reference("User", user)}
    return {"uid": {"type": "Reservation", "id": row["reservation_id"]}, "attrs": attrs, "parents": []}


def context(call: Asked) -> Record:
    """What the call asks for, lists as numbers and sets."""
    given, state, tool = call["arguments"], call["state"], call["tool"]
    row, own = state["reservation"] or {}, (state["user"] or {}).get("payment_methods", {})
    told: Record = {"now": moment(call["now"])}
    if tool == "book_reservation":
        kinds = [own.get(one["payment_id"], {}).get("source") for one in given["payment_methods"]]
        for kind in ("certificate", "credit_card", "gift_card"):
            told[f"{kind}s"] = kinds.count(kind)
        told |= {"methods": [one["payment_id"] for one in given["payment_methods"]], "cabin": given["cabin"]}
        told["statuses"] = statuses(call, given["flights"])
    if tool == "update_reservation_flights":
        before = [(one["flight_number"], one["date"]) for one in row["flights"]]
        new = [one for one in given["flights"] if (one["flight_number"], one["date"]) not in before]
        told["changed"] = before != [(one["flight_number"], one["date"]) for one in given["flights"]]
        told |= {"statuses": statuses(call, new), "methods": [given["payment_id"]]}
        told["source"] = own.get(given["payment_id"], {}).get("source", "unknown")
        places = [one or {"origin": "unknown", "destination": "unknown"} for one in legs(call, given["flights"])]
        told |= {"origin": places[0]["origin"], "end": places[-1]["destination"]}
        told["stops"] = [one["destination"] for one in places]
    if tool == "update_reservation_baggages":
        told |= {"methods": [given["payment_id"]], "cabin": row["cabin"], "passengers": len(row["passengers"])}
    if "nonfree_baggages" in given:
        told |= {"nonfree": given["nonfree_baggages"], "total": given["total_baggages"]}
    if "passengers" in given:
        told["passengers"] = len(given["passengers"])
    if tool == "send_certificate":
        told["cents"] = round(given["amount"] * 100)
    return told


def requests(call: Asked) -> Iterator[tuple[Record, list[Record]]]:
    """The questions of which one has to be answered with yes, each with its entities."""
    state, action = call["state"], f'Action::"{call["tool"]}"'
    if "role" in state:
        told = {name: value for name, value in call["arguments"].items() if name == "columns"}
        yield {"principal": f'Role::"{state["role"]}"', "action": action, "resource": 'Any::"one"', "context": told}, []
        return
    user = state["user"] or {"user_id": "nobody", "membership": "unknown", "payment_methods": {}}
    attrs = {"membership": user["membership"], "methods": list(user["payment_methods"])}
    known = [{"uid": {"type": "User", "id": user["user_id"]}, "attrs": attrs, "parents": []}]
    rows = [state["reservation"]] if state["reservation"] else state["user_reservations"]
    for row in rows or [None]:
        if row is None:  # of the user alone
            attrs = {"user": reference("User", user["user_id"])}
            entity = {"uid": {"type": "Account", "id": user["user_id"]}, "attrs": attrs, "parents": []}
        else:
            entity = booked(call, row, user["user_id"])
        resource = f'{entity["uid"]["type"]}::"{entity["uid"]["id"]}"'
        asked = {"principal": 'Agent::"assistant"', "action": action, "resource": resource, "context": context(call)}
        yield asked, [*known, entity]


def decide(call: Asked, before: list[Asked]) -> Verdict:
    """Allow where one request is; what Cedar could not evaluate is an error."""
    reasons: list[str] = []
    for request, entities in requests(call):
        answer = is_authorized(request, POLICIES, entities)
        if answer.diagnostics.errors:
            raise RuntimeError(answer.diagnostics.errors[0])
        if answer.allowed:
            return "allow", "permitted"
        reasons += answer.diagnostics.id_annotations_by_reason.values()
    return "deny", "; ".join(dict.fromkeys(reasons)) or "no policy permits it"


if __name__ == "__main__":
    serve(decide)
