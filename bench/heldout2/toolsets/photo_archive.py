from typing import List, Literal, Optional

_PHOTOS = {
    "IMG_0042": ("Lisbon", "Vera Holm", "4032x3024", "harbour"),
    "IMG_0917": ("Tromsø", "Anders Vik", "6000x4000", "northern lights"),
    "DSC1188": ("Siena", "Paola Neri", "5184x3456", "horse race"),
    "P-3301": ("Bruges", "unknown", "2048x1365", "canal"),
}


def search_photos(subject: str, place: Optional[str] = None, year: Optional[int] = None) -> dict:
    """Search the archive for photos of a subject.

    Args:
        subject: What is to be seen in the photo.
        place: Town or country where it was taken.
        year: Year it was taken.
    """
    n = len(subject.lower().strip().rstrip("s")) * 11 + (len(place) * 3 if place else 40) + (int(year) % 10 if year else 5)
    return {"found": n}


def photo_info(photo_id: str) -> dict:
    """Show who took a photo, where, and its size."""
    place, by, size, subject = _PHOTOS[photo_id]
    return {"id": photo_id, "place": place, "photographer": by, "size": size, "subject": subject}


def add_tags(photo_id: str, tags: List[str]) -> str:
    """Add one or more tags to a photo."""
    return f"{photo_id} now has {len(tags) + len(photo_id) * 4} tags"


def create_album(title: str, private: bool = False) -> dict:
    """Create an empty album with a title."""
    return {"album": f"ALB-{sum(map(ord, title.lower())) % 5000 + 100}", "title": title, "private": private}


def rotate_photo(photo_id: str, degrees: int, direction: Literal["left", "right"] = "right") -> str:
    """Rotate a photo.

    Args:
        photo_id: The photo.
        degrees: Angle to turn it by.
        direction: Which way to turn.
    """
    return f"{photo_id} rotated, saved as revision r{int(degrees) // 9 * 13 + len(photo_id) + (direction == 'left')}"


def export_photo(photo_id: str, file_format: Literal["jpeg", "png", "tiff"], width: Optional[int] = None) -> str:
    """Export a photo to a file and return its path.

    Args:
        photo_id: The photo.
        file_format: Format of the file.
        width: Width in pixels; the original width if not given.
    """
    size = f"_{int(width)}" if width else ""
    return f"/export/{len(photo_id) * 7}/{photo_id}{size}.{file_format.lower()}"


TOOLS = [search_photos, photo_info, add_tags, create_album, rotate_photo, export_photo]
