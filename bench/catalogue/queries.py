"""What a model would search for, in two phrasings, and the tools of the public catalogue that fit.

Written from the servers' lists of names, by somebody who had not seen how the ranking treats them, and
not changed since. A tool is its server's package and its name; any of those named will do.
"""

from typing import NamedTuple

ATLASSIAN, CALENDAR, CHROME = "mcp-atlassian", "@cocal/google-calendar-mcp", "chrome-devtools-mcp"
FIRECRAWL, KUBERNETES, MONGO = "firecrawl-mcp", "mcp-server-kubernetes", "mongodb-mcp-server"
GIT, SQLITE, TAVILY, TIME = "mcp-server-git", "mcp-server-sqlite", "tavily-mcp", "mcp-server-time"
WORKSPACE, PLAYWRIGHT, EXA = "workspace-mcp", "@playwright/mcp", "exa-mcp-server"
HUBSPOT, NOTION, CONTEXT7 = "@hubspot/mcp-server", "@notionhq/notion-mcp-server", "@upstash/context7-mcp"
_OFFICIAL = "@modelcontextprotocol/server-"
FILES, GITHUB, GITLAB = f"{_OFFICIAL}filesystem", f"{_OFFICIAL}github", f"{_OFFICIAL}gitlab"
MAPS, POSTGRES, SLACK = f"{_OFFICIAL}google-maps", f"{_OFFICIAL}postgres", f"{_OFFICIAL}slack"
BRAVE, PUPPETEER = f"{_OFFICIAL}brave-search", f"{_OFFICIAL}puppeteer"
FETCH = "mcp-server-fetch"


class Case(NamedTuple):
    """One thing to do, how a model would say it twice, and what would do it."""

    first: str
    second: str
    right: tuple[tuple[str, str], ...]


def _of(server: str, *names: str) -> tuple[tuple[str, str], ...]:
    return tuple((server, name) for name in names)


