package main

import (
	"strings"
	"testing"
)

func TestLog(t *testing.T) {
	var printed strings.Builder
	ok, err := summarize(strings.NewReader(`{"Action":"output","Package":"p","Test":"TestBad","Output":"it is wrong\n"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"not shown\n"}
{"Action":"pass","Package":"p","Test":"TestGood/part","Elapsed":3}
{"Action":"pass","Package":"p","Test":"TestGood","Elapsed":3}
{"Action":"fail","Package":"p","Test":"TestBad","Elapsed":1}
{"Action":"fail","Package":"p","Elapsed":4}
{"Action":"skip","Package":"q","Test":"TestLazy","Elapsed":0}
{"Action":"pass","Package":"q","Elapsed":1}
{"Action":"skip","Package":"without-tests","Elapsed":0}
`), &printed, 1)
	if ok || err != nil {
		t.Fatal(ok, err)
	}
	const want = `--- FAIL p TestBad
it is wrong
fail p                                            4.0 s
--- SKIP q TestLazy
pass q                                            1.0 s
the slowest tests:
      3.0 s  p TestGood
2 passed, 1 failed, 1 skipped
`
	if got := printed.String(); got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}
