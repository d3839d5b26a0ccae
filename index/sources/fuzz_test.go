package sources

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// FuzzParse: a file that is read says the same when it is written again.
func FuzzParse(f *testing.F) {
	f.Add("# change 3\nlicensed\t新华社\npreferred  \"a\\tb\"\n")
	f.Add("\ufeffblocked x")
	f.Add("licensed")
	f.Fuzz(func(t *testing.T, text string) {
		listed, change, err := Parse(text)
		if err != nil {
			return
		}
		var b strings.Builder
		if change >= 0 {
			fmt.Fprintf(&b, "# change %d\n", change)
		}
		for source, policy := range listed {
			fmt.Fprintf(&b, "%s\t%s\n", policy, strconv.Quote(source))
		}
		again, changeAgain, err := Parse(b.String())
		if err != nil || changeAgain != change || len(again) != len(listed) {
			t.Fatalf("%q: %v, %d of %d, change %d and %d", b.String(), err, len(again), len(listed), change, changeAgain)
		}
		for source, policy := range listed {
			if again[source] != policy {
				t.Fatalf("%q is %s and then %s", source, policy, again[source])
			}
		}
	})
}
