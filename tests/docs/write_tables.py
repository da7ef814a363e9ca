"""Write everything in the docs that is made from the code or from other pages: ``make tables``."""

from docs import feature_table, untranslated_table
from docs.marked import write
from docs.site_nav import HOME, SETTINGS, navigation, page_list

write(feature_table.PAGE, "features", feature_table.table())
write(untranslated_table.PAGE, "untranslated", untranslated_table.table())
write(SETTINGS, "navigation", navigation(), "# {}")
write(HOME, "pages", page_list())
