"""The knowledge base: articles, found by full-text search."""

from typing import Annotated, ClassVar, Literal, NotRequired

from pydantic import Field as Bounds
from typing_extensions import TypedDict

from cowork_gym.mock_services.kit import Caseless, Effect, Field, Labels, Record, Service, ToolError, View, given, summary, tool
from cowork_gym.mock_services.kit.excerpt import excerpt
from cowork_gym.mock_services.kit.tables import terms
from cowork_gym.mock_services.kit.types import Count, Text

__all__ = ["KB", "Article", "ArticleFound", "ArticleList", "ArticleUpdated", "Query"]

Query = Annotated[str, Bounds(min_length=1, max_length=500)]
"""What to search for."""


class Article(Record, table=True):
    """An article. A title outweighs any number of mentions in the text."""

    searched: ClassVar = {"title": 1000.0, "tags": 30.0, "content": 1.0}
    stamps: ClassVar = frozenset({"last_updated"})
    article_id: str = Field(primary_key=True)
    title: str
    category: str | None = Field(default=None, sa_type=Caseless)
    tags: list[str] | None = Field(default=None, sa_type=Labels)
    content: str
    last_updated: str | None = None
    views: int = 0


class ArticleFound(TypedDict):
    """What the search shows of an article."""

    article_id: str
    title: str
    category: NotRequired[str]
    tags: NotRequired[list[str]]
    last_updated: NotRequired[str]
    views: int
    snippet: NotRequired[str]


class ArticleList(TypedDict):
    """Articles, best match first."""

    articles: list[ArticleFound]
    total: int


class ArticleUpdated(TypedDict):
    """An article was written."""

    status: Literal["updated"]
    article_id: str


class KB(Service):
    """Knowledge base: articles with category, tags and full-text search."""

    name = "kb"
    tables = (Article,)

    @tool(Effect.READ)
    def search(self, query: Query, category: Text | None = None, max_results: Count = 5) -> ArticleList:
        """Search articles by the words in title, tags and text, best match first: rare words and words in the title count most.

        An article need not have all of the words. Words match in any case, with or without accents, and English ones in any form, such as
        rotate and rotation; Chinese, Japanese and Korean text matches in pairs of characters. There is no query syntax. Each hit has a
        snippet of its text; kb_get_article has the whole of it.

        Args:
            query: Words to search for.
            category: Only articles of this category, in any case.
            max_results: How many articles to list at most.

        Raises:
            ToolError: The query has no word.
        """
        if not terms(query):
            raise ToolError("the query has no word to search for")
        rows = self.store.search(Article, query, max_results, **given(category=category))
        hits = [summary(ArticleFound, {**Article.shown(row), "snippet": excerpt(row.content, query)}) for row in rows]
        return {"articles": hits, "total": len(hits)}

    @tool(Effect.READ)
    def get_article(self, article_id: str) -> View:
        """Get one article with its whole text.

        Args:
            article_id: The article's id, as kb_search gives it.
        """
        return Article.shown(self.store.get(Article, article_id))

    @tool(Effect.WRITE, audit="updates")
    def update_article(self, article_id: str, content: Text) -> ArticleUpdated:
        """Replace the text of an article. Title, category and tags stay as they are.

        Args:
            article_id: The article to write.
            content: The whole new text.
        """
        self.store.update(Article, article_id, content=content, last_updated=self.now.date().isoformat())
        self.audit({"article_id": article_id, "content": content, "timestamp": self.stamp})
        return {"status": "updated", "article_id": article_id}
