package match

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"jianguo/compare"
	"jianguo/internal/sqlite"
	"jianguo/internal/testbed"
)

// TestBlankByFormerRecipe: a comparison ahead by the former recipe may be proposed a version that is blank by it,
// since the writer is just posting it by the next one. To it such a version is one that is not there yet.
func TestBlankByFormerRecipe(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "index.db"), sqlite.Creates, "off")
	testbed.OK(t, err)
	defer db.Close()
	s := compare.NewSketch(&compare.Text{Body: "全省防汛抗旱工作会议今天上午召开"})
	if _, err := db.Exec(`CREATE TABLE items (ordinal INTEGER PRIMARY KEY, sketch BLOB);
		INSERT INTO items VALUES (1, ?), (2, NULL)`, s.AppendBinary(nil)); err != nil {
		t.Fatal(err)
	}
	r := Reader{DB: db, Compared: "items"}
	if got, err := r.readSketch(t.Context(), 1); err != nil || got != s {
		t.Errorf("%+v, %v; want %+v", got, err, s)
	}
	if _, err := r.readSketch(t.Context(), 2); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("a version that is blank: %v", err)
	}
}
