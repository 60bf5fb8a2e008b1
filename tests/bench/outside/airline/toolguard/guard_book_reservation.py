from airline_items import charged, require, statuses


async def guard_book_reservation(
    api,
    user_id: str,
    origin: str,
    destination: str,
    flight_type: str,
    cabin: str,
    flights: list,
    passengers: list,
    payment_methods: list,
    total_baggages: int,
    nonfree_baggages: int,
    insurance: str,
):
    user = await api.get_user_details(user_id)
    own = user["payment_methods"]
    require(len(passengers) <= 5, "Each reservation can have at most five passengers.")
    require(
        all(p["payment_id"] in own for p in payment_methods),
        "All payment methods must already be in user profile for safety reasons.",
    )
    kinds = [own[p["payment_id"]]["source"] for p in payment_methods]
    require(
        kinds.count("certificate") <= 1 and kinds.count("credit_card") <= 1 and kinds.count("gift_card") <= 3,
        "each reservation can use at most one travel certificate, at most one credit card, "
        "and at most three gift cards",
    )
    require(
        set(await statuses(api, flights)) <= {"available"},
        'If the status is "delayed" or "on time", the flight has not taken off, cannot be booked.',
    )
    require(
        nonfree_baggages == charged(user, cabin, len(passengers), total_baggages),
        "Checked bag allowance [...] Each extra baggage is 50 dollars.",
    )
