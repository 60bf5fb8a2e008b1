"""The read-only tools that the guards may ask, as the package's own scaffold delegates them."""


class Airline:
    def __init__(self, delegate):
        self.delegate = delegate

    async def get_user_details(self, user_id):
        return await self.delegate.invoke("get_user_details", {"user_id": user_id}, dict)

    async def get_reservation_details(self, reservation_id):
        return await self.delegate.invoke("get_reservation_details", {"reservation_id": reservation_id}, dict)

    async def get_flight_status(self, flight_number, date):
        return await self.delegate.invoke("get_flight_status", {"flight_number": flight_number, "date": date}, dict)
