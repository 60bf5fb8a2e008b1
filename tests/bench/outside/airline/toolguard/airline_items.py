"""What several policy items need."""

from toolguard.runtime import PolicyViolationException

FREE = {
    "regular": {"basic_economy": 0, "economy": 1, "business": 2},
    "silver": {"basic_economy": 1, "economy": 2, "business": 3},
    "gold": {"basic_economy": 2, "economy": 3, "business": 3},
}


def require(holds, sentence):
    if not holds:
        raise PolicyViolationException(sentence)


async def statuses(api, flights):
    return [(await api.get_flight_status(f["flight_number"], f["date"]))["status"] for f in flights]


def legs(flights):
    return [(f["flight_number"], f["date"]) for f in flights]


def charged(user, cabin, passengers, total):
    return max(0, total - passengers * FREE[user["membership"]][cabin])
