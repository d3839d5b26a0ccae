package compare

import (
	"math/rand/v2"
	"testing"
)

// TestOneMatter: texts that share their openings tell of one matter, unless each has a subject of its own, days lie
// between, or one tells it at its end. Two suspects with subjects of their own tell of one matter only on near days.
func TestOneMatter(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 7))
	words := func(n int) string {
		s := make([]rune, n)
		for i := range s {
			s[i] = '一' + rune(r.IntN(20000))
		}
		return string(s)
	}
	// doc has words of two characters.
	doc := func(day int32, body string) *Doc {
		d := Text{Body: body, Published: day}
		for at := int32(0); int(at) < len(body); at += 6 {
			d.Words = append(d.Words, 4*at)
		}
		return NewDoc(&d)
	}
	a, b := words(2), words(2)
	shared, begun, earlier := words(96), words(140), words(140)
	for name, c := range map[string]struct {
		later, earlier *Doc
		one, apart     bool
	}{
		"one opening":                    {doc(9, shared+begun), doc(9, shared+earlier), true, false},
		"two subjects":                   {doc(9, a+shared+a+begun), doc(9, b+shared+b+earlier), false, false},
		"one has a subject of its own":   {doc(9, a+shared+a+begun), doc(9, shared+earlier), true, false},
		"three days later":               {doc(12, shared+begun), doc(9, shared+earlier), true, false},
		"four days later":                {doc(13, shared+begun), doc(9, shared+earlier), false, false},
		"two subjects, four days later":  {doc(13, a+shared+a+begun), doc(9, b+shared+b+earlier), false, true},
		"the end of one":                 {doc(9, begun+shared), doc(9, shared+earlier), false, false},
		"the end of both":                {doc(9, begun+shared), doc(9, earlier+shared), false, true},
		"a fifth of each opening":        {doc(9, shared[:60]+begun), doc(9, shared[:60]+earlier), false, true},
		"two thirds of each opening":     {doc(9, shared[:198]+begun), doc(9, shared[:198]+earlier), true, false},
		"nothing in common, on one day":  {doc(9, begun), doc(9, earlier), false, true},
		"a text of under four tokens":    {doc(9, a), doc(9, shared), false, true},
		"publication of one not known":   {doc(0, shared+begun), doc(9, shared+earlier), true, false},
		"the same, with another opening": {doc(9, a+words(94)+begun+earlier), doc(9, begun+earlier), false, false},
	} {
		unrelated := Judgement{Kind: Unrelated, Alignment: Align(c.later, c.earlier)}
		suspect := Judgement{Kind: Suspect, Alignment: unrelated.Alignment}
		if one, apart := unrelated.OneMatter(), !suspect.OneMatter(); one != c.one || apart != c.apart {
			t.Errorf("%s: unrelated texts of one matter %v, suspects of two %v; want %v and %v", name, one, apart, c.one, c.apart)
		}
	}
}
