package sketch

// Comparison is the result of comparing a query, A, with an earlier text, B.
type Comparison struct {
	Resemblance float32 // Jaccard coefficient of the shingles, 0…1
	ContainedA  float32 // share of the query's shingles that the earlier text has
	ContainedB  float32 // share of the earlier text's shingles that the query has
	// SoftA and SoftB are the same shares of pairs of tokens. Rewording lowers them little, other content much.
	SoftA, SoftB float32
	Facts        Facts
	// TokensA and TokensB are the sizes of the texts, boilerplate apart.
	TokensA, TokensB int
	Days             int    // between their days of publication; 0 where one is unknown
	Layout           Layout // of the alignment; only where Exact
	Exact            bool   // measured on the texts, not estimated from sketches
}

// Layout describes the alignment of two texts. Sizes are in tokens.
type Layout struct {
	// RestA and RestB are the tokens in no match.
	RestA, RestB int
	// NovelA and NovelB are the tokens of clauses of their own, which the other text has not got in other words
	// either.
	NovelA, NovelB int
	// Unknown are the tokens among NovelA that the earlier text has nowhere: new matter has more of them than a
	// rewording or a few words of advice.
	Unknown int
	// Matter are the query's pairs that the earlier text has nowhere, beyond the first few of each stretch between
	// long matches: rewording has a few here and there, new matter has many at one place.
	Matter int
	Gaps   int // between matches, and at both ends, where either text has tokens of its own
	// Subject is, of the gap in both openings with most of it, the share of pairs that the other text has
	// nowhere, on the side where it is smaller; 0 where either side has few of them.
	Subject float32
	// Heading reports that both headlines begin with a clause, such as the name of a company before a colon,
	// that the other text has nowhere.
	Heading bool
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
	OwnDays  int // see ownDays
	// Repriced reports that the headlines differ in a figure that the earlier text has nowhere.
	Repriced bool
}

// Facts compares the distinct figures and times of two texts, and their names. A sketch has no names.
type Facts struct {
	Numbers, NumbersShared int // distinct facts of the text with fewer, and how many both texts have
	OnlyA, OnlyB           int // distinct facts that only one text has
	Adds                   int // how often the query says a fact that only it has, or a figure of the earlier text of another matter
	NamesA                 int // distinct names that only the query has
	SameSlot, OtherSlot    int // places that both texts fill: with the same fact, with another one
	Renamed                int // places where one name stands for another
	SubjectsA, SubjectsB   int // names and Latin words that one text repeats and the other has nowhere
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
