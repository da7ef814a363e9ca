from typing import Literal, Optional

_FREE = {"okafor": "Wednesday 10:40", "lindqvist": "Monday 16:15", "brandt": "Friday 09:05"}
_SHOTS = {
    "luna": {"given": ["rabies", "parvovirus"], "next_due": "2026-03-19"},
    "mimi": {"given": ["feline leukaemia", "herpesvirus"], "next_due": "2025-11-02"},
    "biscuit": {"given": ["distemper"], "next_due": "2025-09-27"},
}
_MG_PER_KG = {"meloxicam": 0.2, "amoxicillin": 12.5, "gabapentin": 8.0}
_PRICES = {"neutering": 140, "dental cleaning": 215, "x-ray": 88, "microchip": 42}
_FACTOR = {"dog": 1.3, "cat": 1.0, "rabbit": 0.85}


def next_appointment(vet: str) -> str:
    """Get the next free appointment with a vet."""
    return _FREE[vet.lower().split()[-1]]


def book_visit(pet: str, owner: str, date: str, reason: Optional[str] = None) -> dict:
    """Book a visit to the clinic for a pet."""
    return {"pet": pet, "date": date, "booking": f"V{sum(map(ord, pet.lower() + owner.lower().split()[-1]))}"}


def drug_dose(drug: str, weight_kg: float) -> float:
    """Calculate the dose of a drug in milligrams for an animal of the given weight."""
    return round(_MG_PER_KG[drug.lower()] * float(weight_kg), 2)


def vaccination_record(pet: str) -> dict:
    """Look up a pet's vaccinations. Also tells when the next one is due."""
    return _SHOTS[pet.lower()]


def treatment_price(
    treatment: Literal["neutering", "dental cleaning", "x-ray", "microchip"],
    species: Literal["dog", "cat", "rabbit"],
) -> float:
    """Get the price of a treatment in euros."""
    return round(_PRICES[treatment] * _FACTOR[species], 2)


TOOLS = [next_appointment, book_visit, drug_dose, vaccination_record, treatment_price]
