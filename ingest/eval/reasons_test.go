package eval

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/segment"
)

// Faults that an editor has found in reasons: a unit that is cut, and words that look like numbers.
var (
	cutUnit   = regexp.MustCompile(`[0-9](公|小|毫|厘|亿立|万立|立|平|个百|摄)$`)
	quotation = regexp.MustCompile("“.*”")     // what a text says is not ours
	code      = regexp.MustCompile(`([a-z])-`) // of f-16, of which the normal form has no mark
	idiom     = regexp.MustCompile(`^(一时|一视|一视同仁|三令五申|一次|一个|一些|万一|十分|三五)$`)
)

// faults lists what is wrong with the sentence of an event.
func faults(e *index.Event, later, earlier string) (out []string) {
	f := e.Facts
	if f == nil || e.Of == "" {
		return nil
	}
	why := quotation.ReplaceAllString(index.Why(e, index.Chinese), "")
	fault := func(wrong bool, what string) {
		if wrong {
			out = append(out, what)
		}
	}
	fault(!strings.Contains(why, "本稿") || !strings.Contains(why, "先到稿"), "does not name both texts")
	fault(strings.Contains(why, "一方"), "says 一方")
	fault(strings.Contains(why, "不同") && f.Coverage != nil && len(f.Conflict) == 0 && e.Series == 0, "不同 without two values")
	for _, pair := range f.Conflict {
		a, b, ok := strings.Cut(pair, " / ")
		fault(!ok || a == b || a == "" || b == "", "no two values: "+pair)
		fault(cutUnit.MatchString(a) || cutUnit.MatchString(b), "cut: "+pair)
		fault(idiom.MatchString(a) || idiom.MatchString(b), "no fact: "+pair)
		fault(!stands(later, a), a+" is not in the later text")
		fault(!stands(earlier, b), b+" is not in the earlier text")
	}
	said := slices.Clone(f.Agree)
	if f.New != nil {
		said = append(said, f.New.Examples...)
		for _, x := range f.New.Examples {
			fault(stands(earlier, x) && !strings.ContainsAny(x, "0123456789"), x+" is in the earlier text")
		}
	}
	for _, x := range said {
		fault(cutUnit.MatchString(x), "cut: "+x)
		fault(idiom.MatchString(x), "no fact: "+x)
		fault(!stands(later, x), x+" is not in the later text")
	}
	fault(f.New != nil && f.Shared+f.New.Facts > f.Numbers, "more figures than there are")
	return out
}

// stands reports whether a normal form has some text, whatever separates its characters.
func stands(form, text string) bool {
	packed := strings.NewReplacer("\n", "", " ", "", "/", "", "℃", "c")
	return strings.Contains(packed.Replace(form), code.ReplaceAllString(packed.Replace(text), "$1"))
}

// reasons reads the sentences of all events, and returns them with their faults.
func reasons(t *testing.T, b *Bench, items []*ingest.Item) (sentences []string, faulty int) {
	t.Helper()
	seg := segmenter(t)
	form := map[string]string{}
	var text segment.Text
	for _, it := range items {
		seg.Analyze(&text, it.Title, it.Body)
		form[it.ID] = text.Title + "\n" + strings.Clone(text.Body)
	}
	for _, it := range items {
		e, ok := b.Event(it.ID)
		if !ok || e.Of == "" {
			continue
		}
		sentence := e.Verdict.String() + " " + it.ID + ": " + index.Why(&e, index.Chinese)
		if wrong := faults(&e, form[it.ID], form[e.Of]); len(wrong) > 0 {
			faulty++
			t.Logf("%s\n  %s", sentence, strings.Join(wrong, "; "))
		}
		sentences = append(sentences, sentence)
	}
	return sentences, faulty
}

// TestReasons checks the sentences of the bundled sample.
func TestReasons(t *testing.T) {
	items, _ := sample(t)
	sentences, faulty := reasons(t, bench(t, items, nil), items)
	if len(sentences) < 150 || faulty*50 > len(sentences) {
		t.Errorf("%d of %d sentences have faults", faulty, len(sentences))
	}
}

// TestReasonsGolden holds the sentences of the bundled sample, but for those of equal texts, beside the sentence that
// an editor would write: what the two have in common shows how good a change of the sentences is.
func TestReasonsGolden(t *testing.T) {
	const name = "testdata/reasons.golden"
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	editor := map[string]string{}
	for block := range strings.SplitSeq(string(file), "\n\n") {
		head, _, _ := strings.Cut(block, "\n")
		if words := strings.Fields(head); len(words) > 1 {
			_, editor[words[1]], _ = strings.Cut(strings.TrimSpace(block), "\n  editor  ")
		}
	}
	items, rows := sample(t)
	b := bench(t, items, nil)
	var got []string
	for i, it := range items {
		if e, _ := b.Event(it.ID); e.Of != "" && e.Rule != index.ByExact {
			if editor[it.ID] == "" {
				t.Errorf("%s has no sentence of an editor", it.ID)
			}
			got = append(got, fmt.Sprintf("%s %s (%s)\n  says  %s\n  editor  %s\n", e.Verdict, it.ID, rows[i].Kind, index.Why(&e, index.Chinese), editor[it.ID]))
		}
	}
	text := strings.Join(got, "\n")
	if *update {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if text != string(file) {
		t.Errorf("sentences have changed; where that is meant, run go test ./ingest/eval -update\n%s", changed(string(file), text))
	}
	if len(got) < 100 {
		t.Errorf("%d sentences, want a hundred", len(got))
	}
}
