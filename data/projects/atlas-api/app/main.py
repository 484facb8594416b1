"""The application object; routes live next to what they serve."""

from fastapi import FastAPI

app = FastAPI(title="Atlas API")


@app.get("/healthz")
def healthz() -> dict[str, str]:
    """Say that the process answers; the database is not asked."""
    return {"status": "ok"}
