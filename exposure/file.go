package exposure

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver

	"jianguo/internal/disk"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wait"
	"jianguo/internal/wrap"
)

// format is the version of the file that this program writes and reads.
const fileFormat = "1"

// schema of the state file. Heads are clustered by user, so that a flush in key
// order touches each page once. With 16 KiB pages a head always fits its leaf, and shards waste a few
// per cent of what they occupy.
const fileSchema = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE user (history TEXT NOT NULL, user TEXT NOT NULL, head BLOB NOT NULL,
	PRIMARY KEY (history, user)) WITHOUT ROWID;
CREATE TABLE shard (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE quarantine (history TEXT NOT NULL, user TEXT NOT NULL, head BLOB NOT NULL, reason TEXT NOT NULL);
INSERT INTO meta VALUES ('format', '` + fileFormat + `'), ('applied', '0'), ('log', '');
`

// FileDSN is the data source of a state file, with options of the driver.
func FileDSN(path string, options string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + options
}

// CreateFile creates the file, unless there is one. It gets its name when it is
// complete, so that a process that is killed meanwhile leaves no file without tables.
func CreateFile(ctx context.Context, path string, random io.Reader) error {
	if fi, err := os.Stat(path); err == nil && fi.Size() > 0 {
		return nil
	}
	return must.Catch(func() {
		begun := path + ".begun"
		must.Do(errors.Join(os.RemoveAll(begun), os.RemoveAll(begun+"-journal")))
		writeSchema(ctx, begun, random)
		must.Do(os.Rename(begun, path))
		must.Do(disk.Sync(filepath.Dir(path)))
	})
}

// writeSchema writes the schema and the secret. Page size can only be chosen
// before the file is in WAL mode, hence a connection of its own. Package must ends it.
func writeSchema(ctx context.Context, path string, random io.Reader) {
	db := must.Get(sql.Open("sqlite3", FileDSN(path, "")))
	defer db.Close()
	db.SetMaxOpenConns(1)
	must.Get(db.ExecContext(ctx, "PRAGMA page_size = 16384; BEGIN IMMEDIATE;"+fileSchema))
	var secret [32]byte
	must.Get(io.ReadFull(cmp.Or(random, rand.Reader), secret[:]))
	must.Get(db.ExecContext(ctx, "INSERT INTO meta VALUES ('secret', ?); COMMIT", secret[:]))
}

// FileMeta reads the values of the meta table by name, and checks the format.
func FileMeta(ctx context.Context, from sqlite.Querier) (map[string]string, error) {
	values, err := must.Try(func() map[string]string {
		return maps.Collect(sqlite.Pairs[string, string](ctx, from, "SELECT name, value FROM meta"))
	})
	if err != nil {
		return nil, fmt.Errorf("exposure: meta: %w", err)
	}
	if f := values["format"]; f != fileFormat {
		return nil, fmt.Errorf("the state file has format %s, and this program reads %s: "+
			"start the jianguo that wrote it", f, fileFormat)
	}
	return values, nil
}

// CopyFile copies a state file, which may be in use, to another place: as it stood at one moment, synced. It waits
// until the file holds every event up to a sequence of the log; 0 does not wait.
func CopyFile(ctx context.Context, path, to string, seq uint64) error {
	return wrap.Err(must.Catch(func() {
		db := must.Get(sql.Open("sqlite3", FileDSN(path, "_busy_timeout=10000")))
		defer db.Close()
		for {
			n := must.Get(strconv.ParseUint(must.Get(FileMeta(ctx, db))["applied"], 10, 64))
			if n >= seq {
				break
			}
			must.Dof(wait.For(ctx, 50*time.Millisecond), "it holds events up to %d of %d", n, seq)
		}
		must.Do(sqlite.CopyTo(ctx, db, to))
	}), "exposure: backup of %s", path)
}
