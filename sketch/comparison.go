package sketch

// Comparison is the result of comparing a query, A, with an earlier text, B.
type Comparison struct {
	Resemblance float32 // Jaccard coefficient of the shingles, 0…1
	ContainedA  float32 // share of the query's shingles that the earlier text has
	ContainedB  float32 // share of the earlier text's shingles that the query has
	// SoftA and SoftB are the same shares of pairs of tokens. Rewording lowers them little, other content much.
	SoftA, SoftB float32
	Facts        Facts
	// TokensA and TokensB are the sizes of the texts.
	TokensA, TokensB int
	Days             int    // between their days of publication; 0 where one is unknown
	Layout           Layout // of the alignment; only where Exact
	Exact            bool   // measured on the texts, not estimated from sketches
}

// Layout describes the alignment of two texts: runs of equal tokens and the gaps between them. Sizes are in
// tokens.
type Layout struct {
	Runs    int // maximal equal runs
	Longest int // the longest of them
	Moved   int // runs that stand before the previous run in the earlier text
	// RestA and RestB are the tokens in no run.
	RestA, RestB int
	// NovelA and NovelB are tokens in novel clauses: most of their pairs stand nowhere in the other text, so
	// it does not say the same in other words.
	NovelA, NovelB int
	// BlockA is the longest stretch of novel clauses of the query.
	BlockA int
	// AmidA and AmidB are those of them between the first run and the last.
	AmidA, AmidB int
	// Gaps counts the gaps, and both ends, where either text has tokens of its own.
	Gaps int
	// Swaps counts the gaps where both texts have tokens of their own.
	Swaps int
	// Foreign is the size of the swaps of which neither side stands anywhere in the other text, each by its
	// smaller side.
	Foreign int
	// Replaced counts the figures that stand for other figures in swaps of otherwise equal words, ReplacedGaps
	// those swaps.
	Replaced, ReplacedGaps int
	// Renamed is how often one name stands where the earlier text has one other name, 0 for once. Retitled is
	// the same for shorter words, first in both openings: names, or two words for one thing.
	Renamed, Retitled int
	// Subject is, of the swap in both openings with most of it, the share of pairs that the other text has
	// nowhere, on the side where it is smaller; 0 where either side has few of them.
	Subject float32
	// Developments counts the words for a story that goes on (此前, 最新, 回应 and such) that stand in only one
	// of the texts.
	Developments int
	// HeadA and HeadB are the shares of the pairs of one text's headline (of its opening where it has none)
	// that the other text has anywhere.
	HeadA, HeadB float32
	Topics       Topics
	// Echo is the share of the query's pairs that the earlier text has more often than the query: an article comes
	// back to its matter outside of an excerpt, a round-up of other matters does not.
	Echo float32
	// SameBody reports that the bodies are equal and of some length, and that only one of the texts has a
	// headline, which any publisher may have added.
	SameBody bool
}

// Facts compares the facts of two texts. Subjects and leads are only measured on texts.
type Facts struct {
	Numbers, NumbersShared int // distinct figures of the text with fewer, and how many of them the other has
	OnlyA, OnlyB           int // distinct figures that only one text has
	LeadA, LeadB           int // the same among the first hundred tokens of each text
	Names                  int // distinct names that both texts have
	NamesA, NamesB         int // distinct names that only one text has
	SubjectsA, SubjectsB   int // names and Latin words that one text repeats and the other has nowhere
	SameSlot, OtherSlot    int // places that both texts fill: with the same figure, with another one
}

// Topics compares the subjects of two texts. Two bulletins of one form differ here, however much they share.
type Topics struct {
	// A and B count the Latin words and pairs that one text has in its headline (in its opening, where it has
	// none) and again below, and the other text nowhere.
	A, B int
	// Titled reports that both texts have a headline.
	Titled bool
	// WordsA and WordsB count the distinct Latin words that the other text lacks.
	WordsA, WordsB int
	// Labels reports that each headline has a Latin word that the other headline lacks, and that one of these
	// words stands nowhere in the other text.
	Labels bool
}
