from airline_items import require, statuses


async def guard_send_certificate(api, user_id: str, amount: float):
    user = await api.get_user_details(user_id)
    rows = [await api.get_reservation_details(one) for one in user["reservations"]]
    require(
        user["membership"] in ("silver", "gold")
        or any(row["insurance"] == "yes" or row["cabin"] == "business" for row in rows),
        "Do not compensate if the user is regular member and has no travel insurance and flies (basic) economy.",
    )
    offers = []
    for row in rows:
        known = await statuses(api, row["flights"])
        offers += [100 * len(row["passengers"])] if "cancelled" in known else []
        offers += [50 * len(row["passengers"])] if "delayed" in known else []
    require(
        amount in offers,
        "complains about cancelled flights [...] $100 times the number of passengers; "
        "complains about delayed flights [...] $50 times the number of passengers",
    )
