"""A reader's feed in one page: who has read one telling of a story is shown no other, but the update.

    python3 examples/python/feed.py URL ARTICLES [TOKEN]

ARTICLES is a file of one article a line, {"id", "title", "body"}, as the platform has them; it has published them to
jianguo, too. The page is on a free port of this machine, which is printed.
"""
import html
import http.server
import json
import sys
import urllib.parse

from client import Client

NEWS = 80  # characters that make a later telling worth reading

PAGE = """<!doctype html><html lang="zh"><meta charset="utf-8"><title>未读</title>
<style>body{font:16px/1.7 sans-serif;max-width:40em;margin:2em auto}button{font:inherit;border:0;background:none;color:#22645f;
cursor:pointer;padding:0}</style><h1>%s 的未读</h1>%s"""
ARTICLE = """<form method="post"><input type="hidden" name="user" value="%s"><input type="hidden" name="id" value="%s">
<button>%s</button></form>"""


class Feed(http.server.BaseHTTPRequestHandler):
    articles = {}
    service = ()

    def unread(self, user):
        """The ids that jianguo leaves of all that the platform has."""
        body = {"user": user, "items": list(self.articles), "scope": "story", "adds": NEWS}
        return json.loads(Client(*self.service)._post("/filter", json.dumps(body).encode()))["items"]

    def page(self, user, above=""):
        links = (ARTICLE % tuple(map(html.escape, (user, i, self.articles[i]["title"]))) for i in self.unread(user))
        self.answer(PAGE % (html.escape(user), above + ("".join(links) or "<p>没有了。</p>")))

    def answer(self, page):
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(page.encode())

    def do_GET(self):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        self.page(query.get("user", ["ann"])[0])

    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        user, read = form["user"][0], self.articles[form["id"][0]]
        Client(*self.service).report(user, "seen", read["id"])  # the next filter knows it
        self.page(user, "<h2>%s</h2><p>%s</p><hr>" % (html.escape(read["title"]), html.escape(read["body"])))


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf-8") as lines:
        Feed.articles = {article["id"]: article for article in map(json.loads, lines)}
    Feed.service = (sys.argv[1], *sys.argv[3:4])
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Feed) as server:
        print("http://127.0.0.1:%d/?user=ann" % server.server_port, flush=True)
        server.serve_forever()
