from airline_items import require


async def guard_update_reservation_passengers(api, reservation_id: str, passengers: list):
    reservation = await api.get_reservation_details(reservation_id)
    require(
        len(passengers) == len(reservation["passengers"]),
        "The user can modify passengers but cannot modify the number of passengers.",
    )
