from datetime import datetime, timedelta

from airline_items import require, statuses

NOW = datetime(2024, 5, 15, 15)  # "The current time is 2024-05-15 15:00:00 EST."


async def guard_cancel_reservation(api, reservation_id: str):
    reservation = await api.get_reservation_details(reservation_id)
    flown = await statuses(api, reservation["flights"])
    require(not {"flying", "landed"} & set(flown), "The agent can only cancel the whole trip that is not flown.")
    recent = NOW - datetime.fromisoformat(reservation["created_at"]) <= timedelta(hours=24)
    # whether the insurance's condition is met was said to the agent: a guard of this package sees no conversation
    require(
        recent or "cancelled" in flown or reservation["cabin"] == "business" or reservation["insurance"] == "yes",
        "All reservations can be cancelled within 24 hours of booking, or if the airline cancelled the flight. "
        "Otherwise, basic economy or economy flights can be cancelled only if travel insurance is bought and the "
        "condition is met, and business flights can always be cancelled.",
    )
