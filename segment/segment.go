// Package segment turns an article into its normal form and its weighted terms. Words are those of gse: its
// dictionary, its stop words, and its way of cutting text (package cut).
//
// # The normal form
//
// Two texts that differ only in form have the same normal form, the same Exact and the same terms. Form is: HTML or
// plain text; width, case, ligatures, circled digits and all that Unicode folds (NFKC); diacritics of Latin, Greek
// and Cyrillic letters; traditional or simplified characters; zero-width and control characters, emoji, combining
// marks; spaces between Han characters; for Exact and the terms also punctuation and line breaks. Page residue (原标题,
// 责任编辑, share prompts, copyright notices; see data/tables/residue.txt) is taken out, and so are a headline that the
// body repeats as its first words, with or without the name of a site behind it, and short lines of links of HTML.
//
// Not form are spaces between Latin words, the point in 3.5, the minus of -3.5 and the colon in 12:30. A comma that
// groups thousands is form: 1,600 and 1600 are the same.
//
// # Terms
//
// Terms are words, numbers and pairs of words, weighted as described at ofSingle. They come from the content, which is
// the body's normal form without separators: punctuation is the first thing that republishing changes, so words are
// cut across clauses. A body of fewer than 60 Han characters says too little alone, and has its headline put before
// it.
//
// # Limits and compatibility
//
// Time and memory are linear in the length of the input. A normal form that grows beyond MaxForm, as that of a text of
// ﷺ (18 characters each), ends there. Scripts without spaces other than Han and kana (Thai, Khmer, Lao) are segmented
// character by character. Everything that Analyze returns may change with the Recipe, and nothing does while the
// Recipe stays the same.
package segment

import (
	"fmt"
	"hash"
	"io/fs"
	"os"
	"slices"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"jianguo/segment/cut"
)

// version is part of the recipe. It changes with every change of this code that changes a result, and with
// every change of what simhash and sketch make of the same text.
const version = "10"

// MaxForm is the most bytes that the normal forms of a headline and its body may have together: they are not all of
// the text where they have more.
const MaxForm = 512 << 10

// Config says which tables a Segmenter is built from. Data is required.
type Config struct {
	// Data holds the shipped tables (package data's FS).
	Data fs.FS
	// UserDict is the path of an optional gse dictionary: a word, its frequency (2 if left out) and part of
	// speech a line. A word that is shipped too takes what this file says.
	UserDict string
	// Residue is the path of an optional list of further page residue, in the format of
	// data/tables/residue.txt.
	Residue string
}

// Segmenter is safe for concurrent use. Its tables do not change, except that Become replaces all of them.
type Segmenter struct{ current atomic.Pointer[tables] }

// tables is everything that a recipe is a hash of.
type tables struct {
	recipe  string
	folds   *folds
	lexicon lexicon
	residue residue
}

// New loads the tables, in about 50 ms.
func New(cfg Config) (*Segmenter, error) {
	s := &tables{folds: &folds{variants: new(variants)}}
	recipe := xxh3.New()
	fmt.Fprintf(recipe, "jianguo segment %s {%v %v %v}\n", version, ofSingle, ofNumber, ofPairs)
	shipped := []struct {
		name string
		load func(file []byte) error
	}{
		{"variants.txt", s.folds.variants.read},
		{"lookalikes.txt", s.folds.read},
		{"residue.txt", func(file []byte) error { return s.residue.add(string(file), s.normal) }},
		{"dict.bin.zst", func(file []byte) (err error) {
			s.lexicon.Dictionary, err = cut.Load(file)
			return err
		}},
		{"df.txt", s.lexicon.weigh},
	}
	for _, t := range shipped {
		file, err := fs.ReadFile(cfg.Data, "tables/"+t.name)
		if err == nil {
			err = t.load(file)
		}
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", t.name, err)
		}
		addToRecipe(recipe, t.name, file)
	}
	if err := s.addUser(cfg, recipe); err != nil {
		return nil, err
	}
	s.recipe = fmt.Sprintf("%016x", recipe.Sum64())
	made := new(Segmenter)
	made.current.Store(s)
	return made, nil
}

// Become gives s the tables of another Segmenter. Calls that have begun end with those of before.
func (s *Segmenter) Become(other *Segmenter) { s.current.Store(other.current.Load()) }

