"""The one thing that the guards may ask, as the package's own scaffold delegates it."""


class Hospital:
    def __init__(self, delegate):
        self.delegate = delegate

    async def get_role(self):
        return await self.delegate.invoke("get_role", {}, str)
