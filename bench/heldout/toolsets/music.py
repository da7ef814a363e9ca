"""A music player."""
from typing import Literal, Optional


def play_song(title: str, artist: Optional[str] = None) -> str:
    """Play a song."""
    seconds = 150 + sum(map(ord, title.lower().strip())) % 120
    return f"Now playing, length {seconds // 60}:{seconds % 60:02d}"


def make_playlist(name: str, mood: Literal["calm", "happy", "party", "focus"], songs: int = 20) -> str:
    """Make a playlist for a mood.

    Args:
        name: what to call the playlist
        mood: the mood of the songs
        songs: how many songs
    """
    return f"{songs} songs, {songs * {'calm': 5, 'happy': 3, 'party': 4, 'focus': 6}[mood]} minutes"


def artist_facts(artist: str) -> dict:
    """Get the label and the number of albums of an artist."""
    table = {"the paper kites": ("Wonderlick", 6), "paper kites": ("Wonderlick", 6), "marta ruiz": ("Solar", 11), "dj okto": ("Bassline", 4)}
    label, albums = table.get(artist.lower().strip(), ("unknown", 0))
    return {"label": label, "albums": albums}


TOOLS = [play_song, make_playlist, artist_facts]
