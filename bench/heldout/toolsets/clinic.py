"""Front desk of a small clinic."""


def book_appointment(patient: str, doctor: str, date: str, time: str) -> str:
    """Book a patient in with a doctor.

    Args:
        patient: full name of the patient
        doctor: last name of the doctor
        date: day of the appointment
        time: time of the appointment
    """
    return f"booked, room {sum(map(ord, patient.lower().strip())) % 8 + 1}"


def doctor_hours(doctor: str, weekday: str) -> str:
    """When a doctor is in on a given weekday."""
    name = doctor.lower().replace("dr.", "").replace("dr", "", 1).strip() if doctor.lower().startswith("dr") else doctor.lower().strip()
    hours = {"okafor": "08:00 to 13:00", "lindqvist": "14:00 to 19:30", "haddad": "09:15 to 16:45"}
    if weekday.lower().strip() in ("saturday", "sunday"):
        return "not in"
    return hours.get(name, "unknown doctor")


def body_mass_index(weight_kg: float, height_cm: float) -> float:
    """Calculate the body mass index.

    Args:
        weight_kg: body weight in kilograms
        height_cm: height in centimetres
    """
    return round(weight_kg / (height_cm / 100) ** 2, 1)


def lab_result(sample_code: str) -> str:
    """Fetch the result of a lab sample."""
    return {"LB-4471": "iron low, 9 umol/l", "LB-4480": "all values normal", "LB-4502": "sample unusable, repeat"}.get(sample_code.upper().strip(), "not ready")


TOOLS = [book_appointment, doctor_hours, body_mass_index, lab_result]