CASES = (
    Case("email a colleague", "send a mail message", _of(WORKSPACE, "send_gmail_message")),
    Case("look through my inbox", "find emails from a sender", _of(WORKSPACE, "search_gmail_messages")),
    Case(
        "save an unsent email",
        "write a draft mail",
        _of(WORKSPACE, "draft_gmail_message"),
    ),
    Case(
        "book a meeting for tomorrow",
        "add an appointment to the calendar",
        (*_of(CALENDAR, "create-event", "create-events"), *_of(WORKSPACE, "manage_event")),
    ),
    Case(
        "when is everybody available",
        "check free and busy times of attendees",
        (*_of(CALENDAR, "get-freebusy"), *_of(WORKSPACE, "query_freebusy")),
    ),
    Case(
        "accept an invitation",
        "reply yes to a meeting request",
        _of(CALENDAR, "respond-to-event"),
    ),
    Case(
        "mark myself as on vacation",
        "set out of office",
        _of(WORKSPACE, "manage_out_of_office"),
    ),
    Case(
        "add a to-do item",
        "create a task with a due date",
        _of(WORKSPACE, "manage_task"),
    ),
    Case(
        "put numbers into cells of a spreadsheet",
        "write values to a sheet range",
        _of(WORKSPACE, "modify_sheet_values"),
    ),
    Case(
        "read a table from Google Sheets",
        "get cell values of a spreadsheet",
        _of(WORKSPACE, "read_sheet_values"),
    ),
    Case(
        "make a slide deck",
        "create a new presentation",
        _of(WORKSPACE, "create_presentation"),
    ),
    Case(
        "share a document with someone",
        "give a person edit access to a drive file",
        _of(WORKSPACE, "manage_drive_access", "set_drive_file_permissions"),
    ),
    Case(
        "turn a document into a PDF",
        "export Google doc as pdf",
        _of(WORKSPACE, "export_doc_to_pdf"),
    ),
    Case(
        "replace a word everywhere in a document",
        "find and replace text in a doc",
        _of(WORKSPACE, "find_and_replace_doc"),
    ),
    Case(
        "phone number of a person I know",
        "look up someone in my contacts",
        _of(WORKSPACE, "search_contacts", "get_contact", "list_contacts"),
    ),
    Case(
        "answers people gave in a survey",
        "list responses of a form",
        _of(WORKSPACE, "list_form_responses", "get_form_response"),
    ),
    Case("file a bug in Jira", "create a jira ticket", _of(ATLASSIAN, "jira_create_issue")),
    Case(
        "move a ticket to done",
        "change the status of a jira issue",
        _of(ATLASSIAN, "jira_transition_issue"),
    ),
    Case(
        "log two hours on a ticket",
        "add time spent to a jira issue",
        _of(ATLASSIAN, "jira_add_worklog"),
    ),
    Case(
        "what is in the current sprint",
        "issues of a sprint",
        _of(ATLASSIAN, "jira_get_sprint_issues"),
    ),
    Case(
        "find tickets by a JQL query",
        "search jira issues",
        _of(ATLASSIAN, "jira_search"),
    ),
    Case(
        "give a ticket to somebody else",
        "assign jira issue to user",
        _of(ATLASSIAN, "jira_assign_issue"),
    ),
    Case(
        "write a new wiki article",
        "create a Confluence page",
        _of(ATLASSIAN, "confluence_create_page"),
    ),
    Case(
        "what changed between two versions of a wiki page",
        "diff of Confluence page versions",
        _of(ATLASSIAN, "confluence_get_page_diff"),
    ),
    Case(
        "attach a file to a wiki page",
        "upload attachment to Confluence",
        _of(ATLASSIAN, "confluence_upload_attachment", "confluence_upload_attachments"),
    ),
    Case(
        "who may see a wiki page",
        "view restrictions of a Confluence page",
        _of(ATLASSIAN, "confluence_get_page_restrictions", "confluence_check_content_permissions"),
    ),
    Case(
        "open a PR on GitHub",
        "create a pull request",
        _of(GITHUB, "create_pull_request"),
    ),
    Case(
        "which files does this pull request touch",
        "changed files of a pull request",
        _of(GITHUB, "get_pull_request_files"),
    ),
    Case(
        "approve a colleague's pull request",
        "submit a code review on a pull request",
        _of(GITHUB, "create_pull_request_review"),
    ),
    Case("search source code on GitHub", "find code across repositories", _of(GITHUB, "search_code")),
    Case("open a merge request", "create a GitLab merge request", _of(GITLAB, "create_merge_request")),
    Case(
        "copy somebody's repository into my account",
        "fork a repo",
        (*_of(GITHUB, "fork_repository"), *_of(GITLAB, "fork_repository")),
    ),
    Case(
        "what did I change but not stage yet",
        "show unstaged changes in git",
        _of(GIT, "git_diff_unstaged"),
    ),
    Case("save my staged changes", "git commit with a message", _of(GIT, "git_commit")),
    Case("history of the repository", "list recent git commits", _of(GIT, "git_log")),
    Case(
        "switch to another branch",
        "git checkout a branch",
        _of(GIT, "git_checkout"),
    ),
    Case(
        "write in a Slack channel",
        "post a message to slack",
        _of(SLACK, "slack_post_message"),
    ),
    Case(
        "react with an emoji",
        "add a reaction to a message in slack",
        _of(SLACK, "slack_add_reaction"),
    ),
    Case(
        "latest messages in a slack channel",
        "read channel history",
        _of(SLACK, "slack_get_channel_history"),
    ),
    Case(
        "how do I drive from A to B",
        "route directions between two places",
        _of(MAPS, "maps_directions"),
    ),
    Case(
        "coordinates of an address",
        "turn an address into latitude and longitude",
        _of(MAPS, "maps_geocode"),
    ),
    Case("how high is this mountain", "altitude of a location", _of(MAPS, "maps_elevation")),
    Case(
        "restaurants near me",
        "search for local businesses",
        (*_of(MAPS, "maps_search_places"), *_of(BRAVE, "brave_local_search")),
    ),
    Case(
        "search the internet",
        "web search for recent news",
        (
            *_of(BRAVE, "brave_web_search"),
            *_of(TAVILY, "tavily_search"),
            *_of(FIRECRAWL, "firecrawl_search"),
            *_of(EXA, "web_search_exa"),
            *_of(WORKSPACE, "search_custom"),
        ),
    ),
    Case(
        "get the text of a web page",
        "fetch a url as markdown",
        (
            *_of(FETCH, "fetch"),
            *_of(FIRECRAWL, "firecrawl_scrape"),
            *_of(TAVILY, "tavily_extract"),
            *_of(EXA, "web_fetch_exa"),
        ),
    ),
    Case(
        "all addresses of a website",
        "map the urls of a site",
        (*_of(FIRECRAWL, "firecrawl_map"), *_of(TAVILY, "tavily_map")),
    ),
    Case(
        "scientific papers on a topic",
        "search research papers",
        _of(FIRECRAWL, "firecrawl_research_search_papers"),
    ),
    Case(
        "documentation of a programming library",
        "look up library docs",
        _of(CONTEXT7, "query-docs", "resolve-library-id"),
    ),
    Case(
        "take a picture of the page",
        "screenshot in the browser",
        (
            *_of(PLAYWRIGHT, "browser_take_screenshot"),
            *_of(CHROME, "take_screenshot"),
            *_of(PUPPETEER, "puppeteer_screenshot"),
        ),
    ),
    Case(
        "press a button on a web page",
        "click an element",
        (
            *_of(PLAYWRIGHT, "browser_click"),
            *_of(CHROME, "click"),
            *_of(PUPPETEER, "puppeteer_click"),
        ),
    ),
    Case(
        "why is my site slow",
        "record a performance trace",
        _of(CHROME, "performance_start_trace", "lighthouse_audit", "performance_analyze_insight"),
    ),
    Case(
        "which requests did the page make",
        "list network traffic in the browser",
        (*_of(CHROME, "list_network_requests"), *_of(PLAYWRIGHT, "browser_network_requests")),
    ),
    Case(
        "rename a file on disk",
        "move a file to another folder",
        _of(FILES, "move_file"),
    ),
    Case(
        "what is in this folder",
        "list files of a directory",
        _of(FILES, "list_directory", "list_directory_with_sizes", "directory_tree"),
    ),
    Case(
        "remove documents from a Mongo collection",
        "delete many documents in mongodb",
        _of(MONGO, "delete-many"),
    ),
    Case(
        "make queries on a field faster in MongoDB",
        "add an index to a collection",
        _of(MONGO, "create-index"),
    ),
    Case(
        "run a SELECT statement",
        "read only sql query",
        (*_of(POSTGRES, "query"), *_of(SQLITE, "read_query")),
    ),
    Case(
        "output of a crashed pod",
        "logs of a Kubernetes container",
        _of(KUBERNETES, "kubectl_logs"),
    ),
    Case(
        "run more replicas of a deployment",
        "scale a kubernetes deployment",
        _of(KUBERNETES, "kubectl_scale"),
    ),
    Case(
        "what time is it in Tokyo",
        "convert between time zones",
        (*_of(TIME, "get_current_time", "convert_time"), *_of(CALENDAR, "get-current-time")),
    ),
)
