package console

import (
	"embed"
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/zeebo/xxh3"
)

//go:embed assets/console.css assets/console.js assets/icon.svg assets/vendor/htmx.min.js.gz
var assetFiles embed.FS

// assets are the embedded files that pages load, by name.
type assets struct {
	files map[string]asset
	hash  string // of all of them: part of their addresses, so that browsers cache them without asking again
}

type asset struct {
	path, kind string
	data       []byte
}

func loadAssets() (a assets, err error) {
	const script = "text/javascript; charset=utf-8"
	a.files = map[string]asset{}
	h := xxh3.New()
	for _, f := range []asset{{path: "console.css", kind: "text/css; charset=utf-8"},
		{path: "console.js", kind: script}, {path: "icon.svg", kind: "image/svg+xml"},
		{path: "vendor/htmx.min.js.gz", kind: script}} {
		if f.data, err = assetFiles.ReadFile("assets/" + f.path); err != nil {
			return a, err
		}
		a.files[strings.TrimSuffix(path.Base(f.path), ".gz")] = f
		_, _ = h.Write(f.data) // does not fail
	}
	a.hash = fmt.Sprintf("%016x", h.Sum64())
	return a, nil
}

func (a *assets) serve(e echo.Context) error {
	f, ok := a.files[e.Param("name")]
	if !ok {
		return echo.ErrNotFound
	}
	h := e.Response().Header()
	h.Set(echo.HeaderCacheControl, "public, max-age=31536000, immutable")
	h.Set(echo.HeaderXContentTypeOptions, "nosniff")
	if strings.HasSuffix(f.path, ".gz") {
		h.Set(echo.HeaderContentEncoding, "gzip")
	}
	return e.Blob(http.StatusOK, f.kind, f.data)
}
