//go:build !race

package console

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"jianguo/internal/testbed"
)

// colour is red, green and blue, 0…1.
type colour [3]float64

// sheet holds the colours of the stylesheet.
type sheet struct {
	themes map[string]map[string]colour // custom properties by theme
	rules  []cssRule
}

type cssRule struct{ selector, ink, behind string }

var (
	cssRules    = regexp.MustCompile(`([^{}]+)\{([^{}]*)\}`)
	cssColour   = regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{3,6})\b`)
	cssInk      = regexp.MustCompile(`(?:^|[; ])(?:color|fill): ([^;]+)`)
	cssBehind   = regexp.MustCompile(`(?:^|[; ])background: ([^;]+)`)
	cssComments = regexp.MustCompile(`(?s)/\*.*?\*/`)
)

func readSheet(t *testing.T) *sheet {
	t.Helper()
	raw, err := assetFiles.ReadFile("assets/console.css")
	testbed.OK(t, err)
	s := &sheet{themes: map[string]map[string]colour{}}
	for _, m := range cssRules.FindAllStringSubmatch(cssComments.ReplaceAllString(string(raw), ""), -1) {
		selector, body := strings.TrimSpace(m[1]), m[2]
		if strings.HasPrefix(selector, ":root") {
			theme := map[string]colour{}
			for _, c := range cssColour.FindAllStringSubmatch(body, -1) {
				theme[c[1]] = hex(t, c[2])
			}
			s.themes[selector] = theme
			continue
		}
		rule := cssRule{selector: selector}
		if c := cssInk.FindStringSubmatch(body); c != nil {
			rule.ink = strings.TrimSpace(c[1])
		}
		if c := cssBehind.FindStringSubmatch(body); c != nil {
			rule.behind = strings.TrimSpace(c[1])
		}
		s.rules = append(s.rules, rule)
	}
	return s
}

func hex(t *testing.T, s string) (c colour) {
	t.Helper()
	if len(s) == 4 {
		s = string([]byte{s[0], s[1], s[1], s[2], s[2], s[3], s[3]})
	}
	for i := range c {
		n, err := strconv.ParseUint(s[1+2*i:3+2*i], 16, 8)
		testbed.OK(t, err)
		c[i] = float64(n) / 255
	}
	return c
}

var (
	cssVar = regexp.MustCompile(`^var\(--([a-z-]+)\)$`)
	cssMix = regexp.MustCompile(`^color-mix\(in srgb, var\(--([a-z-]+)\) ([0-9]+)%, var\(--([a-z-]+)\)\)$`)
)

// resolve returns the colour of a value in a theme; false: it is no colour.
func resolve(theme map[string]colour, value string) (c colour, ok bool) {
	if m := cssVar.FindStringSubmatch(value); m != nil {
		c, ok = theme[m[1]]
		return c, ok
	}
	m := cssMix.FindStringSubmatch(value)
	if m == nil {
		return c, false
	}
	share, err := strconv.ParseFloat(m[2], 64)
	a, okA := theme[m[1]]
	b, okB := theme[m[3]]
	for i := range c {
		c[i] = (a[i]*share + b[i]*(100-share)) / 100
	}
	return c, err == nil && okA && okB
}

// ratio is the contrast of two colours as WCAG 2.2 defines it, 1 to 21.
func ratio(a, b colour) float64 {
	light := func(c colour) float64 {
		for i, v := range c {
			if c[i] = v / 12.92; v > .04045 {
				c[i] = math.Pow((v+.055)/1.055, 2.4)
			}
		}
		return .2126*c[0] + .7152*c[1] + .0722*c[2]
	}
	x, y := light(a), light(b)
	return (max(x, y) + .05) / (min(x, y) + .05)
}

// TestContrast checks the stylesheet against WCAG 2.2 AA in both themes: text has a
// contrast of 4.5 to every possible background, meaningful shapes one of 3.
func TestContrast(t *testing.T) {
	s := readSheet(t)
	const light, dark, asked = ":root", `:root:not([data-theme=light])`, ":root[data-theme=dark]"
	if len(s.themes[light]) < 25 || !maps.Equal(s.themes[dark], s.themes[asked]) {
		t.Fatalf("the themes are not the same: %d %d %d colours", len(s.themes[light]), len(s.themes[dark]), len(s.themes[asked]))
	}
	for name := range s.themes[dark] {
		if _, ok := s.themes[light][name]; !ok {
			t.Errorf("--%s is only there in the dark", name)
		}
	}
	checked := 0
	for name, theme := range map[string]map[string]colour{"light": s.themes[light], "dark": s.themes[dark]} {
		enough := func(what, ink, behind string, least float64) {
			t.Helper()
			a, okA := resolve(theme, ink)
			b, okB := resolve(theme, behind)
			if !okA || !okB {
				t.Errorf("%s, %s: %q on %q are not both colours of the theme", name, what, ink, behind)
				return
			}
			checked++
			if got := ratio(a, b); got < least {
				t.Errorf("%s, %s: %s on %s has a contrast of %.2f, want %.1f", name, what, ink, behind, got, least)
			}
		}
		// What a rule colours, on what it puts behind it; without that, on all
		// that a page or a card is made of.
		for _, r := range s.rules {
			switch _, named := resolve(theme, r.ink); {
			case r.ink == "" && r.behind == "", r.ink != "" && !named && !strings.Contains(r.ink, "var(--"):
			case shape(r.selector):
			case r.behind == "" || r.behind == "none":
				for _, behind := range []string{"var(--card)", "var(--paper)"} {
					enough(r.selector, r.ink, behind, 4.5)
				}
			case strings.Contains(r.behind, "gradient"), strings.Contains(r.behind, "transparent"):
			case r.ink != "":
				enough(r.selector, r.ink, r.behind, 4.5)
			case strings.Contains(r.behind, "var(--"):
				enough(r.selector, "var(--ink)", r.behind, 4.5)
			}
		}
		// What is inherited: links, side remarks and badges on the surfaces on
		// which they stand.
		for ink, surfaces := range map[string]string{
			"ink":     "paper card faint accent-soft suspect-soft ins del",
			"quiet":   "paper card faint accent-soft",
			"accent":  "paper card faint accent-soft suspect-soft",
			"suspect": "card", "unique": "card", "duplicate": "card",
		} {
			for _, surface := range strings.Fields(surfaces) {
				enough("inherited", "var(--"+ink+")", "var(--"+surface+")", 4.5)
			}
		}
		for _, bar := range []string{"bar-unique", "bar-suspect", "bar-duplicate", "accent", "figure"} {
			enough("a shape", "var(--"+bar+")", "var(--card)", 3)
		}
	}
	if checked < 150 {
		t.Errorf("only %d pairs of colours were found", checked)
	}
}

// shape reports whether a rule is about drawings: their colours are no text.
func shape(selector string) bool {
	return slices.ContainsFunc([]string{"rect.", "circle.", ".swatch", ".disc", ".spark", ".brand-", ".bit", ".whisker", ".axis", "::backdrop"}, func(part string) bool {
		return strings.Contains(selector, part)
	})
}

func TestContrastOfKnownColours(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want string
	}{{"#000", "#fff", "21.00"}, {"#777777", "#ffffff", "4.48"}, {"#ff0000", "#ffffff", "4.00"}} {
		if got := fmt.Sprintf("%.2f", ratio(hex(t, c.a), hex(t, c.b))); got != c.want {
			t.Errorf("%s on %s: %s, want %s", c.a, c.b, got, c.want)
		}
	}
}
