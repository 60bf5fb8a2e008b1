from airline_items import charged, require


async def guard_update_reservation_baggages(
    api, reservation_id: str, total_baggages: int, nonfree_baggages: int, payment_id: str
):
    reservation = await api.get_reservation_details(reservation_id)
    user = await api.get_user_details(reservation["user_id"])
    require(
        payment_id in user["payment_methods"],
        "All payment methods must already be in user profile for safety reasons.",
    )
    require(total_baggages >= reservation["total_baggages"], "The user can add but not remove checked bags.")
    require(
        nonfree_baggages == charged(user, reservation["cabin"], len(reservation["passengers"]), total_baggages),
        "Checked bag allowance [...] Each extra baggage is 50 dollars.",
    )
