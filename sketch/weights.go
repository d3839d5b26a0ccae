package sketch

// copyWeights: is it the same article, measured on texts.
var copyWeights = Weights{Bias: -4.38, Of: Evidence{
	SoftLeast: 1.60, Slots: -0.68, Conflicts: -1.93, News: -0.69, Agreed: 0.30, Shared: 1.25, Longest: -0.80,
	MeanRun: -0.27, RestMost: -1.11, Overhang: -8.04, Novel: 0.77, NovelMost: -9.15, Head: 1.11,
	Foreign: -12.78, Subjects: -1.15, Topic: -0.35, Titled: -1.67, Words: -0.86, Label: -4.23, Lead: -1.25,
	Apart: -0.36, Moved: -3.31, Grown: -2.53, Amid: -0.28, Inserted: -1.47,
}}

// storyWeights: is it the same story, measured on texts.
var storyWeights = Weights{Bias: -4.58, Of: Evidence{
	SoftLeast: 1.19, SoftMost: 4.41, Slots: 1.78, Conflicts: -1.90, Missing: -0.62, News: -0.09, Agreed: 0.69,
	Shared: 0.29, Longest: -1.18, MeanRun: 0.37, Swaps: -3.68, RestMost: -1.67, Overhang: -3.66, Novel: 0.77,
	NovelMost: -0.83, Head: -0.29, Foreign: -12.56, Subjects: -1.28, Developments: 1.16, Topic: -0.85,
	Titled: -0.55, Words: -0.77, Label: -4.25, Lead: -1.28, Apart: -0.49,
}}

// copySketchWeights: is it the same article, estimated from sketches.
var copySketchWeights = Weights{Bias: -7.31, Of: Evidence{
	SoftLeast: 8.62, SoftMost: -0.56, Slots: -1.99, Conflicts: -1.85, Missing: -2.56, News: -0.48,
	Agreed: 0.31, Shared: 0.32, Resembles: 1.55,
}}

// storySketchWeights: is it the same story, estimated from sketches.
var storySketchWeights = Weights{Bias: -7.49, Of: Evidence{
	SoftLeast: -1.48, SoftMost: 5.82, Slots: 2.46, Conflicts: -3.15, Missing: -2.61, News: -0.15,
	Agreed: 0.75, Shared: 1.07, Resembles: 0.06,
}}
