package console

import (
	"embed"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"
	"github.com/zeebo/xxh3"
)

//go:embed assets/console.css assets/console.js assets/icon.svg assets/vendor/htmx.min.js.gz
var assetFiles embed.FS

const script = "text/javascript; charset=utf-8"

// assets are the embedded files that pages load, by name: where each is, and its type.
var assets = map[string]struct{ path, kind string }{
	"console.css": {"assets/console.css", "text/css; charset=utf-8"}, "console.js": {"assets/console.js", script},
	"icon.svg": {"assets/icon.svg", "image/svg+xml"}, "htmx.min.js": {"assets/vendor/htmx.min.js.gz", script},
}

// assetHash is of all of them: part of their addresses, so that browsers cache them without asking again.
var assetHash = sync.OnceValue(func() string {
	h := xxh3.New()
	for _, name := range slices.Sorted(maps.Keys(assets)) {
		data, _ := assetFiles.ReadFile(assets[name].path) // it is embedded
		_, _ = h.Write(data)                              // does not fail
	}
	return fmt.Sprintf("%016x", h.Sum64())
})

func serveAsset(e echo.Context) error {
	f, ok := assets[e.Param("name")]
	if !ok {
		return echo.ErrNotFound
	}
	h := e.Response().Header()
	h.Set(echo.HeaderCacheControl, "public, max-age=31536000, immutable")
	h.Set(echo.HeaderXContentTypeOptions, "nosniff")
	if strings.HasSuffix(f.path, ".gz") {
		h.Set(echo.HeaderContentEncoding, "gzip")
	}
	data, _ := assetFiles.ReadFile(f.path) // it is embedded
	return e.Blob(http.StatusOK, f.kind, data)
}
