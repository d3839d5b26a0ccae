package sketch

// Comparison is how a query and an earlier text go together.
type Comparison struct {
	Resemblance float32 // Jaccard of shingles, 0…1
	ContainedA  float32 // share of the query's shingles that the earlier text has
	ContainedB  float32 // share of the earlier text's shingles that the query has
	// SoftA and SoftB are the same over pairs of tokens: rewording lowers them
	// little, other content much.
	SoftA, SoftB float32
	Facts        Facts
	// TokensA and TokensB are the sizes of the texts.
	TokensA, TokensB int
	// Days is how many days apart they were published; 0 where that is not known.
	Days int
	// Layout is how the equal runs lie; only from Compare with texts.
	Layout Layout
	Exact  bool // measured on the texts, not estimated from sketches
}

// Layout describes the alignment of two texts, in tokens.
type Layout struct {
	Runs    int // maximal equal runs
	Longest int // the longest of them
	// Swaps counts the places between two runs that follow each other in both
	// texts where each has something of its own; SwapA and SwapB are their sizes.
	Swaps, SwapA, SwapB int
	// Foreign is the size of the swaps of which neither side stands anywhere in
	// the other text, each by its smaller side.
	Foreign int
	// RestA and RestB are tokens in no run; LumpA and LumpB the longest stretch
	// of them.
	RestA, RestB, LumpA, LumpB int
	// NovelA and NovelB are tokens in clauses that the other text does not have
	// even in other words: most of their token pairs stand nowhere in it.
	NovelA, NovelB int
	// AmidA and AmidB are those of them between the first run and the last.
	AmidA, AmidB int
	// Gaps counts the places between two runs, and at the ends, where either text
	// has something of its own.
	Gaps int
	// Replaced counts the figures put for others in swaps that are else the same,
	// ReplacedGaps those swaps.
	Replaced, ReplacedGaps int
	// Renamed is how often one name stands where the earlier text has one other,
	// if two times or more. Retitled is the same of shorter words that stand so
	// in both openings: names, or two words for one thing.
	Renamed, Retitled int
	// Subject is how much of what stands in one place of both openings is unknown
	// to the other text, of the side where less is: of the place with the most, if
	// each side has some length.
	Subject float32
	// Moved counts the runs that begin before the last one in the earlier text.
	Moved int
	// Developments counts the words that speak of a story moving on (此前, 最新,
	// 回应 and such) and stand in one of the texts only.
	Developments int
	// HeadA and HeadB are the shares of token pairs of one text's headline (its
	// opening where it has none) that the other text has anywhere.
	HeadA, HeadB float32
	Topics       Topics
	// SameBody says that the bodies are equal and of some length, and that one of
	// the texts has no headline: the other's may have been put there by anyone.
	SameBody bool
}

// Facts says how the facts of two texts go together.
type Facts struct {
	Numbers, NumbersShared int      // distinct figures of the smaller side, and how many the other has
	OnlyA, OnlyB           int      // distinct figures that one text has and the other lacks
	LeadA, LeadB           int      // the same, of the first hundred tokens of each; only from CompareTexts
	Names                  int      // distinct names of both texts that both have
	NamesA, NamesB         int      // distinct names of one text that the other has nowhere
	SubjectsA, SubjectsB   int      // names and Latin words that one text repeats and the other has nowhere
	SameSlot, OtherSlot    int      // places that both texts fill: with the same figure, with another
	Agree, Conflict        []string // for people, at most four of each in the order of the query, as "5.99元 / 5.94元"; only from CompareTexts
}

// Topics says what one of two texts is about and the other is not: the two
// bulletins of one form part here, however much of their text is the form.
type Topics struct {
	// A and B count the Latin words and token pairs that one text has in its
	// headline (in its opening, where it has none), says again below, and the
	// other has nowhere.
	A, B int
	// Titled says that both texts have a headline.
	Titled bool
	// WordsA and WordsB count the distinct Latin words that the other text lacks.
	WordsA, WordsB int
	// Labels says that both headlines carry a Latin word that the other headline
	// lacks, and that the texts bear it out: the other has one of them nowhere.
	Labels bool
}
