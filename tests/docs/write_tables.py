"""Write everything in the docs that is made from the code or from other pages: ``make tables``."""

from docs.api_pages import FOLDER, pages
from docs.marked import DOCS, write
from docs.reference_tables import TABLES
from docs.site_nav import HOME, SETTINGS, navigation, page_list

for page, tables in TABLES.items():
    for name, made in tables.items():
        write(DOCS / page, name, made())
made_pages = list(pages())  # before the old ones go: an error here leaves them alone
for old in FOLDER.glob("*.md"):
    old.unlink()
FOLDER.mkdir(exist_ok=True)
for path, text in made_pages:
    path.write_text(text)
# Last, since they list the pages.
write(SETTINGS, "navigation", navigation(), "# {}")
write(HOME, "pages", page_list())
