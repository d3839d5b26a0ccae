package jianguo_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jianguo/internal/testbed"
)

// The sizes above which code is hard to read. Tests are not counted.
const (
	packageLines  = 4000
	fileLines     = 500
	functionLines = 60
	typeMethods   = 40
)

// TestSizes holds packages, files, functions and types to their bounds.
func TestSizes(t *testing.T) {
	packages, methods := map[string]int{}, map[string]int{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		positions := token.NewFileSet()
		file, err := parser.ParseFile(positions, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if ast.IsGenerated(file) {
			return nil
		}
		narrow(t, path)
		folder := filepath.Dir(path)
		lines := positions.File(file.Package).LineCount()
		packages[folder] += lines
		if lines > fileLines {
			t.Errorf("%s has %d lines, at most %d", path, lines, fileLines)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := positions.Position(f.End()).Line - positions.Position(f.Pos()).Line + 1; n > functionLines {
				t.Errorf("%s: %s has %d lines, at most %d", path, f.Name.Name, n, functionLines)
			}
			if f.Recv != nil {
				methods[folder+"."+receiver(f.Recv.List[0].Type)]++
			}
		}
		return nil
	})
	testbed.OK(t, err)
	for folder, n := range packages {
		if n > packageLines {
			t.Errorf("%s has %d lines, at most %d", folder, n, packageLines)
		}
	}
	for name, n := range methods {
		if n > typeMethods {
			t.Errorf("%s has %d methods, at most %d", name, n, typeMethods)
		}
	}
}

// lineColumns bounds the width of a line; a tab is four columns.
const lineColumns = 120

// narrow holds the lines of a file to their width.
func narrow(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	testbed.OK(t, err)
	for i, line := range strings.Split(string(text), "\n") {
		columns := 0
		for _, r := range line {
			if columns++; r == '\t' {
				columns += 3
			}
		}
		if columns > lineColumns {
			t.Errorf("%s:%d has %d columns, at most %d", path, i+1, columns, lineColumns)
		}
	}
}

// receiver is the name of the type of a method.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
