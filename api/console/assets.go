package console

import (
	"embed"
	"fmt"
	"io/fs"
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
	kind string
	data []byte
	gzip bool
}

func loadAssets() (a assets, err error) {
	a.files = map[string]asset{}
	h := xxh3.New()
	kinds := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	err = fs.WalkDir(assetFiles, "assets", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := assetFiles.ReadFile(p)
		if err != nil {
			return err
		}
		name, zipped := strings.CutSuffix(path.Base(p), ".gz")
		a.files[name] = asset{kind: kinds[path.Ext(name)], data: b, gzip: zipped}
		_, err = h.Write(b)
		return err
	})
	a.hash = fmt.Sprintf("%016x", h.Sum64())
	return a, err
}

func (a *assets) serve(e echo.Context) error {
	f, ok := a.files[e.Param("name")]
	if !ok {
		return echo.ErrNotFound
	}
	h := e.Response().Header()
	h.Set(echo.HeaderCacheControl, "public, max-age=31536000, immutable")
	h.Set(echo.HeaderXContentTypeOptions, "nosniff")
	if f.gzip {
		h.Set(echo.HeaderContentEncoding, "gzip")
	}
	return e.Blob(http.StatusOK, f.kind, f.data)
}
