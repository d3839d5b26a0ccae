package console

import (
	"embed"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
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
	kind string
	data []byte
}

func loadAssets() (a assets, err error) {
	a.files = map[string]asset{}
	h := xxh3.New()
	for name, kind := range map[string]string{"console.css": "text/css; charset=utf-8",
		"console.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
		zipped: "text/javascript; charset=utf-8"} {
		b, err := assetFiles.ReadFile("assets/" + name)
		if err != nil {
			return a, err
		}
		a.files[strings.TrimSuffix(path.Base(name), ".gz")] = asset{kind, b}
	}
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		_, _ = h.Write(a.files[name].data) // does not fail
	}
	a.hash = fmt.Sprintf("%016x", h.Sum64())
	return a, err
}

// zipped is stored compressed.
const zipped = "vendor/htmx.min.js.gz"

func (a *assets) serve(e echo.Context) error {
	f, ok := a.files[e.Param("name")]
	if !ok {
		return echo.ErrNotFound
	}
	h := e.Response().Header()
	h.Set(echo.HeaderCacheControl, "public, max-age=31536000, immutable")
	h.Set(echo.HeaderXContentTypeOptions, "nosniff")
	if strings.HasSuffix(zipped, e.Param("name")+".gz") {
		h.Set(echo.HeaderContentEncoding, "gzip")
	}
	return e.Blob(http.StatusOK, f.kind, f.data)
}
