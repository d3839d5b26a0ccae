package api

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"jianguo/index"
)

//go:embed pages
var pageFiles embed.FS

// beijing is the time the pages speak in: their readers are editors there.
var beijing = time.FixedZone("UTC+8", 8*60*60)

var pageTemplates = template.Must(template.New("").Funcs(template.FuncMap{
	"time":    pageTime,
	"percent": func(v *float32) string { return fmt.Sprintf("%.0f%%", *v*100) },
	"verdict": func(v index.Verdict) string { return verdictsInChinese[v] },
	"rule":    func(r index.Rule) string { return rulesInChinese[r] },
	"cause":   func(c index.Cause) string { return causesInChinese[c] },
	"why":     memberWhy,
	"item":    func(id string) string { return "/item?id=" + url.QueryEscape(id) },
}).ParseFS(pageFiles, "pages/*.html"))

var verdictsInChinese = map[index.Verdict]string{
	index.Unique: "首发", index.Suspect: "疑似", index.Duplicate: "重复", index.Withdrawn: "已撤回",
}

var rulesInChinese = map[index.Rule]string{
	index.ByExact: "同文", index.ByHamming: "指纹", index.ByMargin: "弱位", index.BySketch: "短文", index.ByPassage: "段落",
	index.ByBlocked: "封禁", index.ByEditor: "编辑", index.BySuspected: "疑似拒收",
}

var causesInChinese = map[index.Cause]string{
	index.CauseIngest: "收稿", index.CauseRevision: "改稿", index.CauseWithdrawal: "撤回", index.CausePromotion: "递补", index.CauseEditor: "编辑",
}

func pageTime(v any) string {
	switch t := v.(type) {
	case time.Time:
		return t.In(beijing).Format("2006-01-02 15:04:05")
	case *time.Time:
		if t != nil {
			return pageTime(*t)
		}
	}
	return "—"
}

// memberWhy is the sentence behind a member's verdict; the list has less to
// say than the item itself.
func memberWhy(m index.Member, lead *index.Member) string {
	if m.Why != "" || m.Verdict == index.Withdrawn {
		return m.Why
	}
	e := index.Event{Verdict: m.Verdict, Rule: m.Rule, Distance: m.Distance, Resemblance: m.Resemblance}
	if lead != nil && lead.ID != m.ID {
		e.Of = lead.ID
	}
	if e.Of == "" {
		return ""
	}
	return index.Why(&e, index.Chinese)
}

// pagePolicy keeps a page to its own style sheet and forms: no script runs,
// whatever a title says.
const pagePolicy = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// pages registers the pages for people. They are few and plain, and need no
// scripts.
func (s *Server) pages() {
	s.handle(http.MethodGet, "/", editor, page(s.homePage))
	s.handle(http.MethodGet, "/cluster", editor, page(s.clusterPage))
	s.handle(http.MethodGet, "/item", editor, page(s.itemPage))
	s.echo.GET("/pages.css", func(c echo.Context) error {
		css, err := pageFiles.ReadFile("pages/pages.css")
		if err != nil {
			return err
		}
		return c.Blob(http.StatusOK, "text/css; charset=utf-8", css)
	})
}

// view is what a template is given.
type view struct {
	Title string
	Query url.Values
	Data  any
}

// page renders what a handler returns, and its errors, as HTML.
func page(h func(c echo.Context) (name string, v view, err error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		name, v, err := h(c)
		status := http.StatusOK
		if err != nil {
			p := problemOf(err)
			if p.Status >= 500 {
				return err
			}
			name, v, status = "problem.html", view{Title: problemInChinese(p.Status), Data: p}, p.Status
		}
		v.Query = c.QueryParams()
		var b bytes.Buffer
		if err := pageTemplates.ExecuteTemplate(&b, name, v); err != nil {
			return fmt.Errorf("api: page %s: %w", name, err)
		}
		header := c.Response().Header()
		header.Set(echo.HeaderContentSecurityPolicy, pagePolicy)
		header.Set(echo.HeaderReferrerPolicy, "same-origin")
		header.Set(echo.HeaderCacheControl, "no-store")
		return c.HTMLBlob(status, b.Bytes())
	}
}

func problemInChinese(status int) string {
	if status == http.StatusNotFound {
		return "没有找到"
	}
	return "请求有误"
}

// Bounds of what the pages show.
const (
	homeClusters = 20
	homeMembers  = 8
	pageMembers  = 500
)

// listed is a cluster with as many members as a page shows.
type listed struct {
	*index.Cluster
	More int // members that are not shown
}

func cut(c *index.Cluster, most int) listed {
	l := listed{Cluster: c, More: max(len(c.Members)-most, 0)}
	c.Members = c.Members[:len(c.Members)-l.More]
	return l
}

// homePage lists clusters with their members.
func (s *Server) homePage(c echo.Context) (string, view, error) {
	q, err := clusterQuery(c)
	if err != nil {
		return "", view{}, err
	}
	if c.QueryParam("limit") == "" {
		q.Limit = homeClusters
	}
	found, err := s.listClusters(c, q)
	if err != nil {
		return "", view{}, err
	}
	type home struct {
		Clusters []listed
		Next     string // address of the next page
		Events   uint64
		Sort     string
	}
	h := home{Sort: q.Sort}
	_, h.Events = s.cfg.Index.Applied()
	for _, f := range found.Clusters {
		cluster, err := s.cfg.Index.Cluster(c.Request().Context(), f.ID)
		if err != nil {
			return "", view{}, err
		}
		h.Clusters = append(h.Clusters, cut(cluster, homeMembers))
	}
	if found.Next != "" {
		next := c.QueryParams()
		next.Set("cursor", found.Next)
		h.Next = "/?" + next.Encode()
	}
	return "home.html", view{Title: "簇", Data: h}, nil
}

func (s *Server) clusterPage(c echo.Context) (string, view, error) {
	cluster, err := s.findCluster(c, "id", c.QueryParam("id"))
	if err != nil {
		return "", view{}, err
	}
	return "cluster.html", view{Title: "簇 " + strconv.FormatUint(uint64(cluster.ID), 10), Data: cut(cluster, pageMembers)}, nil
}

// itemPage looks up an id as it was pasted: with space around it, unless that
// is the id's own.
func (s *Server) itemPage(c echo.Context) (string, view, error) {
	given := c.QueryParam("id")
	it, err := s.findItem(c, given)
	if trimmed := strings.TrimSpace(given); err != nil && trimmed != given {
		it, err = s.findItem(c, trimmed)
	}
	if err != nil {
		return "", view{}, err
	}
	return "item.html", view{Title: it.Title, Data: it}, nil
}
