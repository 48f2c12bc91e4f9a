"""Reading in peace: what comes in quick succession is left to lie for a moment and read together."""

import asyncio


async def rest(connection: asyncio.ReadTransport, seconds: float) -> None:
    """Read nothing for so long; what comes waits where it wakes nobody."""
    if connection.is_closing():
        return
    connection.pause_reading()
    try:
        await asyncio.sleep(seconds)
    finally:
        if not connection.is_closing():
            connection.resume_reading()
