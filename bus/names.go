package bus

// Subjects and streams of the wire.
const (
	SubjectPublish   = "items.publish" // SubjectPublish.SOURCE: of that source and no other
	SubjectWithdraw  = "items.withdraw"
	SubjectEdit      = "items.edit"     // what people change, from a service to itself and others like it
	SubjectCheck     = "items.check"    // request-reply: the verdict an item would get
	SubjectApplied   = "items.applied"  // request-reply: the sequence in ITEMS of the last message applied
	SubjectClaims    = "console.claims" // which row of the queue an editor looks at, between services
	SubjectJudging   = "items.judging"  // request-reply: how a service judges
	SubjectReindex   = "index.reindex"  // request-reply: the running service reindexes, and answers at the end
	SubjectDead      = "items.dead"
	SubjectVerdicts  = "verdicts."        // + the verdict's name
	SubjectSilenced  = "sources.silenced" // nearly all articles of a source are rejected today
	SubjectExposures = "exposures."       // reports and services of exposures

	StreamItems    = "ITEMS"
	StreamVerdicts = "VERDICTS"
	StreamDead     = "DEAD"
)

// HeaderReply names the subject that the outcome of a message goes to, if MayAnswer
// permits it.
const HeaderReply = "Jianguo-Reply"

// itemsSubjects are those of the stream ITEMS.
var itemsSubjects = []string{SubjectPublish, SubjectPublish + ".*", SubjectWithdraw, SubjectEdit}

// deadSubjects are those of the stream DEAD.
var deadSubjects = []string{SubjectDead, SubjectDead + ".user.*"}
