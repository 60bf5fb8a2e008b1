from airline_items import legs, require, statuses


async def guard_update_reservation_flights(api, reservation_id: str, cabin: str, flights: list, payment_id: str):
    reservation = await api.get_reservation_details(reservation_id)
    own = (await api.get_user_details(reservation["user_id"]))["payment_methods"]
    require(payment_id in own, "All payment methods must already be in user profile for safety reasons.")
    before = legs(reservation["flights"])
    new = [f for f in flights if (f["flight_number"], f["date"]) not in before]
    require(
        set(await statuses(api, new)) <= {"available"},
        'If the status is "delayed" or "on time", the flight has not taken off, cannot be booked.',
    )
    if legs(flights) == before:
        return
    require(reservation["cabin"] != "basic_economy", "Basic economy flights cannot be modified.")
    known = [await api.get_flight_status(f["flight_number"], f["date"]) for f in flights]
    one_way = reservation["flight_type"] == "one_way"
    require(
        known[0]["origin"] == reservation["origin"]
        and reservation["destination"] in [f["destination"] for f in known]
        and known[-1]["destination"] == reservation["destination" if one_way else "origin"],
        "Other reservations can be modified without changing the origin, destination, and trip type.",
    )
    require(
        own[payment_id]["source"] in ("gift_card", "credit_card"),
        "If the flights are changed, the user needs to provide one gift card or credit card for payment or refund "
        "method.",
    )