// addUser adds the user's own files.
func (s *tables) addUser(cfg Config, recipe hash.Hash) error {
	for _, x := range []struct {
		name, path string
		add        func(file string, normal func(string) string) error
	}{
		{"user dictionary", cfg.UserDict, s.lexicon.addWords},
		{"residue list", cfg.Residue, s.residue.add},
	} {
		if x.path == "" {
			continue
		}
		file, err := os.ReadFile(x.path)
		if err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
		if err := x.add(string(file), s.normal); err != nil {
			return fmt.Errorf("%s %s: %w", x.name, x.path, err)
		}
		addToRecipe(recipe, x.name, file)
	}
	return nil
}

func addToRecipe(recipe hash.Hash, name string, file []byte) {
	fmt.Fprintf(recipe, "%s %d\n", name, len(file))
	recipe.Write(file)
}

// Recipe is 16 hexadecimal digits, a hash of everything that the result depends on: the version of the code,
// dictionary, weights, variant tables, residue list, and the user's own files.
func (s *Segmenter) Recipe() string { return s.current.Load().recipe }

// Analyze fills t from an article; body is plain text or HTML. It never fails: any bytes have a normal form.
func (s *Segmenter) Analyze(t *Text, title, body string) {
	tables := s.current.Load()
	if tables.cut(t, title, body); t.Blank {
		return
	}
	t.Exact = xxh3.Hash128(t.content).Bytes()
	t.Terms = t.features.appendTerms(t.Terms, t.content, t.words, &tables.lexicon)
	t.findWords(&tables.lexicon)
}

// Cut fills t with the words of a text, as Analyze does for a body without a headline, and with nothing else.
func (s *Segmenter) Cut(t *Text, body string) { s.current.Load().cut(t, "", body) }

// cut makes the normal form, the content and its words.
func (s *tables) cut(t *Text, title, body string) {
	t.reset()
	t.title.headline = true
	t.Recipe = s.recipe
	s.normalize(&t.title, title)
	s.normalize(&t.body, body)
	if residue := s.leftOut(&t.title, &t.body); len(residue) > 0 {
		t.body.out = remove(t.body.out, residue)
	}
	t.Title, t.Body = view(t.title.out), view(t.body.out)
	t.Traditional = 10*len("字")*t.body.converted > len(t.Body)
	if t.Blank = t.Title == "" && t.Body == ""; t.Blank {
		return
	}
	if t.headed() {
		t.join(t.title.out)
	}
	t.join(t.body.out)
	t.words = t.cutter.Cut(s.lexicon.Dictionary, t.content)
}

// leftOut is what is taken out of a body.
func (s *tables) leftOut(title, body *normalizer) (residue []span) {
	if len(title.out)+len(body.out) <= MaxForm {
		residue = s.residue.find(body.out, body.breaks, body.lines.found, s.folds)
	}
	return addHeadline(residue, title.out, body.out, s.folds)
}

func (s *tables) normalize(n *normalizer, text string) {
	n.folds = s.folds
	n.reset()
	feed(text, n)
	n.finish()
}

// normal is the normal form of plain text.
func (s *tables) normal(text string) string {
	n := normalizer{folds: s.folds}
	n.feedText(text)
	return string(n.finish())
}

// Traced is an article as readers see it, and its normal form.
type Traced struct {
	Text string // the headline, and from the next line on the body, a paragraph a line
	// Form is the normal form of the headline, a line break, and that of the body, in which line breaks stand for what
	// Analyze leaves out.
	Form string
	from []span
}

// Origin gives the bytes of Text that byte i of the form comes from. Between the bytes of two characters
// stands what is not in the form (spaces, punctuation), and within those of one what obfuscates it.
func (t *Traced) Origin(i int) (start, end int) { return t.from[i].start, t.from[i].end }

// Trace returns an article, whose body is plain text or HTML, with the normal form that Analyze makes of it. It holds
// for every rune: those that fold to several (℃, ½) share their bytes.
func (s *Segmenter) Trace(title, body string) *Traced {
	tables := s.current.Load()
	var t tracer
	headline := t.trace(tables.folds, title, true)
	end := t.Len()
	rest := t.trace(tables.folds, body, false)
	for _, r := range tables.leftOut(headline, rest) {
		for i := r.start; i < r.end; i++ {
			rest.out[i] = '\n'
		}
	}
	return &Traced{Text: t.String(), Form: string(headline.out) + "\n" + string(rest.out),
		from: slices.Concat(headline.origin, []span{{end - 1, end}}, rest.origin)}
}
